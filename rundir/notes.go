package rundir

import (
	"errors"
	"io/fs"
	"os"

	"svc"
)

// What a worker notes of an attempt for the worker after it. fs.ErrNotExist and ErrCorrupt as with ReadRecord.

// Screen is the screen at the end of a session.
type Screen struct {
	Text string   `json:"text"`
	At   svc.Time `json:"at"`             // 0: recorded by a version that did not say
	Seen bool     `json:"seen,omitempty"` // it is not the end's, but the last one that was seen before
}

// WriteScreen keeps the last screen.
func (a Attempt) WriteScreen(s Screen) error { return WriteRecord(a.File("screen"), s) }

// ReadScreen reads the last screen, also of an attempt that was cleared away.
func (a Attempt) ReadScreen() (s Screen, err error) {
	if err = ReadRecord(a.File("screen"), &s); errors.Is(err, fs.ErrNotExist) {
		err = ReadRecord(a.Dir.ScreenPath(a.RunID, a.Number), &s)
	}
	return s, err
}

// KeepScreen puts the last screen, if there is one, where it stays when the attempt is cleared away.
func (a Attempt) KeepScreen() error {
	err := os.Rename(a.File("screen"), a.Dir.ScreenPath(a.RunID, a.Number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// View is how a session's screen is shown, as the catalog had it when the session was started.
type View struct {
	Plain bool `json:"plain"` // without colours
}

// WriteView keeps how the session is shown.
func (a Attempt) WriteView(v View) error { return WriteRecord(a.File("view"), v) }

// ReadView reads how the session is shown.
func (a Attempt) ReadView() (v View, err error) {
	err = ReadRecord(a.File("view"), &v)
	return v, err
}

type logEnd struct {
	LogEnd int64 `json:"log_end"`
}

// WriteLogEnd keeps the final length of the attempt's log, in bytes.
func (a Attempt) WriteLogEnd(bytes int64) error { return WriteRecord(a.File("end"), logEnd{bytes}) }

// ReadLogEnd reads the final length of the attempt's log.
func (a Attempt) ReadLogEnd() (bytes int64, err error) {
	var end logEnd
	err = ReadRecord(a.File("end"), &end)
	return end.LogEnd, err
}

// SinkPath is where the log's writer says what it could not write.
func (a Attempt) SinkPath() string { return a.File("sink") }

// RestorePath is where a checkpoint is put that the run's working copy begins with.
func (a Attempt) RestorePath() string { return a.File("restore") }

// BinPath is the folder that is first in the session's PATH.
func (a Attempt) BinPath() string { return a.SessionFile("bin") }

// Memory is what a hook keeps for the next one, by name.
type Memory string

// What hooks remember.
const (
	HookFailed  Memory = "hook-failed"  // a failure was reported
	CodexThread Memory = "codex-thread" // the conversation that is the run's own
	Reported    Memory = "conversation" // the conversation that a hook has reported last
)

// Remember keeps a value under a name.
func (a Attempt) Remember(m Memory, value string) error {
	return WriteRecord(a.SessionFile(string(m)), value)
}

// Recall is the value that was kept; empty: none was, or its record is damaged.
func (a Attempt) Recall(m Memory) string {
	var word string
	if err := ReadRecord(a.SessionFile(string(m)), &word); err != nil {
		return ""
	}
	return word
}
