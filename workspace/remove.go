package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"svc"
	"svc/git"
)

// NotSafe says why a workspace was not removed.
type NotSafe struct{ Reasons []svc.UnsafeReason }

func (e *NotSafe) Error() string {
	return fmt.Sprintf("the workspace is not safe to remove: %q", e.Reasons)
}

// Parting is what the caller knows of a workspace that shall be removed.
type Parting struct {
	Run    bool   // a run is active in it
	Landed int    // the number of the checkpoint that was landed; 0: none
	GiveUp string // the tree that a person has named to be given up; empty: none
}

// Remove takes a workspace away with everything that is kept of it on this host, if nothing is lost by that: else the error
// is *NotSafe. What cannot be inspected stays. A removal that was cut off is completed by calling it again.
func (h Host) Remove(ctx context.Context, id string, p Parting) (err error) {
	l, r, err := h.open(ctx, id)
	if err != nil {
		return err
	}
	defer func() { l.release(err) }()
	h.Git = l.under(h.Git)
	if r.Step != StepRemove && r.Step != StepDelete {
		facts := h.inspect(ctx, &r, p)
		if reasons := facts.Unsafe(); len(reasons) > 0 {
			return &NotSafe{reasons}
		}
		if err := h.take(&r, StepRemove); err != nil {
			return err
		}
	}
	if r.Step == StepRemove {
		if err := h.moveAside(ctx, r); err != nil {
			return err
		}
		if err := h.take(&r, StepDelete); err != nil {
			return err
		}
	}
	return h.delete(r)
}

// inspect looks at everything that could speak against a removal.
func (h Host) inspect(ctx context.Context, r *Record, p Parting) svc.Removal {
	facts := svc.Removal{Run: p.Run, GiveUp: p.GiveUp}
	busy, err := processInside(ctx, r.Path)
	facts.Process = busy
	if err != nil {
		return facts
	}
	if !r.Handed {
		facts.Inspected, facts.Relayed = true, true
		return facts
	}
	_, err = h.checkpoint(ctx, r, true) // what is moved aside is compared with the index
	switch {
	case errors.Is(err, ErrMissing):
		facts.Inspected = true // the last checkpoint is all there is
	case err == nil:
		facts.Inspected = r.Newest.Warnings == "" && h.noSubmodules(ctx, *r)
	}
	facts.Tree = r.Newest.Tree
	facts.Relayed = r.Relayed >= r.Newest.Number
	facts.Landed = p.Landed > 0 && p.Landed == r.Newest.Number
	return facts
}

// noSubmodules tells that no submodule has files: a checkpoint names only the commit that one is at.
func (h Host) noSubmodules(ctx context.Context, r Record) bool {
	paths, err := h.tree(h.private(h.Git, r.ID), r).Submodules(ctx)
	if err != nil {
		return false
	}
	for _, path := range paths {
		entries, err := os.ReadDir(filepath.Join(r.Path, path))
		if len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// moveAside moves the folder out of everybody's way and looks once more whether it is what was inspected. If somebody wrote
// to it meanwhile, it goes back to where it was.
func (h Host) moveAside(ctx context.Context, r Record) error {
	aside := h.removing(r.ID)
	if err := os.Rename(r.Path, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove workspace: %w", err)
	}
	if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) || !r.Handed {
		return nil // it was missing, or nothing in it is an agent's
	}
	seen, err := git.Tree{Repo: h.private(h.Git, r.ID), Root: aside, Index: h.keep(r.ID, "index")}.Status(ctx)
	if err == nil && seen.Empty() && seen.Warnings == "" {
		return nil
	}
	if back := os.Rename(aside, r.Path); back != nil {
		return fmt.Errorf("put workspace back: %w", back)
	}
	if back := h.take(&r, StepDone); back != nil {
		return back
	}
	if err != nil {
		return err
	}
	return &NotSafe{[]svc.UnsafeReason{svc.UnsafeUnknown}}
}

// delete takes away the folder and what is kept of it. The record goes last, and with it the lock's file: whoever waits
// for that finds no record behind it.
func (h Host) delete(r Record) error {
	if err := removeTree(h.removing(r.ID)); err != nil {
		return err
	}
	if err := h.eraseKept(r); err != nil { // what somebody puts at its path from now on is not ours
		return err
	}
	if err := os.Remove(h.recordPath(r.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove workspace: %w", err)
	}
	return removeTree(h.keep(r.ID, ""))
}

// removeTree deletes a folder with all that is in it, also when permissions inside forbid it. Links are deleted, not
// followed.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("remove %s: %w", filepath.Base(path), err)
	}
	if err := openUp(path); err != nil {
		return fmt.Errorf("remove %s: %w", filepath.Base(path), err)
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove %s: %w", filepath.Base(path), err)
	}
	return nil
}

// openUp makes every folder below path, and itself, writable for the owner.
func openUp(path string) error {
	if err := os.Chmod(path, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || name == "." {
			return err
		}
		return root.Chmod(name, 0o700) // before it is read
	})
}
