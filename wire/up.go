package wire

import "svc"

// Frames from a worker to the orchestrator.

// Heartbeat shows that a worker is alive, and reports the state of its host.
type Heartbeat struct {
	HostID     string     `json:"host_id"`
	InstanceID string     `json:"instance_id"`
	Timestamp  svc.Time   `json:"timestamp"`
	Runs       *[]LiveRun `json:"runs,omitempty"` // every live session (capability inventory); absent: not reported
	// Refusing is the reason why the host accepts no new runs now; absent: it accepts them.
	Refusing *svc.HostRefusal `json:"refusing,omitempty"`
	// CatalogError is the reason why the host's provider catalog could not be loaded; absent: it was loaded.
	CatalogError string `json:"catalog_error,omitempty"`
	// DiskFreeBytes is the disk space that the worker may still use; absent: not reported.
	DiskFreeBytes *int64 `json:"disk_free_bytes,omitempty"`
}

// LiveRun is one live session of a worker.
type LiveRun struct {
	RunID   string `json:"run_id"`
	Attempt int    `json:"attempt"`
}

// RunDispatchAck is the response to a dispatch. When it was refused, nothing was started.
type RunDispatchAck struct {
	RunID    string `json:"run_id"`
	Attempt  int    `json:"attempt"`
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitempty"` // why it was refused; absent: not reported
}

// Snapshot is the screen of a run.
type Snapshot struct {
	RunID     string   `json:"run_id"`
	Capture   string   `json:"capture"`
	Timestamp svc.Time `json:"timestamp"`
	Attempt   int      `json:"attempt,omitempty"` // absent: the current one
	// Final reports that this is the screen at the end of the attempt's session; it is acknowledged with screen_ack
	// (capability final_screen). Absent: the session continues, or the peer is a plain one.
	Final bool `json:"final,omitempty"`
}

// SignalFrame is a signal on the uplink.
type SignalFrame struct {
	RunID string `json:"run_id"`
	Signal
}

// LogChunk is a part of a run's log. Without Offset (a plain peer) it is always appended. With Offset it is accepted
// only when the orchestrator's copy ends at that offset.
type LogChunk struct {
	RunID     string   `json:"run_id"`
	Text      LogText  `json:"text"`
	Timestamp svc.Time `json:"timestamp"`
	Attempt   int      `json:"attempt,omitempty"` // absent: the current one
	Offset    *int64   `json:"offset,omitempty"`
	Bytes     int      `json:"bytes,omitempty"` // raw length
	Data      []byte   `json:"data,omitempty"`  // the raw bytes when they are not valid UTF-8
	// Times are the times at which its bytes were written; absent: an older peer, or no new times. They are accepted
	// or refused together with the chunk.
	Times LogTimes `json:"times,omitempty"`
}

// Raw returns the chunk's bytes as the terminal received them.
func (f LogChunk) Raw() []byte {
	if len(f.Data) > 0 {
		return f.Data
	}
	return f.Text
}

// LogEnd reports the final length of an attempt's log (capability log_end). The orchestrator responds with a LogAck.
type LogEnd struct {
	RunID   string `json:"run_id"`
	Attempt int    `json:"attempt"`
	Bytes   int64  `json:"bytes"`
}

// RunUnknown is a response to RunRecall: this host has no trace of these attempts (capability recall).
type RunUnknown struct {
	Runs []LiveRun `json:"runs"`
}

// LogGone is a response to LogRead: this host does not have that log (capability log_read).
type LogGone struct {
	RunID   string `json:"run_id"`
	Attempt int    `json:"attempt"`
}

// ScreenGone is a response to ScreenRead: this host does not have the screen at the end of that attempt (capability
// screen_read).
type ScreenGone struct {
	RunID   string `json:"run_id"`
	Attempt int    `json:"attempt"`
}

// KeysResult is the response to Keys and Paste.
type KeysResult struct {
	RequestID string `json:"request_id"`
	OK        bool   `json:"ok"`
	Error     string `json:"error,omitempty"`
	// Unknown reports that after a failure some of the input may have reached the session. Absent: with OK all of it
	// has, otherwise none of it.
	Unknown bool `json:"unknown,omitempty"`
}

// AttachData is terminal output of a relay.
type AttachData struct {
	AttachID string `json:"attach_id"`
	Bytes    []byte `json:"bytes"`
}

// AttachResized reports the session's size.
type AttachResized struct {
	AttachID string `json:"attach_id"`
	Rows     int    `json:"rows"`
	Cols     int    `json:"cols"`
}

// AttachClosed reports that a relay ended on the worker's side.
type AttachClosed struct {
	AttachID string `json:"attach_id"`
	Reason   string `json:"reason"`
}

// Providers reports the content of a worker's catalog (capability providers).
type Providers struct {
	Providers map[string]svc.ProviderReport `json:"providers"`
	// CatalogHash is the SHA-256 of the catalog's text in hex; absent: not reported.
	CatalogHash string `json:"catalog_hash,omitempty"`
}

// Orphan reports a session that should not exist (capability orphans).
type Orphan struct {
	SessionName string `json:"session_name"`
	RunID       string `json:"run_id,omitempty"`  // absent: the session is in no record
	Attempt     int    `json:"attempt,omitempty"` // absent: as for run_id
	Action      string `json:"action"`            // what the worker did: stopped or none
}

// RunHint describes what looks unusual about a live run, as text from the worker (capability hints). It is sent again
// on each connection; an empty hint removes it.
type RunHint struct {
	RunID   string `json:"run_id"`
	Attempt int    `json:"attempt"`
	Hint    string `json:"hint"`
}

