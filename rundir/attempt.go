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

// Create makes the folder, its counter and the reserve for the end. It may be called again.
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

// Exists tells whether the folder is there.
func (a Attempt) Exists() bool {
	info, err := os.Stat(a.Path())
	return err == nil && info.IsDir()
}

// Remove takes the folder away with all that is in it; the log and the worker's spool stay.
func (a Attempt) Remove() error {
	if err := os.RemoveAll(a.Path()); err != nil {
		return fmt.Errorf("remove attempt folder: %w", err)
	}
	return nil
}

// SetAside moves the folder to <data dir>/quarantine, for a person to look at, and answers where it is.
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

// Path is the folder.
func (a Attempt) Path() string {
	return filepath.Join(a.Dir.runs(), a.RunID+"."+strconv.Itoa(a.Number))
}

// AttemptAt is the attempt whose session was told this folder, SVC_RUN_DIR. False: the path is no such folder.
func AttemptAt(path string) (Attempt, bool) {
	if filepath.Base(path) == sessionDir {
		path = filepath.Dir(path)
	}
	runID, number, ok := splitAttempt(filepath.Base(path))
	return Dir(filepath.Dir(filepath.Dir(path))).Attempt(runID, number), ok && filepath.IsAbs(path)
}

// File is the path of a file in the folder that no contained session sees.
func (a Attempt) File(name string) string { return filepath.Join(a.Path(), name) }

// sessionDir is the name of the session's folder within its attempt.
const sessionDir = "session"

// SessionPath is the folder of what the session needs and may change. In an attempt that an earlier version
// has begun, which its counter tells, it is the whole folder.
func (a Attempt) SessionPath() string {
	if _, err := os.Lstat(a.File(counterName)); err == nil {
		return a.Path()
	}
	return a.File(sessionDir)
}

// SessionFile is the path of a file in the session's folder.
func (a Attempt) SessionFile(name string) string { return filepath.Join(a.SessionPath(), name) }

// SpoolPath is where the session's signals wait, those of this attempt alone.
func (a Attempt) SpoolPath() string { return a.SessionFile("spool") }

// LaunchPath is where the launch description is put for the wrapper.
func (a Attempt) LaunchPath() string { return a.File("launch") }

// PromptPath is where the prompt stands as plain text.
func (a Attempt) PromptPath() string { return a.SessionFile("prompt") }

// HooksPath is the folder of the provider's hook configuration. It need not exist.
func (a Attempt) HooksPath() string { return a.SessionFile("hooks") }

// WritePrompt puts the prompt where the session finds it.
func (a Attempt) WritePrompt(text string) error {
	return diskErrorOrNil("write prompt", replace(a.SessionPath(), a.PromptPath(), []byte(text)))
}

// State is how far the worker has come with an attempt.
type State string

// The states, in the order in which they come.
const (
	StateAccepted State = "accepted" // on disk, nothing started
	StateSpawning State = "spawning" // the session is being made: it may exist
	StateRunning  State = "running"  // the session was seen
	StateEnded    State = "ended"    // the session is gone and its end was put into the spool
)

// Dispatch is what the worker was given, and its notes.
type Dispatch struct {
	Run        wire.RunDispatch `json:"run"`
	ReceivedAt svc.Time         `json:"received_at"`
	State      State            `json:"state"`
	// LogBase is where in the run's log file this attempt begins, in bytes.
	LogBase int64 `json:"log_base"`
	// LogBegun says that LogBase stands: an attempt that is started again goes on with its log.
	LogBegun bool `json:"log_begun,omitempty"`
	// LogAcked counts the attempt's bytes that the orchestrator has; a hint, it knows better.
	LogAcked int64 `json:"log_acked,omitempty"`
	// Word is how the end was reported; nil until it was spooled.
	Word *wire.Signal `json:"word,omitempty"`
	// Session is nil until the session was seen.
	Session *Session `json:"session,omitempty"`
	// TokenHash is the SHA-256 of the run's token in hex: what the session reports carries the token. Empty: it
	// was given none, or an earlier version started it. The token itself, and the run's variables, leave this
	// record when the wrapper has them (Forget).
	TokenHash string `json:"token_hash,omitempty"`
	// KeepAlive names the programs that may outlive the session, as the catalog had it at the start.
	KeepAlive []string `json:"keep_alive,omitempty"`
	// StopReason is why the session shall end; empty: it shall not. StopAt is when that was asked.
	StopReason string   `json:"stop_reason,omitempty"`
	StopAt     svc.Time `json:"stop_at,omitempty"`
	// Killed says that the stop was about to kill the wrapper, which then records nothing.
	Killed bool `json:"killed,omitempty"`
}

