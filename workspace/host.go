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

// Errors that callers tell apart with errors.Is.
var (
	// ErrUnknown means that there is no record of the workspace on this host.
	ErrUnknown = errors.New("no such workspace on this host")
	// ErrNotReady means that the workspace was never completely prepared, or is being removed.
	ErrNotReady = errors.New("the workspace is not ready")
	// ErrMissing means that the workspace's folder is gone. Its last checkpoint stands.
	ErrMissing = errors.New("the workspace's folder is gone")
	// ErrInUse means that somebody else works on the workspace or its mirror, and did not end in time.
	ErrInUse = errors.New("in use")
)

// Host is a data directory, seen as the place of working copies. Any number of processes may use it at once.
type Host struct {
	Dir string // absolute
	Git git.Program
	// Now is the clock; nil: the system's.
	Now func() time.Time
	// at is called when a step was recorded and is about to be taken; a test ends the process there.
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

// Folders is what an agent in the workspace must see: the working copy, and of a worktree the repository that it belongs to.
func (h Host) Folders(r Record) []string {
	if _, common := h.gitDirs(r); r.Source.Isolation == svc.IsolationWorktree {
		return []string{r.Path, common}
	}
	return []string{r.Path}
}

// Path is the folder of a workspace. It need not exist.
func (h Host) Path(id string) string { return filepath.Join(h.Dir, "work", id) }

func (h Host) now() svc.Time {
	if h.Now != nil {
		return svc.TimeOf(h.Now())
	}
	return svc.TimeOf(time.Now())
}

// mirrorName is the folder of a repository's mirror: readable, and different for every address.
func mirrorName(repo string) string {
	sum := sha256.Sum256([]byte(repo))
	tail := strings.TrimSuffix(path.Base(strings.ReplaceAll(repo, ":", "/")), ".git")
	return svc.Slug(tail) + "-" + hex.EncodeToString(sum[:6])
}

// Step is what a workspace's preparation or removal has got to.
type Step string

// The steps, in their order.
const (
	StepFetch    Step = "fetch"
	StepCheckout Step = "checkout"
	StepInclude  Step = "include"
	StepSetup    Step = "setup"
	StepDone     Step = "done"
	StepRemove   Step = "remove" // out of the way, to be looked at once more
	StepDelete   Step = "delete"
)

// Record is what a host knows of a workspace.
type Record struct {
	ID     string     `json:"id"`
	Source svc.Source `json:"source"`
	Branch string     `json:"branch"`
	Path   string     `json:"path"`
	Step   Step       `json:"step"`
	// Handed tells that the preparation was completed once: from then on what is in the folder is an agent's.
	Handed bool `json:"handed,omitempty"`
	// SetupDue tells that the setup script was not run so far, though the rest was done.
	SetupDue bool `json:"setup_due,omitempty"`
	// Error is why the preparation failed; empty: it did not. It begins with its kind, as in "setup_failed: exit 1".
	Error         string   `json:"error,omitempty"`
	BaseRef       string   `json:"base_ref,omitempty"`
	BaseCommit    string   `json:"base_commit,omitempty"`
	BaseFetchedAt svc.Time `json:"base_fetched_at,omitempty"`
	// Newest is the newest checkpoint. Before the first it is number 0, the base itself.
	Newest Checkpoint `json:"newest"`
	// Indexed is the tree that our own index has: that of the newest checkpoint, or of an earlier one. Empty: it is not known.
	Indexed string `json:"indexed,omitempty"`
	// Ignored is a mark of the agent's index and rules by which ignored files were last told apart.
	Ignored string `json:"ignored,omitempty"`
	// Relayed is the number of the newest checkpoint that the orchestrator has acknowledged.
	Relayed int `json:"relayed"`
}

// Ready tells that the workspace was completely prepared and that its removal has not begun.
func (r Record) Ready() bool { return r.Step == StepDone }

// State is the workspace's state, as far as the host alone can tell it.
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

// Record reads what is known of a workspace. The error is ErrUnknown when there is nothing.
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

// Records lists the workspaces of this host. One whose record cannot be read is an error, after the others.
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

// take records a step before it is taken.
func (h Host) take(r *Record, step Step) error {
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

// gitDirs are the agent's own repository: the folder of its HEAD and index, and that of its refs and objects. They
// are what we made them; what a .git file in the working copy says now is not asked.
func (h Host) gitDirs(r Record) (dir, common string) {
	if r.Source.Isolation == svc.IsolationWorktree {
		common = h.shared(r.Source.Repo)
		return filepath.Join(common, "worktrees", r.ID), common
	}
	dir = filepath.Join(r.Path, ".git")
	return dir, dir
}
