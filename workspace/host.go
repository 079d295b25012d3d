package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"svc"
	"svc/git"
	"svc/rundir"
)

// Errors that callers distinguish with errors.Is.
var (
	// ErrUnknown means that there is no record of the workspace on this host.
	ErrUnknown = errors.New("no such workspace on this host")
	// ErrNotReady means that the workspace was never completely prepared, or is being removed.
	ErrNotReady = errors.New("the workspace is not ready")
	// ErrMissing means that the workspace's folder is gone. Its newest checkpoint remains.
	ErrMissing = errors.New("the workspace's folder is gone")
	// ErrInUse means that another process uses the workspace or its mirror and did not finish in time.
	ErrInUse = errors.New("in use")
)

// Host manages the workspaces in a data directory. Several processes may use the same directory at once.
type Host struct {
	Dir string // absolute
	Git git.Program
	// Now is the clock; nil: the system's.
	Now func() time.Time
	// at is called after a step was recorded and before it is executed. Tests end the process there.
	at func(Step)
}

func (h Host) mirrors() string           { return filepath.Join(h.Dir, "mirrors") }
func (h Host) mirror(repo string) string { return filepath.Join(h.mirrors(), mirrorName(repo)) }
func (h Host) shared(repo string) string {
	return filepath.Join(h.Dir, "work", "shared", mirrorName(repo))
}
func (h Host) removing(id string) string   { return filepath.Join(h.Dir, "work", ".removing-"+id) }
func (h Host) keeps() string               { return filepath.Join(h.Dir, "checkpoints") }
func (h Host) keep(id, file string) string { return filepath.Join(h.keeps(), id, file) }
func (h Host) recordPath(id string) string { return h.keep(id, "record") }
func (h Host) private(p git.Program, id string) git.Repo {
	return git.Repo{Program: p, Dir: h.keep(id, "git")}
}

// Folders lists the folders that an agent in the workspace needs: the working copy and, for a worktree, the shared
// repository.
func (h Host) Folders(r Record) []string {
	if _, common := h.gitDirs(r); r.Source.Isolation == svc.IsolationWorktree {
		return []string{r.Path, common}
	}
	return []string{r.Path}
}

// Path returns the folder of a workspace. It need not exist.
func (h Host) Path(id string) string { return filepath.Join(h.Dir, "work", id) }

func (h Host) now() svc.Time {
	if h.Now != nil {
		return svc.TimeOf(h.Now())
	}
	return svc.TimeOf(time.Now())
}

// mirrorName returns the folder name of a repository's mirror: readable, and different for every address.
func mirrorName(repo string) string {
	sum := sha256.Sum256([]byte(repo))
	tail := strings.TrimSuffix(path.Base(strings.ReplaceAll(repo, ":", "/")), ".git")
	return svc.Slug(tail) + "-" + hex.EncodeToString(sum[:6])
}

// Step is a step of a workspace's preparation or removal, or of a landing.
type Step string

// The steps, in their order.
const (
	StepFetch    Step = "fetch"
	StepCheckout Step = "checkout"
	StepInclude  Step = "include"
	StepSetup    Step = "setup"
	StepDone     Step = "done"
	StepRemove   Step = "remove" // the folder is moved aside and inspected once more
	StepDelete   Step = "delete"
)

// Record is a host's durable state of a workspace.
type Record struct {
	ID     string     `json:"id"`
	Source svc.Source `json:"source"`
	Branch string     `json:"branch"`
	Path   string     `json:"path"`
	Step   Step       `json:"step"`
	// Handed is true once the preparation was completed. From then on the folder may contain the agent's work.
	Handed bool `json:"handed,omitempty"`
	// SetupDue is true if the setup script was not run yet, although all other steps are done.
	SetupDue bool `json:"setup_due,omitempty"`
	// Error is the reason why the preparation failed; empty: it did not fail. It begins with its kind, as in
	// "setup_failed: exit 1".
	Error         string   `json:"error,omitempty"`
	BaseRef       string   `json:"base_ref,omitempty"`
	BaseCommit    string   `json:"base_commit,omitempty"`
	BaseFetchedAt svc.Time `json:"base_fetched_at,omitempty"`
	// Newest is the newest checkpoint. Before the first it is number 0, the base itself.
	Newest Checkpoint `json:"newest"`
	// Indexed is the tree that the private index has: that of the newest checkpoint or of an earlier one. Empty:
	// unknown.
	Indexed string `json:"indexed,omitempty"`
	// Ignored is the state of the agent's index and exclude rules at the last look for ignored files; see
	// ignoredSeen.
	Ignored string `json:"ignored,omitempty"`
	// Relayed is the number of the newest checkpoint that the orchestrator has acknowledged.
	Relayed int `json:"relayed"`
}

// Ready reports whether the workspace was completely prepared and its removal has not begun.
func (r Record) Ready() bool { return r.Step == StepDone }

// State returns the workspace's state as far as the host alone can determine it.
func (r Record) State() svc.WorkspaceState {
	switch {
	case r.Error != "":
		return svc.WorkspaceFailed
	case r.Step == StepDone, r.Step == StepRemove, r.Step == StepDelete:
		return svc.WorkspaceReady
	default:
		return svc.WorkspacePreparing
	}
}

// Record reads the record of a workspace. The error is ErrUnknown if there is none.
func (h Host) Record(id string) (Record, error) {
	var r Record
	if !svc.IsID(id) {
		return r, fmt.Errorf("workspace %q: %w", id, ErrUnknown)
	}
	err := rundir.ReadRecord(h.recordPath(id), &r)
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("workspace %s: %w", id, ErrUnknown)
	}
	return r, err
}

// Records returns the records of all workspaces of this host. If some cannot be read, it returns the others and an
// error.
func (h Host) Records() ([]Record, error) {
	entries, err := os.ReadDir(h.keeps())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []Record
	var bad []error
	for _, entry := range entries {
		r, err := h.Record(entry.Name())
		switch {
		case errors.Is(err, ErrUnknown):
		case err != nil:
			bad = append(bad, fmt.Errorf("workspace %s: %w", entry.Name(), err))
		default:
			all = append(all, r)
		}
	}
	return all, errors.Join(append(bad, err)...)
}

// startStep records a step. The caller executes it afterwards.
func (h Host) startStep(r *Record, step Step) error {
	r.Step = step
	if err := h.write(*r); err != nil {
		return err
	}
	if h.at != nil {
		h.at(step)
	}
	return nil
}

func (h Host) write(r Record) error { return rundir.WriteRecord(h.recordPath(r.ID), r) }

// gitDirs returns the folders of the agent's repository: dir has its HEAD and index, common its refs and objects.
// Both follow from the record. A .git file in the working copy is not read, because the agent may have changed it.
func (h Host) gitDirs(r Record) (dir, common string) {
	if r.Source.Isolation == svc.IsolationWorktree {
		common = h.shared(r.Source.Repo)
		return filepath.Join(common, "worktrees", r.ID), common
	}
	dir = filepath.Join(r.Path, ".git")
	return dir, dir
}
