package svc

import (
	"slices"
	"strings"
)

// CommentState is the state of a comment.
type CommentState string

// The states of a comment. Draft: not sent; every user can see it. Sent: it was sent to an agent; the state of the
// message or run that carries it tells whether it has arrived. Handled: the agent reported that it has dealt with the
// comment. Resolved: a person marked it as resolved.
const (
	CommentDraft    CommentState = "draft"
	CommentSent     CommentState = "sent"
	CommentHandled  CommentState = "handled"
	CommentResolved CommentState = "resolved"
)

// Side is the version of a file to which a comment's line numbers refer.
type Side string

// The sides of a change.
const (
	SideOld Side = "old"
	SideNew Side = "new"
)

// Anchor is where a comment's lines are in the newest checkpoint.
type Anchor string

// The anchors. Gone: the lines were changed or removed, or the newest checkpoint cannot be compared.
const (
	AnchorSame  Anchor = "same"
	AnchorMoved Anchor = "moved"
	AnchorGone  Anchor = "gone"
)

// Comment is a person's comment on lines of a change.
type Comment struct {
	ID          string       `json:"id" doc:"UUID"`
	WorkspaceID string       `json:"workspace_id"`
	Checkpoint  int          `json:"checkpoint" doc:"The checkpoint to which the comment refers"`
	Path        string       `json:"path" doc:"Path as in the list of changes"`
	Side        Side         `json:"side" enum:"old,new"`
	Line        *int         `json:"line" doc:"Null: the whole file"`
	EndLine     *int         `json:"end_line" doc:"The last line of a range; null: one line"`
	Quote       string       `json:"quote" doc:"The lines, taken from the patch"`
	Body        string       `json:"body"`
	Author      string       `json:"author"`
	State       CommentState `json:"state" enum:"draft,sent,handled,resolved"`
	RunID       *string      `json:"run_id" doc:"The run that it was sent to; null: not sent"`
	MessageID   *string      `json:"message_id" doc:"The message that contains it; null: it was sent in the prompt of the run, or not sent"`
	Note        string       `json:"note" doc:"The agent's note about what it did"`

	Delivery       MessageState  `json:"delivery" enum:",queued,pasted,acknowledged,unconfirmed,undelivered" doc:"The state of the message, or of the prompt: queued, acknowledged when the run starts, or undelivered; empty: not sent. A comment that was not delivered becomes a draft again"`
	DeliveryReason MessageReason `json:"delivery_reason" enum:",not_reported,outcome_unknown,run_ended,host_away,provider_takes_none,no_turns,refused" doc:"Why it is unconfirmed or undelivered; empty otherwise"`

	Anchor     Anchor `json:"anchor" enum:"same,moved,gone" doc:"Where the lines are in the newest checkpoint that the orchestrator has; also gone when the checkpoints cannot be compared"`
	AnchorPath string `json:"anchor_path" doc:"The file there; empty when gone"`
	AnchorLine *int   `json:"anchor_line" doc:"The first of its lines there; null: the whole file, or gone"`
	CreatedAt  Time   `json:"created_at"`
	UpdatedAt  Time   `json:"updated_at"`
	Version    int64  `json:"-"`
}

// The limits of comments.
const (
	maxCommentBody = 16 << 10
	maxCommentNote = 4 << 10
	maxCommentPath = 16 << 10
	// MaxQuote limits the quoted lines of a comment, in bytes.
	MaxQuote = 16 << 10
	// MaxComments limits the comments of one workspace.
	MaxComments = 1000
)

// NewComment holds the fields of a request to create a comment.
type NewComment struct {
	Checkpoint int // 0: the newest that the orchestrator has
	Path       string
	Side       Side // empty: new
	Line       *int
	EndLine    *int
	Body       string
}

// Validate returns a validation error that names every wrong field, or nil.
func (n NewComment) Validate() error {
	var bad Problems
	if n.Checkpoint < 0 {
		bad.Add("checkpoint", "must be the number of a checkpoint")
	}
	if bad.text("path", n.Path, maxCommentPath) && n.Path == "" {
		bad.Add("path", "must not be empty")
	}
	oneOf(&bad, "side", n.Side, SideOld, SideNew)
	switch {
	case n.Line != nil && *n.Line < 1:
		bad.Add("line", "must be 1 or more")
	case n.EndLine != nil && n.Line == nil:
		bad.Add("end_line", "needs a line")
	case n.EndLine != nil && *n.EndLine < *n.Line:
		bad.Add("end_line", "must not be before line")
	}
	checkBody(&bad, n.Body)
	return bad.Err()
}

func checkBody(bad *Problems, body string) {
	if bad.text("body", body, maxCommentBody) && strings.TrimSpace(body) == "" {
		bad.Add("body", "must not be empty")
	}
}

// CommentPatch is a person's change to a comment. Nil leaves a field as it is.
type CommentPatch struct {
	Body  *string
	State *CommentState
}

