package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"svc/git"
)

// rawAttributes make git store every file unchanged, whatever attributes the folder has.
const rawAttributes = "* -text !eol -ident !working-tree-encoding !filter\n"

// collect stores the folder as a tree. A few plain changes are applied to the tree that the private index has,
// without a change of the index. All other changes, and every change if whole is true, go through the index, which
// then has the returned tree.
func (h Host) collect(ctx context.Context, tree git.Tree, r *Record, whole bool) (Checkpoint, error) {
	changes, err := tree.Status(ctx)
	if err != nil && ctx.Err() == nil {
		changes, err = h.statusWithNewIndex(ctx, tree, r, err)
	}
	if err != nil {
		return Checkpoint{}, err
	}
	rules := rulesChanged(changes)
	whole = whole || r.Indexed == ""
	var forget, forced []string
	if whole || rules || h.ignoredSeen(*r) != r.Ignored {
		if forget, forced, err = h.ignored(ctx, tree, r); err != nil {
			return Checkpoint{}, err
		}
	}
	if !whole && !rules && len(forget)+len(forced) == 0 {
		id, err := h.quick(ctx, tree, r.Indexed, changes)
		if err == nil || ctx.Err() != nil {
			return Checkpoint{Tree: id, Warnings: changes.Warnings}, err
		}
	}
	put := slices.Concat(without(changes.Changed, forget), changes.New, forced)
	below, nested, err := nestedFiles(ctx, tree, "", changes.Nested, 0)
	if err != nil {
		return Checkpoint{}, err
	}
	if err := h.changesIndex(r); err != nil {
		return Checkpoint{}, err
	}
	refused, err := h.update(ctx, tree, append(changes.Removed, forget...), append(put, below...))
	if err != nil {
		return Checkpoint{}, err
	}
	if r.Indexed, err = tree.WriteTree(ctx); err != nil {
		return Checkpoint{}, err
	}
	return Checkpoint{Tree: r.Indexed, Warnings: joinLines([]string{changes.Warnings, nested, refused})}, nil
}

// changesIndex records that the private index is about to change, so that its old tree is not trusted if this process
// is killed before the change is complete.
func (h Host) changesIndex(r *Record) error {
	if r.Indexed == "" {
		return nil
	}
	r.Indexed = ""
	return h.write(*r)
}

// statusWithNewIndex repeats the status with an index that is made from the newest checkpoint, because the existing
// index may have caused the error: a power cut may have left it incomplete. The existing index is replaced only by a
// complete one.
func (h Host) statusWithNewIndex(ctx context.Context, tree git.Tree, r *Record, failed error) (git.Changes, error) {
	anew := tree
	anew.Index += ".anew"
	defer os.Remove(anew.Index)
	if err := os.Remove(anew.Index); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return git.Changes{}, errors.Join(failed, err)
	}
	if err := anew.Read(ctx, r.Newest.Tree); err != nil {
		return git.Changes{}, errors.Join(failed, err)
	}
	if err := h.changesIndex(r); err != nil {
		return git.Changes{}, errors.Join(failed, err)
	}
	if err := os.Rename(anew.Index, tree.Index); err != nil {
		return git.Changes{}, errors.Join(failed, err)
	}
	return tree.Status(ctx)
}

// update updates paths in the index. If git fails, update tries again without any conversion and without the files
// that cannot be read; those keep their old entry. One bad file therefore does not prevent the others from being
// stored.
func (h Host) update(ctx context.Context, tree git.Tree, remove, put []string) (warnings string, err error) {
	warnings, err = tree.Update(ctx, remove, put)
	if err == nil || ctx.Err() != nil {
		return warnings, err
	}
	attributes := filepath.Join(tree.Dir, "info", "attributes")
	if err := os.MkdirAll(filepath.Dir(attributes), 0o700); err != nil {
		return "", fmt.Errorf("store files without conversion: %w", err)
	}
	if err := os.WriteFile(attributes, []byte(rawAttributes), 0o600); err != nil {
		return "", fmt.Errorf("store files without conversion: %w", err)
	}
	defer os.Remove(attributes)
	readable, unreadable := splitReadable(tree.Root, put)
	warnings, err = tree.Update(ctx, remove, readable)
	if len(unreadable) > 0 {
		warnings = joinLines([]string{warnings, fmt.Sprintf("%d files cannot be read, among them %q", len(unreadable), unreadable[0])})
	}
	return warnings, err
}

// splitReadable separates the files that can be read, or no longer exist, from those that cannot be read.
func splitReadable(dir string, names []string) (readable, unreadable []string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, names
	}
	defer root.Close()
	for _, name := range names {
		info, err := root.Lstat(name)
		if err == nil && info.Mode().IsRegular() {
			var f *os.File
			if f, err = root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
				_ = f.Close()
			}
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			readable = append(readable, name)
		} else {
			unreadable = append(unreadable, name)
		}
	}
	return readable, unreadable
}

// maxNesting is the number of levels down to which repositories inside repositories are followed.
const maxNesting = 16

// nestedFiles lists the files of repositories inside the folder that are not submodules. Git would store only the
// commit that such a repository is at, and no other repository has that commit. The files are therefore stored as
// plain files.
func nestedFiles(ctx context.Context, tree git.Tree, prefix string, dirs []string, depth int) (files []string, warnings string, err error) {
	if depth > maxNesting {
		return nil, "repositories are nested too deeply below " + strconv.Quote(prefix), nil
	}
	var said []string
	for _, dir := range dirs {
		inner := tree
		inner.Root = filepath.Join(tree.Root, dir)
		names, deeper, warnings, err := inner.Files(ctx)
		if err != nil {
			return nil, "", err
		}
		for _, name := range names {
			files = append(files, prefix+dir+"/"+name)
		}
		below, more, err := nestedFiles(ctx, inner, prefix+dir+"/", deeper, depth+1)
		if err != nil {
			return nil, "", err
		}
		files = append(files, below...)
		said = append(said, warnings, more)
	}
	return files, joinLines(said), nil
}

// joinLines joins the texts that are not empty.
func joinLines(texts []string) string {
	var said []string
	for _, text := range texts {
		if text != "" {
			said = append(said, text)
		}
	}
	return strings.Join(said, "\n")
}
