package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"svc"
	"svc/git"
)

// Checkpoint is a commit of everything in a workspace's folder that is not ignored.
type Checkpoint struct {
	Number int    `json:"number"` // 0: the base itself
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
	// Head is the commit that the agent's HEAD named. It is the checkpoint's parent.
	Head string   `json:"head"`
	At   svc.Time `json:"at,omitempty"`
	// Warnings describes what could not be read or stored. Empty: the checkpoint is complete.
	Warnings string `json:"warnings,omitempty"`
	// Conflicts lists the paths that an unfinished merge or rebase has left unresolved.
	Conflicts []string `json:"conflicts,omitempty"`
}

// headRef is the ref that HEAD of the private repository names. When it is set, it names a commit with the same tree
// as the private index, so that git status has no difference between HEAD and the index to report. Nothing else
// depends on it.
const headRef = "refs/heads/main"

func checkpointRef(number int) string { return "refs/svc/" + strconv.Itoa(number) }

// author is the author and committer of checkpoints.
var author = git.Identity{Name: "svc", Email: "svc@localhost"}

// Checkpoint stores the current content of the workspace and reports whether that made a new checkpoint. It makes
// none if tree and HEAD are the same as in the newest checkpoint. The error is ErrMissing if the folder is gone; the
// newest checkpoint remains.
func (h Host) Checkpoint(ctx context.Context, id string) (c Checkpoint, made bool, err error) {
	l, r, err := h.open(ctx, id)
	if err != nil {
		return Checkpoint{}, false, err
	}
	defer func() { l.release(err) }()
	h.Git = l.under(h.Git)
	if !r.Ready() {
		return Checkpoint{}, false, fmt.Errorf("checkpoint workspace %s: %w", id, ErrNotReady)
	}
	made, err = h.checkpoint(ctx, &r, l.interrupted)
	return r.Newest, made, err
}

// open acquires a workspace's lock, repairs what a killed process has left, and reads the record.
func (h Host) open(ctx context.Context, id string) (*lock, Record, error) {
	if _, err := h.Record(id); err != nil { // hold would create a folder for an unknown id
		return nil, Record{}, err
	}
	l, err := hold(ctx, h.keep(id, "lock"))
	if err != nil {
		return nil, Record{}, err
	}
	r, err := h.Record(id)
	if err == nil && l.interrupted {
		err = h.recover(id)
	}
	if err != nil {
		l.release(err)
		return nil, Record{}, err
	}
	return l, r, nil
}

func (h Host) recover(id string) error {
	for _, name := range []string{"index.lock", "index.anew.lock", "git/info/attributes"} {
		if err := os.Remove(h.keep(id, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("recover workspace: %w", err)
		}
	}
	return h.private(h.Git, id).Recover()
}

// tree returns the workspace's folder as a git.Tree with the private repository and the private index.
func (h Host) tree(private git.Repo, r Record) git.Tree {
	return git.Tree{Repo: private, Root: r.Path, Index: h.keep(r.ID, "index"), Split: true}
}

// checkpoint makes a checkpoint if tree or HEAD has changed, and records it. If whole is true, the private index has
// the tree of the checkpoint afterwards. whole must be true after a holder of the lock was killed, because the
// content of the index is then unknown.
func (h Host) checkpoint(ctx context.Context, r *Record, whole bool) (made bool, err error) {
	if err := checkFolder(r.Path); err != nil {
		return false, err
	}
	defer h.unblockPipes(ctx, *r)()
	private, objects := h.private(h.Git, r.ID).Gather()
	defer func() { err = errors.Join(err, objects.Close()) }()
	tree := h.tree(private, *r)
	if err := h.copyExcludes(*r); err != nil {
		return false, err
	}
	ignored, indexed := r.Ignored, r.Indexed
	next, err := h.collect(ctx, tree, r, whole)
	if err != nil {
		return false, err
	}
	next.Head = h.importHead(ctx, private, *r)
	next.Conflicts = h.conflicts(ctx, private, *r)
	if next.Tree == r.Newest.Tree && next.Head == r.Newest.Head {
		// Nothing has changed. The warnings are those of this pass, not of the previous one.
		r.Newest.Warnings, r.Newest.Conflicts = next.Warnings, next.Conflicts
		if r.Ignored == ignored && r.Indexed == indexed {
			return false, nil
		}
	} else {
		made = true
		next.Number, next.At = r.Newest.Number+1, h.now()
		by := author
		by.Unix = next.At.Std().Unix()
		message := fmt.Sprintf("checkpoint %d of workspace %s\n", next.Number, r.ID)
		if next.Commit, err = private.NewCommit(next.Tree, []string{next.Head}, by, message); err != nil {
			return false, err
		}
		r.Newest = next
	}
	// The objects are stored before the record is written, and the record before the ref. If the ref is missing after a
	// crash, Export sets it from the record.
	if err := objects.Flush(); err != nil {
		return false, err
	}
	if err := h.write(*r); err != nil {
		return false, err
	}
	if r.Indexed == r.Newest.Tree {
		if err := private.SetRef(headRef, r.Newest.Commit); err != nil {
			return made, err
		}
	}
	if !made {
		return false, nil
	}
	return true, private.SetRef(checkpointRef(next.Number), next.Commit)
}

// bundledCheckpoint returns the checkpoint that one of a bundle's refs names.
func bundledCheckpoint(refs []git.Ref) (Checkpoint, error) {
	for _, ref := range refs {
		digits, ok := strings.CutPrefix(ref.Name, "refs/svc/")
		if number, err := strconv.Atoi(digits); ok && err == nil && number > 0 {
			return Checkpoint{Number: number, Commit: ref.OID}, nil
		}
	}
	return Checkpoint{}, errors.New("the bundle has no checkpoint")
}
