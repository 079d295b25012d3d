package wire

import "svc"

// Frames from the orchestrator to a worker.

// HeartbeatAck acknowledges a heartbeat.
type HeartbeatAck struct {
	Timestamp svc.Time `json:"timestamp"`
	// Challenge is for the worker's next connection (capability resume): it signs this challenge instead of one from a
	// registration. Absent: it must register.
	Challenge string `json:"challenge,omitempty"`
}

// RunDispatch assigns an attempt of a run to a worker. A worker that already has this run_id and attempt acknowledges
// again and starts nothing.
type RunDispatch struct {
	RunID       string            `json:"run_id"`
	TaskID      string            `json:"task_id"`
	Provider    string            `json:"provider"`
	SessionName string            `json:"session_name"`
	Attempt     int               `json:"attempt"`
	Cwd         string            `json:"cwd"` // empty: the worker's default
	Prompt      string            `json:"prompt,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Model       string            `json:"model,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	SignalToken string            `json:"signal_token,omitempty"` // valid for signals of this run only
	ProjectSlug string            `json:"project_slug,omitempty"`
	// Workspace is the working copy of the run, in which cwd is a relative path (capability workspace); absent: none.
	Workspace *Workspace `json:"workspace,omitempty"`
	// Conversation allows signals to carry the id of the tool's conversation, and may name the conversation
	// (capability conversation); absent: they must not carry it.
	Conversation *Conversation `json:"conversation,omitempty"`
}

// Conversation is the part of a dispatch about the tool's conversation.
type Conversation struct {
	ID     string `json:"id,omitempty"`     // for a provider that accepts an id; absent: the tool generates its own
	Resume bool   `json:"resume,omitempty"` // the tool resumes this conversation; absent: it begins it
}

// Error reports to a worker what was wrong with one of its frames.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// RunStop requests a worker to end an attempt's session (capability stop).
type RunStop struct {
	RunID   string `json:"run_id"`
	Attempt int    `json:"attempt"`
	Reason  string `json:"reason"`
}

// Keys requests a worker to type into a session (capability keys).
type Keys struct {
	RequestID string   `json:"request_id"`
	RunID     string   `json:"run_id"`
	Attempt   int      `json:"attempt"`
	Keys      []string `json:"keys"`
}

// Paste requests a worker to paste a text into a session and to submit it (capability paste). The worker responds
// with KeysResult.
type Paste struct {
	RequestID string `json:"request_id"`
	RunID     string `json:"run_id"`
	Attempt   int    `json:"attempt"`
	Text      string `json:"text"`
}

// AttachOpen requests a worker to relay a session's terminal (capability attach).
type AttachOpen struct {
	AttachID string `json:"attach_id"`
	RunID    string `json:"run_id"`
	Attempt  int    `json:"attempt"`
	Rows     int    `json:"rows"`
	Cols     int    `json:"cols"`
}

// AttachInput is input from a client for a session.
type AttachInput struct {
	AttachID string `json:"attach_id"`
	Bytes    []byte `json:"bytes"`
}

// AttachResize requests another terminal size for a session.
type AttachResize struct {
	AttachID string `json:"attach_id"`
	Rows     int    `json:"rows"`
	Cols     int    `json:"cols"`
}

// AttachClose closes a relay; the session continues.
type AttachClose struct {
	AttachID string `json:"attach_id"`
}

// LogAck acknowledges that every byte of an attempt's log before offset is stored (capability log_ack). The worker
// continues at offset.
type LogAck struct {
	RunID   string `json:"run_id"`
	Attempt int    `json:"attempt"`
	Offset  int64  `json:"offset"`
	// Complete reports that nothing more of the attempt's log is accepted: all of it is stored, up to the length from
	// a LogEnd, or none of it can be stored. Absent: more is expected.
	Complete bool `json:"complete,omitempty"`
}

// RunRecall requests a worker to report again about attempts whose record differs from its inventory (capability
// recall). The worker reports the start of those that are alive, and for the others first their logs and then their
// ends. It responds with RunUnknown for those of which it has no trace.
type RunRecall struct {
	Runs []LiveRun `json:"runs"`
}

// LogRead requests from a worker the log of an attempt that is over (capability log_read). The worker relays it from
// the end of the orchestrator's copy, or responds with LogGone.
type LogRead struct {
	RunID   string `json:"run_id"`
	Attempt int    `json:"attempt"`
}

// ScreenAck acknowledges that the final screen of an attempt is on disk, or not needed (capability final_screen).
type ScreenAck struct {
	RunID   string `json:"run_id"`
	Attempt int    `json:"attempt"`
}

// ScreenRead requests from a worker the screen at the end of an attempt that is over (capability screen_read). The
// worker responds with a final Snapshot or with ScreenGone.
type ScreenRead struct {
	RunID   string `json:"run_id"`
	Attempt int    `json:"attempt"`
}

