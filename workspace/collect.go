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

// rawAttributes store every file as it is, whatever the attributes in the folder ask for.
const rawAttributes = "* -text !eol -ident !working-tree-encoding !filter\n"

// collect stores the folder as a tree. A few plain changes are put into the tree that the index has; everything else, and all when whole
// is set, goes through the index, which then has the tree that is returned.
func (h Host) collect(ctx context.Context, tree git.Tree, r *Record, whole bool) (Checkpoint, error) {
	changes, err := tree.Status(ctx)
	if err != nil && ctx.Err() == nil {
		changes, err = h.lookAnew(ctx, tree, r, err)
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
		if !errors.Is(err, errNotQuick) {
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

// changesIndex records that the index is about to change, so that nobody relies on what it had when this process is killed in the middle.
func (h Host) changesIndex(r *Record) error {
	if r.Indexed == "" {
		return nil
	}
	r.Indexed = ""
	return h.write(*r)
}

// lookAnew takes the status with an index that is made from the newest checkpoint, in case the one that is there is why it failed: a power cut
// may have left half of it. It is replaced only by a complete one.
func (h Host) lookAnew(ctx context.Context, tree git.Tree, r *Record, failed error) (git.Changes, error) {
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

// update brings paths into the index. Where git refuses, the files are stored without any conversion, and those
// that cannot be read are left as they were: one bad file does not keep the others from being kept.
func (h Host) update(ctx context.Context, tree git.Tree, remove, put []string) (warnings string, err error) {
	warnings, err = tree.Update(ctx, remove, put)
	if err == nil || ctx.Err() != nil {
		return warnings, err
	}
	attributes := filepath.Join(tree.Dir, "info", "attributes")
	if err := os.MkdirAll(filepath.Dir(attributes), 0o700); err != nil {
		return "", fmt.Errorf("store files as they are: %w", err)
	}
	if err := os.WriteFile(attributes, []byte(rawAttributes), 0o600); err != nil {
		return "", fmt.Errorf("store files as they are: %w", err)
	}
	defer os.Remove(attributes)
	readable, unreadable := sift(tree.Root, put)
	warnings, err = tree.Update(ctx, remove, readable)
	if len(unreadable) > 0 {
		warnings = joinLines([]string{warnings, fmt.Sprintf("%d files cannot be read, among them %q", len(unreadable), unreadable[0])})
	}
	return warnings, err
}

// sift tells the files that can be read, or are gone, from those that cannot.
func sift(dir string, names []string) (readable, unreadable []string) {
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

// maxNesting is how deep repositories inside of repositories are followed.
const maxNesting = 16

// nestedFiles lists the files of repositories inside the folder that are no submodules. Git would note only the
// commit that they are at, which nobody else has; so they are kept as the plain files that they are.
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

// joinLines joins what is not empty.
func joinLines(texts []string) string {
	var said []string
	for _, text := range texts {
		if text != "" {
			said = append(said, text)
		}
	}
	return strings.Join(said, "\n")
}
