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

// NotSafe is the error if a workspace was not removed because something could be lost.
type NotSafe struct{ Reasons []svc.UnsafeReason }

func (e *NotSafe) Error() string {
	return fmt.Sprintf("the workspace is not safe to remove: %q", e.Reasons)
}

// Parting is what the caller contributes to the decision whether a workspace is safe to remove.
type Parting struct {
	Run    bool   // a run is active in the workspace
	Landed int    // the number of the checkpoint that was landed; 0: none
	GiveUp string // the tree that a person has agreed to lose; empty: none
}

// Remove removes a workspace and everything that this host stores for it, if nothing is lost by that. Otherwise the
// error is *NotSafe. A workspace that cannot be inspected is not removed. A removal that was interrupted is completed
// by another call.
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
		if err := h.startStep(&r, StepRemove); err != nil {
			return err
		}
	}
	if r.Step == StepRemove {
		if err := h.moveAside(ctx, r); err != nil {
			return err
		}
		if err := h.startStep(&r, StepDelete); err != nil {
			return err
		}
	}
	return h.delete(r)
}

// inspect collects the facts that decide whether a removal is safe.
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
	_, err = h.checkpoint(ctx, r, true) // moveAside compares the folder with the index
	switch {
	case errors.Is(err, ErrMissing):
		facts.Inspected = true // only the newest checkpoint exists
	case err == nil:
		facts.Inspected = r.Newest.Warnings == "" && h.noSubmodules(ctx, *r)
	}
	facts.Tree = r.Newest.Tree
	facts.Relayed = r.Relayed >= r.Newest.Number
	facts.Landed = p.Landed > 0 && p.Landed == r.Newest.Number
	return facts
}

// noSubmodules reports whether no submodule has files. A checkpoint stores only the commit that a submodule is at, so
// files of a submodule would be lost.
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

// moveAside renames the folder, so that no process finds it at its path, and checks once more that it is unchanged
// since the inspection. If it was changed meanwhile, moveAside renames it back.
func (h Host) moveAside(ctx context.Context, r Record) error {
	aside := h.removing(r.ID)
	if err := os.Rename(r.Path, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove workspace: %w", err)
	}
	if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) || !r.Handed {
		return nil // the folder was missing, or no agent has worked in it
	}
	seen, err := git.Tree{Repo: h.private(h.Git, r.ID), Root: aside, Index: h.keep(r.ID, "index")}.Status(ctx)
	if err == nil && seen.Empty() && seen.Warnings == "" {
		return nil
	}
	if back := os.Rename(aside, r.Path); back != nil {
		return fmt.Errorf("move workspace back: %w", back)
	}
	if back := h.startStep(&r, StepDone); back != nil {
		return back
	}
	if err != nil {
		return err
	}
	return &NotSafe{[]svc.UnsafeReason{svc.UnsafeUnknown}}
}

// delete removes the folder and everything stored for the workspace. The record goes last, and the lock's file with
// it: a process that waits for the lock then finds no record.
func (h Host) delete(r Record) error {
	if err := removeTree(h.removing(r.ID)); err != nil {
		return err
	}
	if err := h.eraseKept(r); err != nil { // not erase: a folder that is now at the workspace's path was made by others
		return err
	}
	if err := os.Remove(h.recordPath(r.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove workspace: %w", err)
	}
	return removeTree(h.keep(r.ID, ""))
}

// removeTree deletes a folder with its content, even if permissions inside forbid it. Links are deleted, not
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

// openUp makes path, and every folder below it, writable for the owner.
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
		return root.Chmod(name, 0o700) // WalkDir reads the folder afterwards
	})
}
