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

// Launch is what the worker hands to the wrapper. It holds secrets: it is a 0600 file in a 0700
// folder, and gone once it was read.
type Launch struct {
	RunID    string `json:"run_id"`
	TaskID   string `json:"task_id"`
	Attempt  int    `json:"attempt"`
	Provider string `json:"provider"` // for the hint at the doctor
	// Argv is the command; Argv[0] is a path, or a name that is looked up in Env's PATH.
	Argv []string `json:"argv"`
	// Env is the whole environment, NAME=value, apart from what the wrapper sets itself (SVC_* of the
	// session, TERM of the pane, COLORTERM).
	Env         []string `json:"env"`
	Cwd         string   `json:"cwd"` // with a workspace: relative to it
	APIURL      string   `json:"api_url"`
	SignalToken string   `json:"signal_token,omitempty"` // empty: nothing can be posted, only spooled
	PromptFile  string   `json:"prompt_file,omitempty"`  // empty: there is no prompt
	Stdin       string   `json:"stdin,omitempty"`        // a file for standard input; empty: the terminal
	DataDir     string   `json:"data_dir"`
	// Contain says how the session is contained; nil: it is not.
	Contain *Contain `json:"contain,omitempty"`
	// Workspace is the working copy to make first; nil: none.
	Workspace *wire.Workspace `json:"workspace,omitempty"`
	Restore   string          `json:"restore,omitempty"` // a bundle that it begins with; empty: it begins at the base
	// Conversation is the one that the session begins or goes on with; nil: it is not known where the tool keeps them.
	Conversation *Conversation `json:"conversation,omitempty"`
	// Reap says how processes that outlive the provider are ended; nil: they are not.
	Reap *Reap `json:"reap,omitempty"`
}

// Reap is how processes that outlive the provider are ended: SIGTERM, and SIGKILL after the grace.
type Reap struct {
	Grace time.Duration `json:"grace_ns"`
	Keep  []string      `json:"keep,omitempty"` // programs that may stay; "*" is every program
}

// AttemptFolder is the folder of the attempt that is launched.
func (l Launch) AttemptFolder() Attempt { return Dir(l.DataDir).Attempt(l.RunID, l.Attempt) }

// WriteLaunch puts the launch description where the wrapper takes it from.
func (a Attempt) WriteLaunch(l Launch) error { return WriteRecord(a.LaunchPath(), l) }

// TakeLaunch reads a launch description and removes it, also when it is damaged: it holds secrets.
// Before that it records who takes it, so that a launch file that is gone has a process to ask for.
func TakeLaunch(path string) (Launch, error) {
	var l Launch
	if data, err := encodeRecord(process.Self()); err == nil {
		// Not synced: after a power cut the process is gone too. On a full disk the run goes on without it.
		if f, err := show(filepath.Dir(path), takerPath(path), data); err == nil {
			_ = f.Close()
		}
	}
	f, err := os.Open(path) // the worker's own file: nothing of the session runs before it was read
	if err != nil {
		return l, fmt.Errorf("read record: %w", err)
	}
	defer f.Close()
	err = readRecord(f, &l)
	if gone := os.Remove(path); gone != nil {
		return l, errors.Join(err, gone)
	}
	_ = atomicfile.SyncDir(filepath.Dir(path)) // a launch file that comes back after a power cut starts nothing
	return l, err
}

// ReadTaker tells which process has taken a launch file, or was about to; fs.ErrNotExist means that
// none came so far.
func ReadTaker(path string) (process.ID, error) {
	var p process.ID
	err := ReadRecord(takerPath(path), &p)
	return p, err
}

func takerPath(launch string) string { return launch + ".taker" }
