package svc

import (
	"regexp"
	"strings"

	"github.com/google/uuid"
)

// ConversationSource says who gave a conversation its id.
type ConversationSource string

// The sources: the orchestrator made it up and handed it to the tool, or the tool's own hook reported it.
const (
	ConversationMinted ConversationSource = "minted"
	ConversationByHook ConversationSource = "hook"
)

// Resumed says whether a run goes on with a conversation of before.
type Resumed string

// Yes only when the tool itself has reported the id that it was asked to go on with; unknown until then. No: it began the conversation.
const (
	ResumedYes     Resumed = "yes"
	ResumedNo      Resumed = "no"
	ResumedUnknown Resumed = "unknown"
)

// Conversation is what a tool calls its session with the model, by which it can be gone on with later.
type Conversation struct {
	ID      string             `json:"id" doc:"As the tool knows it"`
	Source  ConversationSource `json:"source" enum:"minted,hook" doc:"minted: svc made it up and gave it to the tool; hook: the tool reported it"`
	Resumed Resumed            `json:"resumed" enum:"yes,no,unknown" doc:"yes: the tool itself reported the id that it was asked to go on with; unknown: it has not so far; no: it began this conversation"`
}

// MaxConversation is the most bytes of a conversation's id.
const MaxConversation = 128

// conversationForm keeps what a session reports from becoming an option or a path among the arguments of the next one.
var conversationForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// IsConversation says whether s has the form of a conversation's id.
func IsConversation(s string) bool { return conversationForm.MatchString(s) }

// ConversationGone is the error of a run whose tool began another conversation than the one that it was asked to go on with, or failed
// because it has lost that one.
const ConversationGone = "conversation_gone"

// conversationGone says that the attempt ended for that: another attempt would end alike.
func (r *Run) conversationGone() bool {
	return r.Error != nil && strings.HasPrefix(*r.Error, ConversationGone) // older ones go on with words
}

// ConversationLost says that a signal reports another conversation than the one that the run was to go on with. Once the tool has
// proven that it went on, it may begin others: a person asked it to.
func (r *Run) ConversationLost(s Signal) bool {
	c := r.Conversation
	return r.Resumes && s.Conversation != "" && s.Attempt == r.Attempt && c != nil && c.Resumed == ResumedUnknown && c.ID != s.Conversation
}

// LosesConversation is the signal as it counts when its conversation is not the one that was asked for: it ends the run.
func (s Signal) LosesConversation() Signal {
	s.Kind, s.Error = SignalFailed, ConversationGone
	return s
}

// hear takes the id that the tool reports.
func (r *Run) hear(id string) {
	c := r.Conversation
	switch {
	case id == "":
	case c == nil || c.ID != id:
		r.Conversation = &Conversation{ID: id, Source: ConversationByHook, Resumed: ResumedNo}
	case c.Resumed == ResumedUnknown:
		r.Conversation = &Conversation{ID: id, Source: c.Source, Resumed: ResumedYes}
	}
}

// MintConversation is a new conversation that a tool is given.
func MintConversation() *Conversation {
	return &Conversation{ID: uuid.NewString(), Source: ConversationMinted, Resumed: ResumedNo}
}

// Resume lets the run's next attempt go on with a conversation.
func (r *Run) Resume(c Conversation) {
	c.Resumed = ResumedUnknown
	r.Resumes, r.Conversation = true, &c
}

// Over says that nothing more comes of the run: its last attempt has ended, and so has its session.
func (r *Run) Over() bool { return !r.Status.Active() && !r.SessionOpen() }

// TakeOver fills in what a run has in common with the one that it continues. What the caller gave must not differ, but for provider
// and model of a fresh conversation.
func (n *NewRun) TakeOver(before Run) error {
	var bad Problems
	same := func(field string, given *string, own string) {
		if *given != "" && *given != own {
			bad.Add(field, "is that of the run that it continues, %q", own)
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
			bad.Add(field, "is that of the run that it continues; leave it out")
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

// placedOn is the host that has the run, or that it asks for; nil: any may get it.
func (r *Run) placedOn() *string {
	if r.HostID != nil {
		return r.HostID
	}
	return r.PinnedHostID
}

// Follow keeps a run that waits for another one where that one is: its host and its workspace may have changed since, by a restart, and
// its conversation may have become known. True: the run is to be placed anew.
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
