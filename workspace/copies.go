package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"svc"
	"svc/git"
)

// makeCopy makes the folder and the agent's repository, with HEAD on the workspace's branch, and returns the path of
// that repository's index. The folder has no files yet.
func (h Host) makeCopy(ctx context.Context, mirror, private git.Repo, r Record) (index string, err error) {
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o700); err != nil {
		return "", fmt.Errorf("make workspace: %w", err)
	}
	if r.Source.Isolation == svc.IsolationWorktree {
		return h.makeWorktree(ctx, mirror, private, r)
	}
	clone, err := h.Git.Clone(ctx, mirror, r.Path, r.Source.Repo)
	if err != nil {
		return "", err
	}
	if err := h.handOver(ctx, private, r, clone.Objects()); err != nil {
		return "", err
	}
	ref := "refs/heads/" + r.Branch
	if err := clone.SetRef(ref, r.Newest.Head); err != nil {
		return "", err
	}
	return filepath.Join(clone.Dir, "index"), clone.SetHead(ref)
}

// handOver copies the commits of a bundle that are not in the mirror to the agent's repository.
func (h Host) handOver(ctx context.Context, private git.Repo, r Record, objects string) error {
	if r.Newest.Head == r.BaseCommit {
		return nil
	}
	return private.Pack(ctx, []string{r.Newest.Head}, []string{r.BaseCommit}, objects)
}

// makeWorktree adds a working tree to the repository that all worktrees of a mirror share. The agents in those
// worktrees can write to that repository, its config included. The few files of a worktree are therefore written
// here, through an os.Root that no link can leave, and git is not executed there.
func (h Host) makeWorktree(ctx context.Context, mirror, private git.Repo, r Record) (index string, err error) {
	shared := h.shared(r.Source.Repo)
	l, err := hold(ctx, shared+".lock")
	if err != nil {
		return "", err
	}
	defer func() { l.release(err) }()
	if err := h.openShared(ctx, mirror, r); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(shared)
	if err != nil {
		return "", fmt.Errorf("make worktree: %w", err)
	}
	defer root.Close()
	if err := plainFolders(root, "objects", "objects/pack"); err != nil {
		return "", err
	}
	if err := h.handOver(ctx, private, r, filepath.Join(shared, "objects")); err != nil {
		return "", err
	}
	admin := "worktrees/" + r.ID
	ref := "refs/heads/" + r.Branch
	for _, file := range []struct{ name, text string }{
		{ref, r.Newest.Head},
		{"refs/remotes/origin/" + r.BaseRef, r.BaseCommit},
		// Locked, so that "git worktree prune" or "remove" in another worktree does not remove this one.
		{admin + "/locked", "svc workspace " + r.ID},
		{admin + "/commondir", "../.."},
		{admin + "/gitdir", filepath.Join(r.Path, ".git")},
		{admin + "/HEAD", "ref: " + ref},
	} {
		if err := writeBelow(root, file.name, file.text+"\n"); err != nil {
			return "", fmt.Errorf("make worktree: %w", err)
		}
	}
	if err := os.Mkdir(r.Path, 0o700); err != nil {
		return "", fmt.Errorf("make worktree: %w", err)
	}
	dir := filepath.Join(shared, filepath.FromSlash(admin))
	if err := os.WriteFile(filepath.Join(r.Path, ".git"), []byte("gitdir: "+dir+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("make worktree: %w", err)
	}
	return filepath.Join(dir, "index"), nil
}

// openShared makes the repository that worktrees share, if it does not exist. It reads the mirror's objects, and its
// remote "origin" is the workspace's repository.
func (h Host) openShared(ctx context.Context, mirror git.Repo, r Record) error {
	dir := h.shared(r.Source.Repo)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	// The repository is built under another name and renamed when it is complete. After that, git is not executed in
	// it.
	building := dir + ".new"
	if err := removeTree(building); err != nil {
		return err
	}
	shared, err := h.Git.Init(ctx, building, git.FormatOf(r.BaseCommit))
	if err != nil {
		return err
	}
	if err := shared.Alternate(mirror.Objects()); err != nil {
		return err
	}
	if err := shared.SetRemote(ctx, "origin", r.Source.Repo); err != nil {
		return err
	}
	if err := os.Rename(building, dir); err != nil {
		return fmt.Errorf("make shared repository: %w", err)
	}
	return nil
}

// unlinkWorktree removes a workspace's files from the shared repository. Its branch stays, because its commits may be
// on no other branch.
func (h Host) unlinkWorktree(r Record) error {
	root, err := os.OpenRoot(h.shared(r.Source.Repo))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove worktree: %w", err)
	}
	defer root.Close()
	if err := root.RemoveAll("worktrees/" + r.ID); err != nil {
		return fmt.Errorf("remove worktree: %w", err)
	}
	return nil
}

// plainFolders returns an error if one of the folders, to which others may write, is a link or a file.
func plainFolders(root *os.Root, names ...string) error {
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil {
			return fmt.Errorf("make worktree: %w", err)
		}
		if !info.IsDir() {
			return fmt.Errorf("make worktree: %s of the shared repository is not a folder", name)
		}
	}
	return nil
}

// writeBelow makes or replaces a file below a root, with its parent folders. An existing file of that name is
// replaced by a rename and not opened: it may be a pipe, which would block.
func writeBelow(root *os.Root, name, text string) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	fresh := "svc-" + svc.NewID()
	f, err := root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(fresh, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(fresh))
	}
	return nil
}

// copyFile copies a file to which no agent can write.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy %s: %w", filepath.Base(from), err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("copy %s: %w", filepath.Base(from), err)
	}
	_, err = io.Copy(target, source)
	if err = errors.Join(err, target.Close()); err != nil {
		return fmt.Errorf("copy %s: %w", filepath.Base(from), err)
	}
	return nil
}
