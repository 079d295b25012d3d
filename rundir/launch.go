package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"time"
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
	Cwd         string   `json:"cwd"`
	APIURL      string   `json:"api_url"`
	SignalToken string   `json:"signal_token,omitempty"` // empty: nothing can be posted, only spooled
	PromptFile  string   `json:"prompt_file,omitempty"`  // empty: there is no prompt
	HooksDir    string   `json:"hooks_dir,omitempty"`    // empty: the provider has no hooks
	DataDir     string   `json:"data_dir"`
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
func TakeLaunch(path string) (Launch, error) {
	var l Launch
	err := ReadRecord(path, &l)
	if errors.Is(err, os.ErrNotExist) {
		return l, err
	}
	if gone := os.Remove(path); gone != nil {
		return l, errors.Join(err, gone)
	}
	_ = syncDir(filepath.Dir(path)) // a launch file that comes back after a power cut starts nothing
	return l, err
}
