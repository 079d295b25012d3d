package rundir

import (
	"errors"
	"io/fs"
	"os"

	"svc"
)

// The notes of a worker about an attempt, for the next worker. Reading returns fs.ErrNotExist and ErrCorrupt
// like ReadRecord.

// Screen is the screen at the end of a session.
type Screen struct {
	Text string   `json:"text"`
	At   svc.Time `json:"at"`             // 0: an earlier version did not record it
	Seen bool     `json:"seen,omitempty"` // the last screen that was captured before the end, not at the end
}

// WriteScreen records the last screen.
func (a Attempt) WriteScreen(s Screen) error { return WriteRecord(a.File("screen"), s) }

// ReadScreen reads the last screen, also of an attempt whose folder was removed.
func (a Attempt) ReadScreen() (s Screen, err error) {
	if err = ReadRecord(a.File("screen"), &s); errors.Is(err, fs.ErrNotExist) {
		err = ReadRecord(a.Dir.ScreenPath(a.RunID, a.Number), &s)
	}
	return s, err
}

// KeepScreen moves the last screen, if there is one, out of the attempt's folder, so that it stays when that is
// removed.
func (a Attempt) KeepScreen() error {
	err := os.Rename(a.File("screen"), a.Dir.ScreenPath(a.RunID, a.Number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// View is how a session's screen is shown, from the catalog at the start of the session.
type View struct {
	Plain bool `json:"plain"` // without colours
}

// WriteView records how the session is shown.
func (a Attempt) WriteView(v View) error { return WriteRecord(a.File("view"), v) }

// ReadView reads how the session is shown.
func (a Attempt) ReadView() (v View, err error) {
	err = ReadRecord(a.File("view"), &v)
	return v, err
}

type logEnd struct {
	LogEnd int64 `json:"log_end"`
}

// WriteLogEnd records the final length of the attempt's log, in bytes.
func (a Attempt) WriteLogEnd(bytes int64) error { return WriteRecord(a.File("end"), logEnd{bytes}) }

// ReadLogEnd reads the final length of the attempt's log.
func (a Attempt) ReadLogEnd() (bytes int64, err error) {
	var end logEnd
	err = ReadRecord(a.File("end"), &end)
	return end.LogEnd, err
}

// SinkPath returns the file in which the log's writer records why it cannot write.
func (a Attempt) SinkPath() string { return a.File("sink") }

// RestorePath returns the file for the checkpoint from which the run's working copy starts.
func (a Attempt) RestorePath() string { return a.File("restore") }

// BinPath returns the folder that is first in the session's PATH.
func (a Attempt) BinPath() string { return a.SessionFile("bin") }

// Memory is the name of a value that a hook stores for later hooks.
type Memory string

// The values that hooks store.
const (
	HookFailed  Memory = "hook-failed"  // a failure was reported
	CodexThread Memory = "codex-thread" // the conversation that is the run's own
	Reported    Memory = "conversation" // the last conversation that a hook has reported
)

// Remember stores a value under a name.
func (a Attempt) Remember(m Memory, value string) error {
	return WriteRecord(a.SessionFile(string(m)), value)
}

// Recall returns the stored value; empty: there is none, or its record is damaged.
func (a Attempt) Recall(m Memory) string {
	var word string
	if err := ReadRecord(a.SessionFile(string(m)), &word); err != nil {
		return ""
	}
	return word
}
