package svc

import (
	"regexp"
	"strings"

	"github.com/google/uuid"
)

// ConversationSource is where the id of a conversation comes from.
type ConversationSource string

// Minted: the orchestrator generated the id and passed it to the tool. Hook: the tool's own hook reported it.
const (
	ConversationMinted ConversationSource = "minted"
	ConversationByHook ConversationSource = "hook"
)

// Resumed is whether a run resumes an earlier conversation.
type Resumed string

// Yes: the tool itself has reported the id of the conversation that it was asked to resume; until then the value is
// unknown. No: the run began this conversation.
const (
	ResumedYes     Resumed = "yes"
	ResumedNo      Resumed = "no"
	ResumedUnknown Resumed = "unknown"
)

// Conversation identifies a tool's session with the model, so that a later run can resume it.
type Conversation struct {
	ID      string             `json:"id" doc:"The tool's own id"`
	Source  ConversationSource `json:"source" enum:"minted,hook" doc:"minted: svc generated it and passed it to the tool; hook: the tool reported it"`
	Resumed Resumed            `json:"resumed" enum:"yes,no,unknown" doc:"yes: the tool reported the id that it was asked to resume; unknown: it has not reported it yet; no: this run began the conversation"`
}

// MaxConversation is the maximum length of a conversation's id in bytes.
const MaxConversation = 128

// conversationForm is the form of a conversation's id. It keeps an id that a session reports from being read as an
// option or a path when it becomes an argument of the next session.
var conversationForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// IsConversation reports whether s has the form of a conversation's id.
func IsConversation(s string) bool { return conversationForm.MatchString(s) }

// ConversationGone is the error of a run that was to resume a conversation and could not: its tool began another
// conversation, or failed because it no longer has the requested one.
const ConversationGone = "conversation_gone"

// conversationGone reports whether the attempt ended with ConversationGone. A further attempt would end in the same
// way.
func (r *Run) conversationGone() bool {
	return r.Error != nil && strings.HasPrefix(*r.Error, ConversationGone) // errors of older runs have more text after the code
}

// ConversationLost reports whether a signal carries another conversation id than the one that the run was to resume.
// After the tool has once confirmed the requested id, it may begin other conversations: a person asked it to.
func (r *Run) ConversationLost(s Signal) bool {
	c := r.Conversation
	return r.Resumes && s.Conversation != "" && s.Attempt == r.Attempt && c != nil && c.Resumed == ResumedUnknown && c.ID != s.Conversation
}

// LosesConversation returns the signal as a failed signal with ConversationGone, which ends the run.
func (s Signal) LosesConversation() Signal {
	s.Kind, s.Error = SignalFailed, ConversationGone
	return s
}

// setConversation stores the conversation id that the tool reported.
func (r *Run) setConversation(id string) {
	c := r.Conversation
	switch {
	case id == "":
	case c == nil || c.ID != id:
		r.Conversation = &Conversation{ID: id, Source: ConversationByHook, Resumed: ResumedNo}
	case c.Resumed == ResumedUnknown:
		r.Conversation = &Conversation{ID: id, Source: c.Source, Resumed: ResumedYes}
	}
}

// MintConversation returns a new conversation with a generated id, to be passed to a tool.
func MintConversation() *Conversation {
	return &Conversation{ID: uuid.NewString(), Source: ConversationMinted, Resumed: ResumedNo}
}

// Resume makes the run's next attempt resume a conversation.
func (r *Run) Resume(c Conversation) {
	c.Resumed = ResumedUnknown
	r.Resumes, r.Conversation = true, &c
}

// Over reports whether the run has ended completely: its last attempt has ended, and so has its session.
func (r *Run) Over() bool { return !r.Status.Active() && !r.SessionOpen() }

// TakeOver copies from the run that is continued what the new run must share with it. A value that the caller gave
// must be equal to the copied one, except for the provider and the model of a run with a fresh conversation.
func (n *NewRun) TakeOver(before Run) error {
	var bad Problems
	same := func(field string, given *string, own string) {
		if *given != "" && *given != own {
			bad.Add(field, "must be that of the continued run, %q", own)
		}
		*given = own
	}
	same("task_id", &n.TaskID, before.TaskID)
	if !n.Fresh {
		same("provider", &n.Provider, before.Provider)
		same("model", &n.Model, before.Model)
	}
	if n.Provider == "" {
		n.Provider = before.Provider
	}
	if n.Model == "" && n.Provider == before.Provider {
		n.Model = before.Model
	}
	for field, ids := range map[string][2]*string{"host_id": {n.HostID, before.placedOn()}, "workspace_id": {n.WorkspaceID, before.WorkspaceID}} {
		if given, own := ids[0], ids[1]; given != nil && (own == nil || *own != *given) {
			bad.Add(field, "is taken from the continued run; leave it out")
		}
	}
	n.HostID, n.WorkspaceID = before.placedOn(), before.WorkspaceID
	if n.Args == nil {
		n.Args = before.Args
	}
	if n.Env == nil {
		n.Env = before.Env
	}
	if n.Cwd == "" {
		n.Cwd = before.Cwd
	}
	return bad.Err()
}

// placedOn returns the host that the run was given to, or else the host that it is pinned to; nil: any host may get
// it.
func (r *Run) placedOn() *string {
	if r.HostID != nil {
		return r.HostID
	}
	return r.PinnedHostID
}

// Follow updates a run that waits for the end of another run, before. A restart of that run may have changed its host
// and its workspace, and its conversation id may have become known. Follow reports whether r must be placed anew.
func (r *Run) Follow(before Run) (moved bool) {
	if host := before.placedOn(); host != nil && (r.PinnedHostID == nil || *r.PinnedHostID != *host) {
		r.PinnedHostID, moved = host, true
	}
	if w := before.WorkspaceID; w != nil && (r.WorkspaceID == nil || *r.WorkspaceID != *w) {
		r.WorkspaceID, moved = w, true
	}
	if c := before.Conversation; r.Resumes && c != nil && c.ID != r.Conversation.ID {
		r.Resume(*c)
	}
	return moved
}
