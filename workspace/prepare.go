package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"svc"
	"svc/git"
)

// Order describes a workspace that is to be prepared.
type Order struct {
	ID     string
	Source svc.Source // with its defaults set
	Branch string     // the workspace's branch
	// Bundle is a file with the checkpoint of another workspace at which this one starts. That checkpoint was made on
	// top of the commit BundleBase. Empty: the workspace starts at the base.
	Bundle, BundleBase string
	Needs              []svc.NeededCommit // commits that the base must contain, unless the workspace starts at a checkpoint
	Env                []string           // environment of the setup script
	Out                io.Writer          // receives the output of git and the script; nil: it is dropped
	Tell               func(Step)
	// Run executes the setup script in the way in which sessions are executed; nil: the command is run directly.
	Run func(Record, *exec.Cmd) error
	// NoSetup defers the setup script to the next Prepare. No agent may start in the workspace before that.
	NoSetup bool
}

// Prepare makes the workspace, step by step. A workspace that is ready is returned unchanged. A preparation that was
// interrupted or failed is started again from the beginning. A *Failure means that the workspace could not be made,
// and is recorded. After any other error Prepare may be called again.
func (h Host) Prepare(ctx context.Context, o Order) (r Record, err error) {
	if err := o.Source.Validate(); err != nil {
		return Record{}, err
	}
	if !svc.IsID(o.ID) {
		return Record{}, fmt.Errorf("prepare workspace %q: %w", o.ID, ErrUnknown)
	}
	l, err := hold(ctx, h.keep(o.ID, "lock"))
	if err != nil {
		return Record{}, err
	}
	defer func() { l.release(err) }()
	h.Git = l.under(h.Git)
	if l.interrupted {
		if err := h.recover(o.ID); err != nil {
			return Record{}, err
		}
	}
	if r, err = h.begin(ctx, o); err != nil || r.Ready() && (!r.SetupDue || o.NoSetup) {
		return r, err
	}
	if r.Ready() {
		err = h.lateSetup(ctx, o, &r)
	} else {
		err = h.steps(ctx, o, &r)
	}
	var failure *Failure
	if errors.As(err, &failure) && ctx.Err() == nil {
		r.Error = failure.Error()
		err = errors.Join(err, h.write(r))
	}
	return r, err
}

// lateSetup runs the deferred setup of a workspace. The content of the folder stays, whatever the result.
func (h Host) lateSetup(ctx context.Context, o Order, r *Record) error {
	if o.Tell != nil {
		o.Tell(StepSetup)
	}
	if err := h.stepSetup(ctx, o, r); err != nil {
		return err
	}
	r.SetupDue, r.Error = false, ""
	return h.write(*r)
}

// begin returns the record of a workspace that is ready. Otherwise it removes what an earlier preparation has left
// and returns a new record.
func (h Host) begin(ctx context.Context, o Order) (Record, error) {
	fresh := Record{ID: o.ID, Source: o.Source, Branch: o.Branch, Path: h.Path(o.ID)}
	r, err := h.Record(o.ID)
	switch {
	case errors.Is(err, ErrUnknown):
		if _, err := os.Lstat(fresh.Path); !errors.Is(err, fs.ErrNotExist) {
			return Record{}, fmt.Errorf("prepare workspace: %s exists and was not made by svc", fresh.Path)
		}
		return fresh, nil
	case err != nil:
		return Record{}, err
	case r.Step == StepRemove, r.Step == StepDelete:
		return r, fmt.Errorf("prepare workspace: its removal has begun: %w", ErrNotReady)
	case r.Ready():
		return r, checkFolder(r.Path)
	}
	busy, err := processInside(ctx, r.Path)
	if err == nil && busy {
		err = fmt.Errorf("a process of an earlier preparation still works in %s: %w", r.Path, ErrInUse)
	}
	if err != nil {
		return r, err
	}
	return fresh, h.erase(r)
}

// erase removes the folder of a workspace and everything that eraseKept removes.
func (h Host) erase(r Record) error {
	if err := removeTree(r.Path); err != nil {
		return err
	}
	return h.eraseKept(r)
}

// eraseKept removes what is stored for a workspace outside its folder, except record and lock.
func (h Host) eraseKept(r Record) error {
	if r.Source.Isolation == svc.IsolationWorktree {
		if err := h.unlinkWorktree(r); err != nil {
			return err
		}
	}
	for _, name := range []string{"git", "index", "out"} {
		if err := removeTree(h.keep(r.ID, name)); err != nil {
			return err
		}
	}
	return nil
}

func (h Host) steps(ctx context.Context, o Order, r *Record) error {
	for _, step := range []struct {
		name Step
		do   func(context.Context, Order, *Record) error
	}{
		{StepFetch, h.stepFetch}, {StepCheckout, h.stepCheckout}, {StepInclude, h.stepInclude}, {StepSetup, h.stepSetup},
	} {
		if err := h.startStep(r, step.name); err != nil {
			return err
		}
		if o.Tell != nil {
			o.Tell(step.name)
		}
		if err := step.do(ctx, o, r); err != nil {
			return err
		}
	}
	r.Handed = true
	return h.startStep(r, StepDone)
}

