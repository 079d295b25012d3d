package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"svc"
	"svc/atomicfile"
	"svc/process"
	"svc/wire"
)

// Attempt is the folder of one attempt of a run on this host.
type Attempt struct {
	Dir    Dir
	RunID  string
	Number int
}

// Create makes the folder, its counter and the disk reserve for the end. It may be called again.
func (a Attempt) Create() error {
	if err := os.MkdirAll(a.SpoolPath(), 0o700); err != nil {
		return diskError("create attempt folder", err)
	}
	if err := a.reserve(); err != nil {
		return diskError("reserve disk space for the end", err)
	}
	if err := a.makeCounter(0); err != nil && !errors.Is(err, os.ErrExist) {
		return diskError("create counter", err)
	}
	return diskErrorOrNil("create attempt folder", atomicfile.SyncDir(a.Dir.runs()))
}

// Exists reports whether the folder exists.
func (a Attempt) Exists() bool {
	info, err := os.Stat(a.Path())
	return err == nil && info.IsDir()
}

// Remove removes the folder with all its content; the log and the worker's spool stay.
func (a Attempt) Remove() error {
	if err := os.RemoveAll(a.Path()); err != nil {
		return fmt.Errorf("remove attempt folder: %w", err)
	}
	return nil
}

// SetAside moves the folder to <data dir>/quarantine for an operator, and returns its new path.
func (a Attempt) SetAside() (to string, err error) {
	to = filepath.Join(string(a.Dir), "quarantine", filepath.Base(a.Path()))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", diskError("set attempt folder aside", err)
	}
	if err := os.Rename(a.Path(), to); err != nil {
		return "", fmt.Errorf("set attempt folder aside: %w", err)
	}
	return to, nil
}

// Path returns the folder's path.
func (a Attempt) Path() string {
	return filepath.Join(a.Dir.runs(), a.RunID+"."+strconv.Itoa(a.Number))
}

// AttemptAt returns the attempt whose session has this path as SVC_RUN_DIR. It returns false if the path is not
// such a folder.
func AttemptAt(path string) (Attempt, bool) {
	if filepath.Base(path) == sessionDir {
		path = filepath.Dir(path)
	}
	runID, number, ok := splitAttempt(filepath.Base(path))
	return Dir(filepath.Dir(filepath.Dir(path))).Attempt(runID, number), ok && filepath.IsAbs(path)
}

// File returns the path of a file in the part of the folder that contained sessions do not see.
func (a Attempt) File(name string) string { return filepath.Join(a.Path(), name) }

// sessionDir is the name of the session's folder within its attempt.
const sessionDir = "session"

// SessionPath returns the folder of the files that the session needs and may change. For an attempt of an
// earlier version it is the whole folder; the counter there marks such an attempt.
func (a Attempt) SessionPath() string {
	if _, err := os.Lstat(a.File(counterName)); err == nil {
		return a.Path()
	}
	return a.File(sessionDir)
}

// SessionFile returns the path of a file in the session's folder.
func (a Attempt) SessionFile(name string) string { return filepath.Join(a.SessionPath(), name) }

// SpoolPath returns the spool of the session's signals, which has only those of this attempt.
func (a Attempt) SpoolPath() string { return a.SessionFile("spool") }

// LaunchPath returns the path of the launch description for the wrapper.
func (a Attempt) LaunchPath() string { return a.File("launch") }

// PromptPath returns the path of the prompt, which is plain text.
func (a Attempt) PromptPath() string { return a.SessionFile("prompt") }

// HooksPath returns the folder of the provider's hook configuration. It need not exist.
func (a Attempt) HooksPath() string { return a.SessionFile("hooks") }

// WritePrompt writes the prompt to the session's folder.
func (a Attempt) WritePrompt(text string) error {
	return diskErrorOrNil("write prompt", replace(a.SessionPath(), a.PromptPath(), []byte(text)))
}

// State is the worker's progress with an attempt.
type State string

// The states, in their order.
const (
	StateAccepted State = "accepted" // on disk, nothing started
	StateSpawning State = "spawning" // the session is being made: it may exist
	StateRunning  State = "running"  // the session was seen
	StateEnded    State = "ended"    // the session has ended and its end is in the spool
)