// Goaway announces that the orchestrator closes the connection in order, and how long the worker should wait before
// it connects again (capability goaway). No frame follows it.
type Goaway struct {
	Reason  string `json:"reason"` // for people
	AfterMS int64  `json:"after_ms"`
}

// Type and the methods like it return the type names of the frames to a worker.
func (HeartbeatAck) Type() string { return "heartbeat_ack" }
func (RunDispatch) Type() string  { return "run_dispatch" }
func (Error) Type() string        { return "error" }
func (RunStop) Type() string      { return "run_stop" }
func (Keys) Type() string         { return "keys" }
func (Paste) Type() string        { return "paste" }
func (AttachOpen) Type() string   { return "attach_open" }
func (AttachInput) Type() string  { return "attach_input" }
func (AttachResize) Type() string { return "attach_resize" }
func (AttachClose) Type() string  { return "attach_close" }
func (LogAck) Type() string       { return "log_ack" }
func (RunRecall) Type() string    { return "run_recall" }
func (LogRead) Type() string      { return "log_read" }
func (ScreenAck) Type() string    { return "screen_ack" }
func (ScreenRead) Type() string   { return "screen_read" }
func (Goaway) Type() string       { return "goaway" }

func (HeartbeatAck) check() error { return nil }
func (f RunDispatch) check() error {
	if c := f.Conversation; c != nil && !svc.IsConversation(c.ID) && (c.ID != "" || c.Resume) {
		return malformed("run_dispatch: conversation.id is not the id of a conversation")
	}
	return needRun("run_dispatch", f.RunID, f.Attempt)
}
func (Error) check() error     { return nil }
func (f RunStop) check() error { return needRun("run_stop", f.RunID, f.Attempt) }
func (f Keys) check() error    { return needRun("keys", f.RunID, f.Attempt) }
func (f Paste) check() error {
	if err := need("paste", "request_id", f.RequestID); err != nil {
		return err
	}
	return needRun("paste", f.RunID, f.Attempt)
}
func (f AttachOpen) check() error {
	if err := need("attach_open", "attach_id", f.AttachID); err != nil {
		return err
	}
	return needRun("attach_open", f.RunID, f.Attempt)
}
func (f AttachInput) check() error  { return need("attach_input", "attach_id", f.AttachID) }
func (f AttachResize) check() error { return need("attach_resize", "attach_id", f.AttachID) }
func (f AttachClose) check() error  { return need("attach_close", "attach_id", f.AttachID) }
func (f RunRecall) check() error    { return needRuns("run_recall", f.Runs) }
func (f LogRead) check() error      { return needRun("log_read", f.RunID, f.Attempt) }
func (f LogAck) check() error       { return needRun("log_ack", f.RunID, f.Attempt) }
func (f ScreenAck) check() error    { return needRun("screen_ack", f.RunID, f.Attempt) }
func (f ScreenRead) check() error   { return needRun("screen_read", f.RunID, f.Attempt) }
func (f Goaway) check() error {
	if f.AfterMS < 0 {
		return malformed("goaway: after_ms is negative")
	}
	return nil
}

var downFrames = map[string]func() Frame{
	"heartbeat_ack": func() Frame { return &HeartbeatAck{} },
	"run_dispatch":  func() Frame { return &RunDispatch{} },
	"error":         func() Frame { return &Error{} },
	"run_stop":      func() Frame { return &RunStop{} },
	"keys":          func() Frame { return &Keys{} },
	"paste":         func() Frame { return &Paste{} },
	"attach_open":   func() Frame { return &AttachOpen{} },
	"attach_input":  func() Frame { return &AttachInput{} },
	"attach_resize": func() Frame { return &AttachResize{} },
	"attach_close":  func() Frame { return &AttachClose{} },
	"log_ack":       func() Frame { return &LogAck{} },
	"run_recall":    func() Frame { return &RunRecall{} },
	"log_read":      func() Frame { return &LogRead{} },
	"screen_ack":    func() Frame { return &ScreenAck{} },
	"screen_read":   func() Frame { return &ScreenRead{} },
	"goaway":        func() Frame { return &Goaway{} },

	"workspace_request": func() Frame { return &WorkspaceRequest{} },
}

func need(frame, field, value string) error {
	if value == "" {
		return malformed("%s: %s is missing", frame, field)
	}
	return checkName(frame, field, value)
}

func needRun(frame, runID string, attempt int) error {
	if !svc.IsID(runID) {
		return malformed("%s: run_id is not a UUID", frame)
	}
	if attempt < 1 {
		return malformed("%s: attempt is missing", frame)
	}
	return nil
}
