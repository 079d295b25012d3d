package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"svc"
	"svc/git"
)

// checkoutInUse is the error if a branch of a repository on this host was not moved because its checkout is in use or
// has changes.
type checkoutInUse struct{ root, why string }

func (e *checkoutInUse) Error() string {
	return fmt.Sprintf("the branch is checked out in %s, %s", e.root, e.why)
}

// swap moves a branch of a repository that is a folder of this host. It writes the objects first. Then, under git's
// own locks, it updates the files of the branch's clean checkout, if there is one. The ref is last. Others may write
// the repository's config and hooks; git is therefore not executed with them.
func (h Host) swap(ctx context.Context, private git.Repo, r Record, o svc.LandOrder, t try) (err error) {
	f, err := git.FindForeign(r.Source.Repo)
	if err != nil {
		return err
	}
	if err := h.copyObjects(ctx, private, r, f, t.Commit); err != nil {
		return err
	}
	ref := "refs/heads/" + o.Into
	s, err := f.Begin(o.ID, ref, t.Tip, t.Commit)
	if err != nil {
		return err
	}
	checkouts, err := f.Checkouts(ref)
	if err == nil && len(checkouts) > 1 {
		err = &checkoutInUse{checkouts[0].Root, "and elsewhere"}
	}
	if err == nil && len(checkouts) == 1 {
		err = h.updateCheckout(ctx, private, r.ID, s, checkouts[0], t)
	}
	if err != nil {
		return errors.Join(err, s.Abandon())
	}
	by := committer
	by.Unix = o.At.Std().Unix()
	return s.Commit(t.Tip, by, "svc: "+string(o.How)+" checkpoint")
}

// copyObjects copies a commit's objects into a repository that has the objects of the mirror's branches already.
func (h Host) copyObjects(ctx context.Context, private git.Repo, r Record, f git.Foreign, commit string) error {
	root, err := os.OpenRoot(f.Common)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := plainFolders(root, "objects", "objects/pack"); err != nil {
		return err
	}
	refs, err := git.Repo{Program: h.Git, Dir: h.mirror(r.Source.Repo)}.Refs(ctx, "refs/heads/")
	if err != nil {
		return err
	}
	var has []string
	for _, ref := range refs {
		has = append(has, ref.OID)
	}
	return private.Pack(ctx, []string{commit}, has, filepath.Join(f.Common, "objects"))
}

// releaseLocks releases the locks that an interrupted landing has left in a repository of this host.
func (h Host) releaseLocks(r Record, o svc.LandOrder) error {
	if !r.Source.IsPath() {
		return nil
	}
	f, err := git.FindForeign(r.Source.Repo)
	if err != nil {
		return err
	}
	return f.Abandon(o.ID, "refs/heads/"+o.Into)
}

// updateCheckout updates a clean checkout from the branch's tip to the new commit. It replaces the index last: if the
// index has the new tree, the update is complete.
func (h Host) updateCheckout(ctx context.Context, private git.Repo, id string, s *git.Swap, c git.Checkout, t try) error {
	if git.InOperation(c.Dir) {
		return &checkoutInUse{c.Root, "where a merge or rebase is under way"}
	}
	if err := s.LockIndex(c); err != nil {
		return err
	}
	tree := git.Tree{Repo: private, Root: c.Root, Index: h.keep(id, "checkout.index")}
	defer os.Remove(tree.Index)
	if err := copyForeign(c.Dir, "index", tree.Index); err != nil {
		return err
	}
	done, err := h.checkUpdatable(ctx, tree, c, t)
	if err != nil || done {
		return err
	}
	if err := tree.Checkout(ctx, t.Commit); err != nil {
		return errors.Join(err, resetCheckout(tree, t))
	}
	if err := s.PutIndex(c, tree.Index); err != nil {
		return errors.Join(err, resetCheckout(tree, t))
	}
	return nil
}

// resetCheckout resets the files to the tip after an incomplete update. It ignores the end of the caller's context.
func resetCheckout(tree git.Tree, t try) error {
	ctx := context.Background()
	if err := tree.Read(ctx, t.Commit); err != nil { // so that git removes the files that only the commit has
		return err
	}
	return tree.Checkout(ctx, t.Tip)
}

// checkUpdatable checks that a checkout can be updated to a commit without loss: every file is as in the tip or,
// after an interrupted landing, as in the commit. done reports that the checkout is at the commit already.
func (h Host) checkUpdatable(ctx context.Context, tree git.Tree, c git.Checkout, t try) (done bool, err error) {
	busy := func(format string, args ...any) error { return &checkoutInUse{c.Root, fmt.Sprintf(format, args...)} }
	index, err := tree.IndexTree(ctx)
	if err != nil {
		return false, busy("whose index cannot be read: %s", reason(err))
	}
	before, err1 := tree.TreeOf(ctx, t.Tip)
	after, err2 := tree.TreeOf(ctx, t.Commit)
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	if index != before && index != after {
		return false, busy("which has staged changes")
	}
	switch flagged, err := tree.Flagged(ctx); {
	case err != nil:
		return false, err
	case flagged:
		return false, busy("which has files with the flag assume-unchanged or skip-worktree")
	}
	changes, err := tree.Status(ctx)
	if err != nil || changes.Warnings != "" {
		return false, busy("which git cannot read completely: %s", plain(changes.Warnings+text(err)))
	}
	changed := append(changes.Changed, changes.Removed...)
	if index == after {
		if len(changed) > 0 {
			return false, busy("where %s was changed and not committed", plain(changed[0]))
		}
		return true, nil
	}
	touched, err := tree.Touched(ctx, t.Tip, t.Commit)
	if err != nil {
		return false, err
	}
	switch filtered, err := tree.Filtered(ctx, touched.All); {
	case err != nil:
		return false, err
	case len(filtered) > 0:
		return false, busy("where a program converts files such as %s, which svc does not run", plain(filtered[0]))
	}
	added, err1 := existing(c.Root, touched.Added)
	kept, err2 := existing(c.Root, touched.Removed)
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	for _, path := range changed {
		if slices.Contains(kept, path) {
			return false, busy("where %s was changed and not committed", plain(path))
		}
	}
	if path, err := h.firstDifferent(ctx, tree, t.Commit, append(changed, added...)); err != nil || path != "" {
		return false, errors.Join(err, busy("where %s was changed and not committed", plain(path)))
	}
	return false, nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return reason(err)
}

// firstDifferent returns one of the paths whose file in the folder differs from the commit; empty: none.
func (h Host) firstDifferent(ctx context.Context, tree git.Tree, commit string, paths []string) (string, error) {
	if len(paths) == 0 {
		return "", nil
	}
	tree.Index += ".after"
	defer os.Remove(tree.Index)
	if err := tree.Read(ctx, commit); err != nil {
		return "", err
	}
	seen, err := tree.Status(ctx)
	if err != nil {
		return "", err
	}
	for _, path := range append(seen.Changed, seen.Removed...) {
		if slices.Contains(paths, path) {
			return path, nil
		}
	}
	return "", nil
}

// existing returns the paths at which the folder has something, or of which a parent is a file.
func existing(dir string, paths []string) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var found []string
	for _, path := range paths {
		if _, err := root.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			found = append(found, path)
		}
	}
	return found, nil
}
