package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"svc/git"
)

// Limits of a quick checkpoint. It reads the changed files itself and edits the tree that the index has. The index
// does not change, so the same files are read again at the next checkpoint. The limits keep this cheaper than the git
// processes that it saves.
const (
	quickPaths = 100
	quickFile  = 1 << 20 // bytes
	quickBytes = 8 << 20 // of all files
)

// errNotQuick means that git must store the files of a checkpoint.
var errNotQuick = errors.New("not a quick checkpoint")

// quick stores a few plain changes and returns the tree with them. The error is errNotQuick if git might store a file
// differently than quick would. Then collect must use the index; objects that quick has stored already do no harm.
func (h Host) quick(ctx context.Context, tree git.Tree, indexed string, changes git.Changes) (string, error) {
	if changes.Empty() {
		return indexed, nil
	}
	put := slices.Concat(changes.Changed, changes.New)
	if len(changes.Nested) > 0 || len(put)+len(changes.Removed) > quickPaths {
		return "", errNotQuick
	}
	var edits []git.Edit
	for _, name := range changes.Removed {
		if !plainName(name) {
			return "", errNotQuick
		}
		edits = append(edits, git.Edit{Path: name})
	}
	root, err := os.OpenRoot(tree.Root)
	if err != nil {
		return "", errNotQuick
	}
	defer root.Close()
	if converts(root, put) {
		return "", errNotQuick
	}
	left := quickBytes
	for _, name := range put {
		if !plainName(name) {
			return "", errNotQuick
		}
		mode, content, err := readPlain(root, name)
		if left -= len(content); err != nil || left < 0 {
			return "", errNotQuick
		}
		oid, err := tree.PutBlob(git.FormatOf(indexed), content)
		if err != nil {
			return "", err
		}
		edits = append(edits, git.Edit{Path: name, Mode: mode, OID: oid})
	}
	return tree.EditTree(ctx, indexed, edits)
}

// plainName reports whether no part of a path has a special meaning to git. Git refuses some of the special ones.
func plainName(name string) bool {
	for part := range strings.SplitSeq(strings.ToLower(name), "/") {
		if part == ".git" || part == ".gitattributes" || part == ".gitmodules" {
			return false
		}
	}
	return fs.ValidPath(name)
}

// converts reports whether a .gitattributes file may apply to one of the files: it may require that git converts the
// content.
func converts(root *os.Root, names []string) bool {
	seen := map[string]bool{}
	for _, name := range names {
		for dir := path.Dir(name); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			if _, err := root.Lstat(path.Join(dir, ".gitattributes")); !errors.Is(err, fs.ErrNotExist) {
				return true
			}
		}
	}
	return false
}

// readPlain reads a file, or the target of a link, in the form in which git stores it if no attribute converts it.
func readPlain(root *os.Root, name string) (mode string, content []byte, err error) {
	info, err := root.Lstat(name)
	if err != nil {
		return "", nil, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return git.ModeLink, []byte(target), err
	case !info.Mode().IsRegular() || info.Size() > quickFile:
		return "", nil, errNotQuick
	case info.Mode()&0o100 != 0:
		mode = git.ModeExecutable
	default:
		mode = git.ModeFile
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return "", nil, errNotQuick // it was replaced meanwhile, perhaps by a pipe or a link
	}
	content, err = io.ReadAll(io.LimitReader(f, quickFile+1))
	if len(content) > quickFile {
		err = errNotQuick
	}
	return mode, content, err
}