// Goodbye announces that a worker exits in order: the connection closes next, and the sessions on the host continue
// (capability goodbye).
type Goodbye struct {
	Reason string `json:"reason,omitempty"` // for people; absent: not reported
}

// Type and the methods like it return the type names of the frames to the orchestrator.
func (Heartbeat) Type() string      { return "heartbeat" }
func (RunDispatchAck) Type() string { return "run_dispatch_ack" }
func (Snapshot) Type() string       { return "snapshot" }
func (SignalFrame) Type() string    { return "signal" }
func (LogChunk) Type() string       { return "log_chunk" }
func (LogEnd) Type() string         { return "log_end" }
func (RunUnknown) Type() string     { return "run_unknown" }
func (LogGone) Type() string        { return "log_gone" }
func (ScreenGone) Type() string     { return "screen_gone" }
func (KeysResult) Type() string     { return "keys_result" }
func (AttachData) Type() string     { return "attach_data" }
func (AttachResized) Type() string  { return "attach_resized" }
func (AttachClosed) Type() string   { return "attach_closed" }
func (Providers) Type() string      { return "providers" }
func (Orphan) Type() string         { return "orphan" }
func (RunHint) Type() string        { return "run_hint" }
func (Goodbye) Type() string        { return "goodbye" }

func (f Heartbeat) check() error {
	if !svc.IsID(f.HostID) {
		return malformed("heartbeat: host_id is not a UUID")
	}
	if !svc.IsID(f.InstanceID) {
		return malformed("heartbeat: instance_id is not a UUID")
	}
	if f.Refusing != nil {
		if err := checkName("heartbeat", "refusing.code", f.Refusing.Code); err != nil {
			return err
		}
	}
	if f.Runs == nil {
		return nil
	}
	return needRuns("heartbeat", *f.Runs)
}
func (f RunDispatchAck) check() error { return needRun("run_dispatch_ack", f.RunID, f.Attempt) }
func (f Snapshot) check() error {
	if f.Final && f.Attempt < 1 {
		return malformed("snapshot: final needs an attempt")
	}
	if len(f.Capture) > MaxCapture {
		return malformed("snapshot: capture has more than %d bytes", MaxCapture)
	}
	return needRunID("snapshot", f.RunID)
}
func (f SignalFrame) check() error { return needRunID("signal", f.RunID) }
func (f LogChunk) check() error {
	if f.Offset != nil && (*f.Offset < 0 || f.Attempt < 1) {
		return malformed("log_chunk: offset needs an attempt and must not be negative")
	}
	return needRunID("log_chunk", f.RunID)
}
func (f LogEnd) check() error {
	if f.Bytes < 0 {
		return malformed("log_end: bytes must not be negative")
	}
	return needRun("log_end", f.RunID, f.Attempt)
}
func (f RunUnknown) check() error    { return needRuns("run_unknown", f.Runs) }
func (f LogGone) check() error       { return needRun("log_gone", f.RunID, f.Attempt) }
func (f ScreenGone) check() error    { return needRun("screen_gone", f.RunID, f.Attempt) }
func (f KeysResult) check() error    { return need("keys_result", "request_id", f.RequestID) }
func (f AttachData) check() error    { return need("attach_data", "attach_id", f.AttachID) }
func (f AttachResized) check() error { return need("attach_resized", "attach_id", f.AttachID) }
func (f AttachClosed) check() error  { return need("attach_closed", "attach_id", f.AttachID) }
func (f RunHint) check() error       { return needRun("run_hint", f.RunID, f.Attempt) }
func (f Goodbye) check() error       { return nil }
func (f Providers) check() error {
	for id := range f.Providers {
		if err := checkName("providers", "an id", id); err != nil {
			return err
		}
	}
	return checkCount("providers", "providers", len(f.Providers), MaxProviders)
}
func (f Orphan) check() error {
	if f.RunID != "" {
		if err := needRun("orphan", f.RunID, f.Attempt); err != nil {
			return err
		}
	}
	return need("orphan", "session_name", f.SessionName)
}

var upFrames = map[string]func() Frame{
	"workspace_result": func() Frame { return &WorkspaceResult{} },
	"heartbeat":        func() Frame { return &Heartbeat{} },
	"run_dispatch_ack": func() Frame { return &RunDispatchAck{} },
	"snapshot":         func() Frame { return &Snapshot{} },
	"signal":           func() Frame { return &SignalFrame{} },
	"log_chunk":        func() Frame { return &LogChunk{} },
	"log_end":          func() Frame { return &LogEnd{} },
	"run_unknown":      func() Frame { return &RunUnknown{} },
	"log_gone":         func() Frame { return &LogGone{} },
	"screen_gone":      func() Frame { return &ScreenGone{} },
	"keys_result":      func() Frame { return &KeysResult{} },
	"attach_data":      func() Frame { return &AttachData{} },
	"attach_resized":   func() Frame { return &AttachResized{} },
	"attach_closed":    func() Frame { return &AttachClosed{} },
	"providers":        func() Frame { return &Providers{} },
	"orphan":           func() Frame { return &Orphan{} },
	"run_hint":         func() Frame { return &RunHint{} },
	"goodbye":          func() Frame { return &Goodbye{} },
}

func needRuns(frame string, runs []LiveRun) error {
	if err := checkCount(frame, "runs", len(runs), MaxSessions); err != nil {
		return err
	}
	for _, r := range runs {
		if err := needRun(frame, r.RunID, r.Attempt); err != nil {
			return err
		}
	}
	return nil
}

func needRunID(frame, runID string) error {
	if !svc.IsID(runID) {
		return malformed("%s: run_id is not a UUID", frame)
	}
	return nil
}
