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

// A quick checkpoint reads the changed files itself and edits the tree that the index has; the index stays as it is, and the same files are read
// again the next time. These limits keep that cheaper than the processes that it saves.
const (
	quickPaths = 100
	quickFile  = 1 << 20 // bytes
	quickBytes = 8 << 20 // of all files
)

// errNotQuick means that a checkpoint needs git to store its files.
var errNotQuick = errors.New("not a quick checkpoint")

// quick stores a few plain changes and returns the tree with them. The error is errNotQuick where git could make something else of them than it
// does here: then nothing was decided.
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

// plainName tells that a path means nothing special to git, which refuses some of the others.
func plainName(name string) bool {
	for part := range strings.SplitSeq(strings.ToLower(name), "/") {
		if part == ".git" || part == ".gitattributes" || part == ".gitmodules" {
			return false
		}
	}
	return fs.ValidPath(name)
}

// converts tells that attributes may say how some of the files are to be stored.
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

// readPlain reads a file, or the target of a link, as git stores it where nothing converts it.
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
		return "", nil, errNotQuick // replaced meanwhile, perhaps by a pipe or a link
	}
	content, err = io.ReadAll(io.LimitReader(f, quickFile+1))
	if len(content) > quickFile {
		err = errNotQuick
	}
	return mode, content, err
}
