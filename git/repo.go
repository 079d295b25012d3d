package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Repo is a bare repository that belongs to the caller: no other program writes to its folder.
type Repo struct {
	Program
	// Dir is the repository's folder, absolute.
	Dir string
	// borrowed are the objects folders of other repositories, which are read in addition to the repository's own.
	borrowed []string
	gathered *Gathered // takes new objects; nil: each is stored by itself
}

// Format is the hash function by which a repository names its objects.
type Format string

// The formats that git supports.
const (
	SHA1   Format = "sha1"
	SHA256 Format = "sha256"
)

// FormatOf returns the format of the repository that has an object of this name.
func FormatOf(oid string) Format {
	if len(oid) == 64 {
		return SHA256
	}
	return SHA1
}

// IsOID reports whether s has the form of an object's full name.
func IsOID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// Init makes a bare repository, or completes one whose creation was interrupted.
func (p Program) Init(ctx context.Context, dir string, format Format) (Repo, error) {
	r := Repo{Program: p, Dir: dir}
	_, err := p.exec(ctx, call{args: []string{
		"init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--object-format=" + string(format), "--", dir,
	}})
	return r, err
}

// Objects returns the folder of the repository's objects.
func (r Repo) Objects() string { return filepath.Join(r.Dir, "objects") }

// Alternate makes the repository read the objects of another one too, from now on. The other must keep them.
func (r Repo) Alternate(objects string) error {
	info := filepath.Join(r.Objects(), "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return fmt.Errorf("set alternate: %w", err)
	}
	if err := os.WriteFile(filepath.Join(info, "alternates"), []byte(quotePath(objects)+"\n"), 0o600); err != nil {
		return fmt.Errorf("set alternate: %w", err)
	}
	return nil
}

// Recover removes what a killed git has left: lock files and unfinished files. The caller must ensure that no git
// process uses the repository.
func (r Repo) Recover() error {
	for _, place := range []struct {
		dir   string
		below bool
		left  func(name string) bool
	}{
		{r.Dir, false, isLock}, {r.Dir, false, isUnfinishedIndex},
		{filepath.Join(r.Dir, "refs"), true, isLock},
		{r.Objects(), true, isUnfinished},
	} {
		if err := removeLeft(place.dir, place.below, place.left); err != nil {
			return fmt.Errorf("remove the files of a killed git: %w", err)
		}
	}
	return nil
}

func isLock(name string) bool       { return strings.HasSuffix(name, ".lock") }
func isUnfinished(name string) bool { return strings.HasPrefix(name, "tmp_") }

// isUnfinishedIndex reports whether a file is the unfinished second file of a split index. A finished one has the
// name "sharedindex.<hash>".
func isUnfinishedIndex(name string) bool { return strings.HasPrefix(name, "sharedindex_") }

// removeLeft removes the files of a folder whose name matches, and those of its subfolders if below is true.
func removeLeft(dir string, below bool, left func(name string) bool) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir() && path != dir && !below:
			return fs.SkipDir
		case !entry.IsDir() && left(entry.Name()):
			return os.Remove(path)
		}
		return nil
	})
}

// Borrowing returns the repository together with the objects of others, for reading. Objects that are written through
// it may refer to borrowed ones: [Repo.Import] copies those that must stay.
func (r Repo) Borrowing(objects ...string) Repo {
	r.borrowed = append(append([]string(nil), r.borrowed...), objects...)
	return r
}

// run executes a git command in the repository.
func (r Repo) run(ctx context.Context, c call) (answer, error) {
	c.env = append(c.env, "GIT_DIR="+r.Dir)
	if len(r.borrowed) > 0 {
		quoted := make([]string, len(r.borrowed))
		for i, dir := range r.borrowed {
			quoted[i] = quotePath(dir)
		}
		c.env, c.foreign = append(c.env, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+strings.Join(quoted, ":")), true
	}
	return r.exec(ctx, c)
}

// quotePath quotes a path for a list that is separated by colons, in the form that git reads.
func quotePath(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// line executes a command and returns its output without space around it.
func (r Repo) line(ctx context.Context, args ...string) (string, error) {
	got, err := r.run(ctx, call{args: args})
	return strings.TrimSpace(string(got.out)), err
}

// Commit returns the full name of the commit that a revision names. The error is ErrNotFound if there is none.
func (r Repo) Commit(ctx context.Context, rev string) (string, error) {
	return r.resolve(ctx, rev+"^{commit}")
}

// TreeOf returns the name of the tree of a revision. The error is ErrNotFound if there is none.
func (r Repo) TreeOf(ctx context.Context, rev string) (string, error) {
	return r.resolve(ctx, rev+"^{tree}")
}

func (r Repo) resolve(ctx context.Context, rev string) (string, error) {
	oid, err := r.line(ctx, "rev-parse", "--quiet", "--verify", "--end-of-options", rev)
	if exitCode(err) == 1 {
		return "", fmt.Errorf("%s: %w", rev, ErrNotFound)
	}
	return oid, err
}

// MergeBase returns the best common ancestor of two commits. The error is ErrNotFound if they share no history.
func (r Repo) MergeBase(ctx context.Context, a, b string) (string, error) {
	oid, err := r.line(ctx, "merge-base", a, b)
	if exitCode(err) == 1 && oid == "" && !errors.As(err, new(*Failure)) {
		return "", fmt.Errorf("common ancestor of %s and %s: %w", a, b, ErrNotFound)
	}
	return oid, err
}

// Ref is a ref and the object that it names.
type Ref struct{ Name, OID string }

// Refs lists the refs below a prefix such as "refs/heads/".
func (r Repo) Refs(ctx context.Context, prefix string) ([]Ref, error) {
	got, err := r.run(ctx, call{args: []string{"for-each-ref", "--format=%(objectname) %(refname)", prefix}})
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for line := range strings.Lines(string(got.out)) {
		oid, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		refs = append(refs, Ref{name, oid})
	}
	return refs, nil
}

// SetRef sets a ref to an object, whatever it named before. Because no other program writes to the repository, this
// only replaces a file and needs no process.
func (r Repo) SetRef(ref, oid string) error { return r.replace(ref, oid) }

// SetHead sets HEAD to a branch, which need not exist.
func (r Repo) SetHead(ref string) error { return r.replace("HEAD", "ref: "+ref) }

// replace writes a file of the repository and replaces the old one in one step.
func (r Repo) replace(name, line string) error {
	path := filepath.Join(r.Dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path+".lock", []byte(line+"\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(path+".lock", path)
	}
	if err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	return nil
}

// Pack copies the history of commits, without that of the commits in except, into the objects folder of another
// repository. If an object of it is missing or unreadable, it fails and copies nothing.
func (r Repo) Pack(ctx context.Context, commits, except []string, objects string) error {
	_, err := r.run(ctx, call{
		args:  []string{"pack-objects", "--quiet", "--revs", "--non-empty", filepath.Join(objects, "pack", "pack")},
		stdin: revs(commits, except),
	})
	return err
}

// Import copies history from borrowed objects into the repository itself, like Pack.
func (r Repo) Import(ctx context.Context, commits, except []string) error {
	return r.Pack(ctx, commits, except, r.Objects())
}

// revs returns a revision list in the form that git reads from standard input.
func revs(commits, except []string) io.Reader {
	var b strings.Builder
	for _, oid := range commits {
		b.WriteString(oid + "\n")
	}
	for _, oid := range except {
		b.WriteString("^" + oid + "\n")
	}
	return strings.NewReader(b.String())
}