// Apply changes the comment. Only the text of a draft can be changed. A comment that was sent or handled can be set
// back to draft, so that it can be changed and sent again.
func (p CommentPatch) Apply(c *Comment) error {
	var bad Problems
	if p.Body != nil {
		checkBody(&bad, *p.Body)
	}
	if p.State != nil && !slices.Contains([]CommentState{CommentDraft, CommentResolved}, *p.State) {
		bad.Add("state", "must be %s or %s; the others follow from sending and from the agent", CommentDraft, CommentResolved)
	}
	if err := bad.Err(); err != nil {
		return err
	}
	state := c.State
	if p.State != nil {
		state = *p.State
	}
	if p.Body != nil && *p.Body != c.Body && state != CommentDraft {
		return Errorf(CodeConflict, "the comment is %s; only a draft's text can be changed", c.State).With("state", c.State)
	}
	c.State = state
	if p.Body != nil {
		c.Body = *p.Body
	}
	return nil
}

// Handle records that the agent has dealt with the comment.
func (c *Comment) Handle(note string) error {
	var bad Problems
	bad.text("note", note, maxCommentNote)
	if err := bad.Err(); err != nil {
		return err
	}
	if c.State != CommentSent && c.State != CommentHandled {
		return Errorf(CodeConflict, "the comment is %s; only one that was sent can be handled", c.State).With("state", c.State)
	}
	c.State, c.Note = CommentHandled, note
	return nil
}

// Send records that the comment is sent to an agent, either in a run's prompt or in a message to a run.
func (c *Comment) Send(s Sent) {
	c.State, c.RunID, c.MessageID, c.Delivery, c.DeliveryReason = CommentSent, s.RunID, s.MessageID, MessageQueued, ""
}

// Delivered records the outcome of the run whose prompt contains the comment. begun is false when the run ended
// before it started with that prompt.
func (c *Comment) Delivered(begun bool) {
	if begun {
		c.Follow(Message{State: MessageAcknowledged})
	} else {
		c.Follow(Message{State: MessageUndelivered, Reason: MessageRunEnded})
	}
}

// Follow records the state of the message that carries the comment. A comment whose message was certainly not
// delivered becomes a draft again: no agent has it, so it can be sent again. When the delivery is unconfirmed, it is
// not known whether the agent has the comment, so a person must decide.
func (c *Comment) Follow(m Message) {
	c.Delivery, c.DeliveryReason = m.State, m.Reason
	if m.State == MessageUndelivered && c.State == CommentSent {
		c.State = CommentDraft
	}
}

// EventPayload returns the fields that every comment.* event carries.
func (c *Comment) EventPayload(w Workspace) map[string]any {
	p := map[string]any{"comment_id": c.ID, "workspace_id": c.WorkspaceID, "project_id": w.ProjectID, "task_id": w.TaskID, "host_id": w.HostID,
		"checkpoint": c.Checkpoint, "path": c.Path, "state": c.State}
	if c.RunID != nil {
		p["run_id"] = *c.RunID
	}
	if c.MessageID != nil {
		p["message_id"] = *c.MessageID
	}
	if c.Delivery != "" {
		p["delivery"] = c.Delivery
	}
	if c.DeliveryReason != "" {
		p["delivery_reason"] = c.DeliveryReason
	}
	return p
}

// NewSend holds the fields of a request to send comments to an agent.
type NewSend struct {
	CommentIDs []string // nil: all drafts
	Message    string   // before the comments; empty: none
}

const maxSendMessage = 16 << 10

// Validate returns a validation error that names every wrong field, or nil.
func (n NewSend) Validate() error {
	var bad Problems
	bad.text("message", n.Message, maxSendMessage)
	for _, id := range n.CommentIDs {
		if !IsID(id) {
			bad.Add("comment_ids", "%q is not an id", Cut(id, 100))
		}
	}
	if len(n.CommentIDs) > MaxComments {
		bad.Add("comment_ids", "has more than %d elements", MaxComments)
	}
	return bad.Err()
}

// Chosen returns the comments to send, in order of creation.
func (n NewSend) Chosen(all []Comment) ([]Comment, error) {
	var out []Comment
	left := slices.Clone(n.CommentIDs)
	for _, c := range all {
		i := slices.Index(left, c.ID)
		switch {
		case n.CommentIDs == nil && c.State == CommentDraft:
			out = append(out, c)
		case i < 0:
		case c.State != CommentDraft:
			return nil, Errorf(CodeConflict, "comment %s is %s; only drafts are sent", c.ID, c.State).With("state", c.State)
		default:
			out = append(out, c)
			left = slices.DeleteFunc(left, func(id string) bool { return id == c.ID })
		}
	}
	if len(left) > 0 {
		return nil, Invalid("comment_ids", "there is no comment %s on this workspace", left[0])
	}
	if len(out) == 0 && strings.TrimSpace(n.Message) == "" {
		return nil, Invalid("comment_ids", "there is nothing to send: no draft, and no message")
	}
	return out, nil
}

// Sent is the result of sending comments.
type Sent struct {
	Prompt    string  `json:"prompt" doc:"The message and the comments as the agent receives them"`
	RunID     *string `json:"run_id" doc:"The run to which it was sent; null for a preview"`
	MessageID *string `json:"message_id" doc:"The message that contains it; null for a preview, and when a run was started with it"`
}
