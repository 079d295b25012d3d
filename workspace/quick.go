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
	"unicode"

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

// quick stores a few plain changes and returns the tree with them. It returns an error if git might store a file
// differently than quick would, or if anything else is in the way. Then collect must use the index; objects that quick
// has stored already do no harm.
func (h Host) quick(ctx context.Context, tree git.Tree, indexed string, changes git.Changes) (string, error) {
	if changes.Empty() {
		return indexed, nil
	}
	put := slices.Concat(changes.Changed, changes.New)
	all := slices.Concat(put, changes.Removed)
	if len(changes.Nested) > 0 || len(all) > quickPaths || slices.ContainsFunc(all, isSpecial) || !tree.Faithful() {
		return "", errNotQuick
	}
	root, err := os.OpenRoot(tree.Root)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if converts(root, put) {
		return "", errNotQuick
	}
	files := make([]plainFile, len(put))
	left := quickBytes
	for i, name := range put {
		if files[i], err = readPlain(root, name); err != nil {
			return "", err
		}
		if left -= len(files[i].content); left < 0 {
			return "", errNotQuick
		}
	}
	var edits []git.Edit
	for _, name := range changes.Removed {
		edits = append(edits, git.Edit{Path: name})
	}
	for i, name := range put {
		oid, err := tree.PutBlob(git.FormatOf(indexed), files[i].content)
		if err != nil {
			return "", err
		}
		edits = append(edits, git.Edit{Path: name, Mode: files[i].mode, OID: oid})
	}
	return tree.EditTree(ctx, indexed, edits)
}

// isSpecial reports whether a part of a path may have a special meaning to git, which refuses some of these. A file
// system that ignores format characters takes names with them for others.
func isSpecial(name string) bool {
	for part := range strings.SplitSeq(strings.ToLower(name), "/") {
		if part == ".git" || part == ".gitattributes" || part == ".gitmodules" {
			return true
		}
	}
	return !fs.ValidPath(name) || strings.ContainsFunc(name, func(c rune) bool { return unicode.Is(unicode.Cf, c) })
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

// plainFile is a file, or the target of a link, in the form in which git stores it if no attribute converts it.
type plainFile struct {
	mode    string
	content []byte
}

func readPlain(root *os.Root, name string) (plainFile, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return plainFile{}, err
	}
	file := plainFile{mode: git.ModeFile}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return plainFile{git.ModeLink, []byte(target)}, err
	case !info.Mode().IsRegular() || info.Size() > quickFile:
		return plainFile{}, errNotQuick
	case info.Mode()&0o100 != 0:
		file.mode = git.ModeExecutable
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return plainFile{}, err
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return plainFile{}, errNotQuick // it was replaced meanwhile, perhaps by a pipe or a link
	}
	file.content, err = io.ReadAll(io.LimitReader(f, quickFile+1))
	if len(file.content) > quickFile {
		err = errNotQuick
	}
	return file, err
}
