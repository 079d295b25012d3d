package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"svc/git"
)

// includeFile is a file with patterns in the syntax of .gitignore. Ignored files that match are copied from the
// folder of the repository into a new working copy.
const includeFile = ".worktreeinclude"

// stepInclude copies the ignored files, such as .env, that match the repository's .worktreeinclude. It does so only
// if the repository is a folder of this host. It reads and writes nothing outside the two folders, and it does not
// replace existing files.
func (h Host) stepInclude(ctx context.Context, o Order, r *Record) error {
	if !o.Source.IsPath() {
		return nil
	}
	patterns := filepath.Join(o.Source.Repo, includeFile)
	if info, err := os.Lstat(patterns); err != nil || !info.Mode().IsRegular() {
		return nil // a bare repository, or no such file
	}
	// The private repository determines which files are tracked: those that the base has.
	tree := git.Tree{Repo: h.private(h.Git, r.ID), Root: o.Source.Repo, Index: h.keep(r.ID, "include.index")}
	defer os.Remove(tree.Index)
	if err := tree.Read(ctx, r.BaseCommit); err != nil {
		return err
	}
	names, err := tree.Ignored(ctx, patterns)
	if err != nil {
		return err
	}
	return copyAll(ctx, o.Source.Repo, r.Path, names)
}

func copyAll(ctx context.Context, from, to string, names []string) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return fmt.Errorf("copy ignored files: %w", err)
	}
	defer source.Close()
	target, err := os.OpenRoot(to)
	if err != nil {
		return fmt.Errorf("copy ignored files: %w", err)
	}
	defer target.Close()
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyOne(source, target, name); err != nil {
			return fmt.Errorf("copy ignored file %q: %w", name, err)
		}
	}
	return nil
}

// copyOne copies a regular file with its mode, or a link that stays inside the folder. Anything else is skipped.
func copyOne(source, target *os.Root, name string) error {
	info, err := source.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	if err := target.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch {
	case info.Mode().IsRegular():
		return copyPlain(source, target, name, info.Mode().Perm())
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := source.Readlink(name)
		if err != nil || filepath.IsAbs(link) || !filepath.IsLocal(filepath.Join(filepath.Dir(name), link)) {
			return err
		}
		return present(target.Symlink(link, name))
	}
	return nil
}

func copyPlain(source, target *os.Root, name string, mode fs.FileMode) error {
	in, err := source.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := target.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return present(err)
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// present returns nil if the error means that the file exists already, and the error otherwise.
func present(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
