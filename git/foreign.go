package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Foreign is a repository on this machine that others own and may write to. It is read and written as files, by git's
// own rules (objects before refs, lock files). Git is not executed with its config, and none of its hooks runs.
type Foreign struct {
	Dir    string // the folder of HEAD and the index
	Common string // the folder of refs and objects; the same as Dir, unless this is a linked working tree
	Root   string // the folder with the files; empty: a bare repository
}

// Checkout is a working tree of a repository.
type Checkout struct {
	Root string // the folder with the files
	Dir  string // the folder of its HEAD and index
}

// Errors that callers distinguish with errors.Is.
var (
	// ErrMoved means that a ref does not name the expected commit.
	ErrMoved = errors.New("the branch has moved")
	// ErrLocked means that another git process holds the lock, or was killed while it held it.
	ErrLocked = errors.New("another git process holds the lock, or was killed while it held it")
)

// FindForeign returns the repository at a path: a folder that was made by git init, clone or worktree add, or a bare
// repository.
func FindForeign(path string) (Foreign, error) {
	dot := filepath.Join(path, ".git")
	info, err := os.Stat(dot)
	switch {
	case err == nil && info.IsDir():
		return Foreign{Dir: dot, Common: dot, Root: path}, nil
	case err == nil:
		return linked(path)
	case !errors.Is(err, fs.ErrNotExist):
		return Foreign{}, fmt.Errorf("find repository: %w", err)
	}
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(path, name)); err != nil {
			return Foreign{}, fmt.Errorf("find repository: %s is not a git repository", path)
		}
	}
	return Foreign{Dir: path, Common: path}, nil
}

// linked follows the .git file of a linked working tree or a submodule.
func linked(root string) (Foreign, error) {
	text, err := readText(root, ".git")
	dir, ok := strings.CutPrefix(text, "gitdir: ")
	if err != nil || !ok {
		return Foreign{}, fmt.Errorf("find repository: the .git file of %s cannot be read or names no repository", root)
	}
	dir = joinFrom(root, dir)
	common, err := readText(dir, "commondir")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Foreign{Dir: dir, Common: dir, Root: root}, nil
	case err != nil:
		return Foreign{}, fmt.Errorf("find repository: %w", err)
	}
	return Foreign{Dir: dir, Common: joinFrom(dir, common), Root: root}, nil
}