// Forget removes the run's secrets, which only a start needs. It says whether there were any.
func (d *Dispatch) Forget() bool {
	had := d.Run.SignalToken != "" || len(d.Run.Env) > 0
	d.Run.SignalToken, d.Run.Env = "", nil
	return had
}

// Session is how a session is found again.
type Session struct {
	Socket string     `json:"socket"`
	Server process.ID `json:"server"` // the multiplexer's own process
	PaneID string     `json:"pane_id"`
	Pane   process.ID `json:"pane"` // the wrapper
}

// WriteDispatch keeps the dispatch safely on disk.
func (a Attempt) WriteDispatch(d Dispatch) error { return WriteRecord(a.File("dispatch"), d) }

// ReadDispatch reads it; fs.ErrNotExist and ErrCorrupt as with ReadRecord.
func (a Attempt) ReadDispatch() (Dispatch, error) {
	var d Dispatch
	err := ReadRecord(a.File("dispatch"), &d)
	return d, err
}

// Wrapper tells which processes an attempt consists of. It is written twice: without Child before the
// provider starts, and with it right after.
type Wrapper struct {
	Wrapper process.ID  `json:"wrapper"`
	Child   *process.ID `json:"child,omitempty"` // nil: not started; its pid is its process group too
	At      svc.Time    `json:"at"`
}

// WriteWrapper records the processes.
func (a Attempt) WriteWrapper(w Wrapper) error { return WriteRecord(a.File("wrapper"), w) }

// ReadWrapper reads them; fs.ErrNotExist means that no wrapper came so far.
func (a Attempt) ReadWrapper() (Wrapper, error) {
	var w Wrapper
	err := ReadRecord(a.File("wrapper"), &w)
	return w, err
}

// Exit is the wrapper's word about the end.
type Exit struct {
	Code   int      `json:"exit_code"`
	Reason string   `json:"reason,omitempty"` // empty: it ended by itself
	Error  string   `json:"error,omitempty"`  // why nothing was started, or that the tool has lost its conversation; empty: neither
	At     svc.Time `json:"at"`
}

// Signal is what the end means for the orchestrator: finished, or failed when there is an error.
// Worker and wrapper both take it from here, so that either may report it.
func (a Attempt) Signal(e Exit) svc.Signal {
	s := svc.Signal{RunID: a.RunID, Attempt: a.Number, Source: svc.FromWrapper, Timestamp: e.At}
	if e.Error != "" {
		s.Kind, s.Error = svc.SignalFailed, e.Error
		return s
	}
	s.Kind, s.ExitCode, s.Reason = svc.SignalFinished, e.Code, e.Reason
	return s
}

// WriteExit records the end, on a full disk too.
func (a Attempt) WriteExit(e Exit) error {
	data, err := encodeRecord(e)
	if err != nil {
		return fmt.Errorf("write exit: %w", err)
	}
	return diskErrorOrNil("write exit", a.replaceFrom(reserveExit, a.File("exit"), data))
}

// ReadExit reads it; fs.ErrNotExist means that the wrapper did not say how it ended.
func (a Attempt) ReadExit() (Exit, error) {
	var e Exit
	err := ReadRecord(a.File("exit"), &e)
	return e, err
}

// Leftover is a process that outlived the provider.
type Leftover struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Signal  string `json:"signal,omitempty"` // what it got; empty: it could not be ended
}

// WriteLeftovers records what the wrapper had to end.
func (a Attempt) WriteLeftovers(l []Leftover) error { return WriteRecord(a.File("leftovers"), l) }

// ReadLeftovers reads it; fs.ErrNotExist means that there were none.
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
