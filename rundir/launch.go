package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"svc/atomicfile"
	"svc/process"
	"svc/wire"
)

// Launch is the worker's description of a start, for the wrapper. It holds secrets: it is a 0600 file in a 0700
// folder and is removed when it is read.
type Launch struct {
	RunID    string `json:"run_id"`
	TaskID   string `json:"task_id"`
	Attempt  int    `json:"attempt"`
	Provider string `json:"provider"` // named in error messages that refer to the doctor
	// Argv is the command; Argv[0] is a path, or a name that is looked up in Env's PATH.
	Argv []string `json:"argv"`
	// Env is the whole environment, NAME=value, except the variables that the wrapper sets itself (SVC_* of the
	// session, TERM of the pane, COLORTERM).
	Env         []string `json:"env"`
	Cwd         string   `json:"cwd"` // with a workspace: relative to it
	APIURL      string   `json:"api_url"`
	SignalToken string   `json:"signal_token,omitempty"` // empty: nothing can be posted, only spooled
	PromptFile  string   `json:"prompt_file,omitempty"`  // empty: there is no prompt
	Stdin       string   `json:"stdin,omitempty"`        // a file for standard input; empty: the terminal
	DataDir     string   `json:"data_dir"`
	// Contain is how the session is contained; nil: it is not.
	Contain *Contain `json:"contain,omitempty"`
	// Workspace is the working copy to make first; nil: none.
	Workspace *wire.Workspace `json:"workspace,omitempty"`
	Restore   string          `json:"restore,omitempty"` // a bundle that the working copy starts from; empty: it starts from its base
	// Conversation is what the session begins or resumes; nil: it is unknown where the tool keeps
	// conversations.
	Conversation *Conversation `json:"conversation,omitempty"`
	// Reap is how processes that outlive the provider are ended; nil: they are not.
	Reap *Reap `json:"reap,omitempty"`
}

// Reap is how processes that outlive the provider are ended: with SIGTERM, and with SIGKILL after Grace.
type Reap struct {
	Grace time.Duration `json:"grace_ns"`
	Keep  []string      `json:"keep,omitempty"` // programs that may stay; "*" means every program
}

// AttemptFolder returns the folder of the attempt that is launched.
func (l Launch) AttemptFolder() Attempt { return Dir(l.DataDir).Attempt(l.RunID, l.Attempt) }

// WriteLaunch writes the launch description to LaunchPath.
func (a Attempt) WriteLaunch(l Launch) error { return WriteRecord(a.LaunchPath(), l) }

// TakeLaunch reads a launch description and removes it, also when it is damaged, since it holds secrets. First
// it records its own process as the taker, so that the worker can find the process that took a missing launch
// file.
func TakeLaunch(path string) (Launch, error) {
	var l Launch
	if data, err := encodeRecord(process.Self()); err == nil {
		// Not synced: after a power cut the process is gone too. On a full disk the run goes on without it.
		if f, err := publishFile(filepath.Dir(path), takerPath(path), data); err == nil {
			_ = f.Close()
		}
	}
	f, err := os.Open(path) // only the worker has written it: nothing of the session runs before it is read
	if err != nil {
		return l, fmt.Errorf("read record: %w", err)
	}
	defer f.Close()
	err = readRecord(f, &l)
	if gone := os.Remove(path); gone != nil {
		return l, errors.Join(err, gone)
	}
	_ = atomicfile.SyncDir(filepath.Dir(path)) // so that the file does not reappear after a power cut
	return l, err
}

// ReadTaker returns the process that has taken a launch file, or was about to; fs.ErrNotExist means that there
// is none yet.
func ReadTaker(path string) (process.ID, error) {
	var p process.ID
	err := ReadRecord(takerPath(path), &p)
	return p, err
}

func takerPath(launch string) string { return launch + ".taker" }