func joinFrom(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// Ref returns the commit that a ref names; empty: there is no such ref.
func (f Foreign) Ref(ref string) (string, error) {
	oid, err := readText(f.Common, ref)
	switch {
	case err == nil && IsOID(oid):
		return oid, nil
	case err == nil:
		return "", fmt.Errorf("read %s: unexpected content %.100q", ref, oid)
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return "", fmt.Errorf("read %s: %w", ref, err)
	}
	return packedRef(f.Common, ref)
}

// Checkouts lists the working trees in which a branch is checked out or is being rebased. Those whose folder is gone
// are skipped.
func (f Foreign) Checkouts(ref string) ([]Checkout, error) {
	trees, err := f.trees()
	if err != nil {
		return nil, err
	}
	var found []Checkout
	for _, c := range trees {
		if _, err := os.Stat(c.Root); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		head, err := ReadHead(c.Dir, f.Common)
		if err != nil {
			return nil, fmt.Errorf("find what is checked out in %s: %w", c.Root, err)
		}
		if head.Ref == ref || rebasing(c.Dir) == ref {
			found = append(found, c)
		}
	}
	return found, nil
}

// trees lists the working trees of the repository.
func (f Foreign) trees() (all []Checkout, err error) {
	if f.Root != "" {
		all = append(all, Checkout{Root: f.Root, Dir: f.Dir})
	}
	if f.Dir != f.Common && filepath.Base(f.Common) == ".git" {
		all = append(all, Checkout{Root: filepath.Dir(f.Common), Dir: f.Common})
	}
	entries, err := os.ReadDir(filepath.Join(f.Common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list working trees: %w", err)
	}
	for _, entry := range entries {
		dir := filepath.Join(f.Common, "worktrees", entry.Name())
		if dir == f.Dir {
			continue
		}
		dot, err := readText(dir, "gitdir")
		if err != nil {
			return nil, fmt.Errorf("list working trees: %w", err)
		}
		all = append(all, Checkout{Root: filepath.Dir(joinFrom(dir, dot)), Dir: dir})
	}
	return all, nil
}

// rebasing returns the branch that an unfinished rebase will move; empty: none.
func rebasing(dir string) string {
	for _, name := range []string{"rebase-merge/head-name", "rebase-apply/head-name"} {
		if ref, err := readText(dir, name); err == nil {
			return ref
		}
	}
	return ""
}

// Swap is the change of one ref in a foreign repository, under git's own locks. All its lock files are hard links to
// one file, the mark. By that, a repetition of an interrupted swap recognizes the locks as its own.
type Swap struct {
	f    Foreign
	ref  string
	mark string // the path of the mark, relative to Common
	next string
}

// Begin acquires the lock of a ref, in order to set it to the commit next. The ref must name expected now; if
// expected is empty, the ref must not exist. Otherwise the error is ErrMoved, or ErrLocked if the lock is held. A
// repetition of the swap must use the same name, and no other swap may use it.
func (f Foreign) Begin(name, ref, expected, next string) (*Swap, error) {
	s := &Swap{f: f, ref: ref, mark: "svc-" + name, next: next}
	if err := s.Abandon(); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(f.Common)
	if err != nil {
		return nil, fmt.Errorf("move %s: %w", ref, err)
	}
	defer root.Close()
	if err := writeSynced(root, s.mark, next+"\n"); err != nil {
		return nil, fmt.Errorf("move %s: %w", ref, err)
	}
	if err := root.MkdirAll(filepath.Dir(ref), 0o755); err != nil {
		return nil, errors.Join(fmt.Errorf("move %s: %w", ref, err), s.Abandon())
	}
	if err := s.lock(filepath.Join(f.Common, ref) + ".lock"); err != nil {
		return nil, errors.Join(err, s.Abandon())
	}
	now, err := f.Ref(ref)
	if err == nil && now != expected {
		err = fmt.Errorf("%s: %w", ref, ErrMoved)
	}
	if err != nil {
		return nil, errors.Join(err, s.Abandon())
	}
	return s, nil
}

// lock makes a lock file as a hard link to the mark.
func (s *Swap) lock(path string) error {
	err := os.Link(filepath.Join(s.f.Common, s.mark), path)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", path, ErrLocked)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	return nil
}

// LockIndex locks the index of a checkout against other git processes until the swap ends.
func (s *Swap) LockIndex(c Checkout) error { return s.lock(filepath.Join(c.Dir, "index.lock")) }

// PutIndex replaces the index of a checkout. LockIndex must have locked it.
func (s *Swap) PutIndex(c Checkout, from string) error {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return fmt.Errorf("replace index: %w", err)
	}
	defer root.Close()
	text, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("replace index: %w", err)
	}
	temp := s.mark + ".index"
	if err := writeSynced(root, temp, string(text)); err != nil {
		return fmt.Errorf("replace index: %w", err)
	}
	if err := root.Rename(temp, "index"); err != nil {
		return fmt.Errorf("replace index: %w", err)
	}
	return nil
}

// Commit moves the ref and releases all locks. It appends a line to the branch's reflog if there is one.
func (s *Swap) Commit(expected string, by Identity, why string) error {
	root, err := os.OpenRoot(s.f.Common)
	if err != nil {
		return fmt.Errorf("move %s: %w", s.ref, err)
	}
	defer root.Close()
	if err := root.Rename(s.ref+".lock", s.ref); err != nil {
		return fmt.Errorf("move %s: %w", s.ref, err)
	}
	if err := syncDir(root, filepath.Dir(s.ref)); err != nil {
		return fmt.Errorf("move %s: %w", s.ref, err)
	}
	if log, err := root.OpenFile("logs/"+s.ref, os.O_WRONLY|os.O_APPEND, 0); err == nil { // the reflog is best effort
		if expected == "" {
			expected = strings.Repeat("0", len(s.next))
		}
		_, _ = fmt.Fprintf(log, "%s %s %s <%s> %d +0000\t%s\n", expected, s.next, by.Name, by.Email, by.Unix, why)
		_ = log.Close()
	}
	return s.Abandon()
}

// Abandon releases the locks of this swap, and those of an interrupted swap of the same name.
func (s *Swap) Abandon() error {
	mark, err := os.Lstat(filepath.Join(s.f.Common, s.mark))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("release locks: %w", err)
	}
	trees, err := s.f.trees()
	if err != nil {
		return err
	}
	locks := []string{filepath.Join(s.f.Common, s.ref) + ".lock"}
	for _, c := range trees {
		locks = append(locks, filepath.Join(c.Dir, "index.lock"))
	}
	for _, path := range slices.Compact(locks) {
		if info, err := os.Lstat(path); err != nil || !os.SameFile(info, mark) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("release locks: %w", err)
		}
	}
	return os.Remove(filepath.Join(s.f.Common, s.mark)) // last: the mark identifies the locks
}

// Abandon releases the locks of an interrupted swap of that name.
func (f Foreign) Abandon(name, ref string) error {
	return (&Swap{f: f, ref: ref, mark: "svc-" + name}).Abandon()
}

// writeSynced writes a file. When it returns, the content is safe against a power cut.
func writeSynced(root *os.Root, name, text string) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes renames in a folder safe against a power cut.
func syncDir(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