// Dispatch is the run that the worker was given, and the worker's notes about it.
type Dispatch struct {
	Run        wire.RunDispatch `json:"run"`
	ReceivedAt svc.Time         `json:"received_at"`
	State      State            `json:"state"`
	// LogBase is the attempt's first byte in the run's log file.
	LogBase int64 `json:"log_base"`
	// LogBegun is true when LogBase is final: an attempt that is started again continues its log.
	LogBegun bool `json:"log_begun,omitempty"`
	// LogAcked is how many bytes of the attempt the orchestrator has acknowledged. It is a hint; the
	// orchestrator's own offset decides.
	LogAcked int64 `json:"log_acked,omitempty"`
	// Word is the signal that reported the end; nil until it is in the spool.
	Word *wire.Signal `json:"word,omitempty"`
	// Session is nil until the start of the session. Its processes are set when it was seen.
	Session *Session `json:"session,omitempty"`
	// TokenHash is the SHA-256 of the run's token in hex; signals of the session must carry the token. Empty:
	// the run has no token, or an earlier version started it. The token itself and the run's variables are
	// removed from this record when the wrapper has them (Forget).
	TokenHash string `json:"token_hash,omitempty"`
	// KeepAlive are the names of the programs that may outlive the session, from the catalog at the start of
	// the session.
	KeepAlive []string `json:"keep_alive,omitempty"`
	// StopReason is why the session is being stopped; empty: it is not. StopAt is when that was requested.
	StopReason string   `json:"stop_reason,omitempty"`
	StopAt     svc.Time `json:"stop_at,omitempty"`
	// Killed is set before the stop kills the wrapper, which then records no end.
	Killed bool `json:"killed,omitempty"`
}

// Forget removes the run's secrets, which only a start needs. It reports whether there were any.
func (d *Dispatch) Forget() bool {
	had := d.Run.SignalToken != "" || len(d.Run.Env) > 0
	d.Run.SignalToken, d.Run.Env = "", nil
	return had
}

// Session identifies a session, so that it can be found again.
type Session struct {
	Socket string     `json:"socket"`
	Server process.ID `json:"server"` // the tmux server's process
	PaneID string     `json:"pane_id"`
	Pane   process.ID `json:"pane"` // the wrapper
}

// WriteDispatch writes the dispatch to disk and syncs it.
func (a Attempt) WriteDispatch(d Dispatch) error { return WriteRecord(a.File("dispatch"), d) }

// ReadDispatch reads the dispatch; fs.ErrNotExist and ErrCorrupt as in ReadRecord.
func (a Attempt) ReadDispatch() (Dispatch, error) {
	var d Dispatch
	err := ReadRecord(a.File("dispatch"), &d)
	return d, err
}

// Wrapper is the record of an attempt's processes. It is written twice: without Child before the provider
// starts, and with Child right after.
type Wrapper struct {
	Wrapper process.ID  `json:"wrapper"`
	Child   *process.ID `json:"child,omitempty"` // nil: not started; its pid is also the id of its process group
	At      svc.Time    `json:"at"`
}

// WriteWrapper records the processes.
func (a Attempt) WriteWrapper(w Wrapper) error { return WriteRecord(a.File("wrapper"), w) }

// ReadWrapper reads that record; fs.ErrNotExist means that no wrapper has recorded itself yet.
func (a Attempt) ReadWrapper() (Wrapper, error) {
	var w Wrapper
	err := ReadRecord(a.File("wrapper"), &w)
	return w, err
}

// Exit is the wrapper's record of the end.
type Exit struct {
	Code   int      `json:"exit_code"`
	Reason string   `json:"reason,omitempty"` // empty: it ended by itself
	Error  string   `json:"error,omitempty"`  // why nothing was started, or that the tool has lost its conversation; empty: neither
	At     svc.Time `json:"at"`
}

// Signal returns the signal that reports an end: finished, or failed if there is an error. Worker and wrapper
// both use it, so that either may report the end.
func (a Attempt) Signal(e Exit) svc.Signal {
	s := svc.Signal{RunID: a.RunID, Attempt: a.Number, Source: svc.FromWrapper, Timestamp: e.At}
	if e.Error != "" {
		s.Kind, s.Error = svc.SignalFailed, e.Error
		return s
	}
	s.Kind, s.ExitCode, s.Reason = svc.SignalFinished, e.Code, e.Reason
	return s
}

// WriteExit records the end. It also works on a full disk.
func (a Attempt) WriteExit(e Exit) error {
	data, err := encodeRecord(e)
	if err != nil {
		return fmt.Errorf("write exit: %w", err)
	}
	return diskErrorOrNil("write exit", a.replaceFrom(reserveExit, a.File("exit"), data))
}

// ReadExit reads that record; fs.ErrNotExist means that the wrapper has recorded no end.
func (a Attempt) ReadExit() (Exit, error) {
	var e Exit
	err := ReadRecord(a.File("exit"), &e)
	return e, err
}

// Leftover is a process that outlived the provider.
type Leftover struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Signal  string `json:"signal,omitempty"` // the signal that was sent to it; empty: it could not be ended
}

// WriteLeftovers records the processes that the wrapper had to end.
func (a Attempt) WriteLeftovers(l []Leftover) error { return WriteRecord(a.File("leftovers"), l) }

// ReadLeftovers reads that record; fs.ErrNotExist means that there were none.
func (a Attempt) ReadLeftovers() (l []Leftover, err error) {
	err = ReadRecord(a.File("leftovers"), &l)
	return l, err
}

func diskErrorOrNil(doing string, err error) error {
	if err == nil || errors.Is(err, ErrNoSpace) {
		return err
	}
	return diskError(doing, err)
}
