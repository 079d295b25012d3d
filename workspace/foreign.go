package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"svc/git"
)

// importWithin bounds the time to copy the agent's commits. The agent's repository may contain a file that blocks the
// reader, such as a pipe.
const importWithin = 2 * time.Minute

// importHead copies the agent's commits into the private repository and returns the commit that the agent's HEAD
// names. If HEAD cannot be read, or the commits cannot be copied, it returns the HEAD of the newest checkpoint, so
// that at least the files are kept.
func (h Host) importHead(ctx context.Context, private git.Repo, r Record) string {
	dir, common := h.gitDirs(r)
	head, err := git.ReadHead(dir, common)
	if err != nil || head.OID == "" || len(head.OID) != len(r.Newest.Head) {
		return r.Newest.Head
	}
	if head.OID == r.Newest.Head {
		return head.OID
	}
	ctx, cancel := context.WithTimeout(ctx, importWithin)
	defer cancel()
	objects := filepath.Join(common, "objects")
	known := []string{r.BaseCommit, r.Newest.Commit}
	if err := private.Borrowing(objects).Import(ctx, []string{head.OID}, known); err != nil {
		return r.Newest.Head
	}
	if oid, err := private.Commit(ctx, head.OID); err != nil || oid != head.OID {
		return r.Newest.Head
	}
	return head.OID
}

// maxForeignFile bounds the bytes that are copied of one file of the agent's repository. It is enough for an index of
// a million files.
const maxForeignFile = 256 << 20

// conflicts lists the paths that an unfinished operation has left unresolved. It reads a copy of the agent's index.
// Nil: no conflicts, or they cannot be read.
func (h Host) conflicts(ctx context.Context, private git.Repo, r Record) []string {
	dir, _ := h.gitDirs(r)
	if !git.InOperation(dir) {
		return nil
	}
	index := h.keep(r.ID, "conflicts.index")
	defer os.Remove(index)
	if err := copyForeign(dir, "index", index); err != nil {
		return nil
	}
	paths, err := git.Tree{Repo: private, Root: r.Path, Index: index}.Unmerged(ctx)
	if err != nil {
		return nil
	}
	return paths
}

// copyExcludes copies the agent's info/exclude, which has ignore rules besides the .gitignore files, into the private
// repository.
func (h Host) copyExcludes(r Record) error {
	_, common := h.gitDirs(r)
	ours := filepath.Join(h.keep(r.ID, "git"), "info", "exclude")
	if err := os.MkdirAll(filepath.Dir(ours), 0o700); err != nil {
		return fmt.Errorf("copy excludes: %w", err)
	}
	if err := copyForeign(common, "info/exclude", ours); err == nil {
		return nil
	}
	if err := os.Remove(ours); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("copy excludes: %w", err)
	}
	return nil
}

// copyForeign copies a regular file out of a folder to which others may write.
func copyForeign(dir, name, to string) error {
	from, err := git.OpenPlain(dir, name)
	if err != nil {
		return err
	}
	defer from.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, io.LimitReader(from, maxForeignFile))
	return errors.Join(err, target.Close())
}