func (h Host) stepFetch(ctx context.Context, o Order, r *Record) error {
	from, err := h.fetch(ctx, o.Source, o.Out)
	if err != nil {
		return err
	}
	r.BaseRef, r.BaseCommit, r.BaseFetchedAt = from.ref, from.commit, from.fetchedAt
	if o.Bundle == "" {
		return h.checkNeeds(ctx, o, r.BaseCommit)
	}
	if !git.IsOID(o.BundleBase) { // another host has sent it: git could take any other text for an option
		return unavailable(fmt.Errorf("%.100q is not the name of a commit", o.BundleBase))
	}
	r.BaseCommit = o.BundleBase
	return h.fetchCommit(ctx, o.Source.Repo, o.BundleBase, o.Out)
}

// checkNeeds returns a *Failure if the base does not contain a commit that the task builds on: a work item may be
// done and not yet landed there.
func (h Host) checkNeeds(ctx context.Context, o Order, base string) error {
	mirror := git.Repo{Program: h.Git, Dir: h.mirror(o.Source.Repo)}
	for _, n := range o.Needs {
		has := false
		if _, err := mirror.Commit(ctx, n.Commit); err == nil {
			if has, err = mirror.Contains(ctx, base, n.Commit); err != nil {
				return err
			}
		}
		if !has {
			return &Failure{svc.BaseLacks, fmt.Errorf("%s of %s", n.Commit, n.Title)}
		}
	}
	return nil
}

// fetchCommit ensures that the mirror has a commit, which may no longer be on any branch.
func (h Host) fetchCommit(ctx context.Context, repo, commit string, out io.Writer) (err error) {
	l, err := hold(ctx, h.mirror(repo)+".lock")
	if err != nil {
		return err
	}
	defer func() { l.release(err) }()
	mirror := git.Repo{Program: l.under(h.Git), Dir: h.mirror(repo)}
	if _, err := mirror.Commit(ctx, commit); err == nil {
		return nil
	}
	if err := mirror.Fetch(ctx, repo, []string{commit}, out); err != nil {
		return unavailable(err)
	}
	return nil
}

// stepCheckout makes the private repository and the agent's repository, and writes the files of the folder.
func (h Host) stepCheckout(ctx context.Context, o Order, r *Record) error {
	mirror := git.Repo{Program: h.Git, Dir: h.mirror(o.Source.Repo)}
	private, err := h.Git.Init(ctx, h.keep(r.ID, "git"), git.FormatOf(r.BaseCommit))
	if err != nil {
		return err
	}
	if err := private.Alternate(mirror.Objects()); err != nil {
		return err
	}
	if r.Newest, err = h.startingPoint(ctx, private, o, *r); err != nil {
		return err
	}
	r.Relayed, r.Indexed = r.Newest.Number, r.Newest.Tree
	if err := private.SetRef(headRef, r.Newest.Commit); err != nil {
		return err
	}
	index, err := h.makeCopy(ctx, mirror, private, *r)
	if err != nil {
		return err
	}
	theirs := git.Tree{Repo: private, Root: r.Path, Index: index}
	if err := theirs.Checkout(ctx, r.Newest.Head); err != nil {
		return err
	}
	if err := copyFile(index, h.keep(r.ID, "index")); err != nil {
		return err
	}
	if r.Newest.Number == 0 {
		return nil
	}
	return h.tree(private, *r).Checkout(ctx, r.Newest.Commit)
}

// startingPoint returns the checkpoint at which a workspace starts: the base, as number 0, or the checkpoint in the
// bundle.
func (h Host) startingPoint(ctx context.Context, private git.Repo, o Order, r Record) (Checkpoint, error) {
	at := Checkpoint{Commit: r.BaseCommit, Head: r.BaseCommit}
	if o.Bundle != "" {
		refs, err := private.Unbundle(ctx, o.Bundle)
		if err != nil {
			return Checkpoint{}, err
		}
		if at, err = bundledCheckpoint(refs); err != nil {
			return Checkpoint{}, err
		}
		if at.Head, err = private.Commit(ctx, at.Commit+"^"); err != nil {
			return Checkpoint{}, err
		}
		if err := private.SetRef(checkpointRef(at.Number), at.Commit); err != nil {
			return Checkpoint{}, err
		}
	}
	var err error
	at.Tree, err = private.TreeOf(ctx, at.Commit)
	return at, err
}

// Exists returns nil if a workspace's folder exists, and ErrMissing if it is gone.
func (h Host) Exists(id string) error { return checkFolder(h.Path(id)) }

// checkFolder returns nil if path is a folder, and ErrMissing if it is gone or, for example, a link.
func checkFolder(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.IsDir():
		return fmt.Errorf("%s: %w", filepath.Base(path), ErrMissing)
	case err != nil:
		return fmt.Errorf("inspect workspace: %w", err)
	}
	return nil
}
