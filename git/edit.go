package git

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The modes of the entries of a tree.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeLink       = "120000"
	modeTree       = "40000"
)

// Edit is a change of one path of a tree.
type Edit struct {
	Path string // relative, with slashes
	Mode string // of the new entry; empty: the path is removed
	OID  string
}

// PutBlob stores the content of a file, or the target of a link, and returns the blob's name.
func (r Repo) PutBlob(format Format, content []byte) (string, error) {
	return r.putObject(format, "blob", string(content))
}

// EditTree applies edits to a tree, stores the new tree and returns its name. The result is the same as that of
// update-index and write-tree, but it needs no index and mostly no process. Git is started only if trees on the
// edited paths are not loose objects of this repository, for example because they are in a pack. Those trees are then
// also stored as loose objects, because they are likely to be edited again.
func (r Repo) EditTree(ctx context.Context, tree string, edits []Edit) (string, error) {
	for _, e := range edits {
		if !pathOfTree(e.Path) {
			return "", fmt.Errorf("edit tree: %.100q is not a valid path in a tree", e.Path)
		}
	}
	e := treeEditor{r, FormatOf(tree), map[string][]byte{}}
	if err := e.unpack(ctx, tree, edits); err != nil {
		return "", fmt.Errorf("edit tree: %w", err)
	}
	entries, err := e.edit(tree, edits)
	if err == nil {
		tree, err = e.put(entries)
	}
	if err != nil {
		return "", fmt.Errorf("edit tree: %w", err)
	}
	return tree, nil
}

// pathOfTree reports whether a tree may have a path. The parts of the path may be any bytes, except NUL.
func pathOfTree(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return !strings.Contains(name, "\x00")
}

// treeEditor edits a tree and those below it.
type treeEditor struct {
	r        Repo
	format   Format
	unpacked map[string][]byte // trees that were in a pack, by name
}

// treeEntry is an entry of a tree.
type treeEntry struct{ mode, name, oid string }

// edit returns the entries of a tree after the edits, whose paths are relative to it. If tree is "", edit starts with
// an empty tree.
func (e treeEditor) edit(tree string, edits []Edit) ([]treeEntry, error) {
	var entries []treeEntry
	if tree != "" {
		var err error
		if entries, err = e.read(tree); err != nil {
			return nil, err
		}
	}
	now := map[string]treeEntry{}
	for _, entry := range entries {
		now[entry.name] = entry
	}
	below := map[string][]Edit{}
	for _, edit := range edits {
		if name, rest, deeper := strings.Cut(edit.Path, "/"); deeper {
			below[name] = append(below[name], Edit{rest, edit.Mode, edit.OID})
		} else if edit.Mode == "" && now[name].mode != modeTree {
			delete(now, name)
		}
	}
	for name, inner := range below {
		was := now[name].oid
		if now[name].mode != modeTree {
			was = ""
		}
		left, err := e.edit(was, inner)
		if err != nil {
			return nil, err
		}
		if len(left) == 0 { // a tree has no entries for empty folders
			if now[name].mode == modeTree {
				delete(now, name)
			}
			continue
		}
		oid, err := e.put(left)
		if err != nil {
			return nil, err
		}
		now[name] = treeEntry{modeTree, name, oid}
	}
	for _, edit := range edits { // last: a file may replace a folder
		if !strings.Contains(edit.Path, "/") && edit.Mode != "" {
			now[edit.Path] = treeEntry{edit.Mode, edit.Path, edit.OID}
		}
	}
	entries = entries[:0]
	for _, entry := range now {
		entries = append(entries, entry)
	}
	return entries, nil
}

// put sorts the entries, stores them as a tree and returns its name.
func (e treeEditor) put(entries []treeEntry) (string, error) {
	slices.SortFunc(entries, func(a, b treeEntry) int { return cmp.Compare(a.order(), b.order()) })
	var content strings.Builder
	for _, entry := range entries {
		oid, err := hex.DecodeString(entry.oid)
		if err != nil || len(oid) != e.size() {
			return "", fmt.Errorf("%.100q is not an object's name", entry.oid)
		}
		content.WriteString(entry.mode + " " + entry.name + "\x00")
		content.Write(oid)
	}
	return e.r.putObject(e.format, "tree", content.String())
}

// order returns the text by which git sorts entries: for a folder, its name with a slash at the end.
func (t treeEntry) order() string {
	if t.mode == modeTree {
		return t.name + "/"
	}
	return t.name
}

// size returns the number of bytes of an object's name.
func (e treeEditor) size() int {
	if e.format == SHA256 {
		return 32
	}
	return 20
}

// read returns the entries of a tree that is a loose object or was unpacked. The error is fs.ErrNotExist if it is neither.
func (e treeEditor) read(oid string) ([]treeEntry, error) {
	content, known := e.unpacked[oid]
	if !known {
		var err error
		if content, err = e.r.loose(oid, "tree"); err != nil {
			return nil, err
		}
	}
	var entries []treeEntry
	for len(content) > 0 {
		head, rest, ok := bytes.Cut(content, []byte{0})
		mode, name, spaced := bytes.Cut(head, []byte(" "))
		if !ok || !spaced || len(rest) < e.size() {
			return nil, fmt.Errorf("tree %s is damaged", oid)
		}
		entries = append(entries, treeEntry{string(mode), string(name), hex.EncodeToString(rest[:e.size()])})
		content = rest[e.size():]
	}
	return entries, nil
}

// unpack ensures that all trees on the edited paths are loose objects.
func (e treeEditor) unpack(ctx context.Context, tree string, edits []Edit) error {
	var packed []string // folders
	trees := map[string]string{".": tree}
	for _, dir := range foldersOf(edits) {
		if dir != "." {
			parent, known := trees[path.Dir(dir)]
			if !known { // the parent is packed, or it is a new folder
				if slices.Contains(packed, path.Dir(dir)) {
					packed = append(packed, dir)
				}
				continue
			}
			entries, err := e.read(parent)
			if err != nil {
				return err
			}
			at := slices.IndexFunc(entries, func(t treeEntry) bool { return t.name == path.Base(dir) && t.mode == modeTree })
			if at < 0 {
				continue
			}
			trees[dir] = entries[at].oid
		}
		switch _, err := e.read(trees[dir]); {
		case errors.Is(err, fs.ErrNotExist):
			packed = append(packed, dir)
			delete(trees, dir)
		case err != nil:
			return err
		}
	}
	if len(packed) == 0 {
		return nil
	}
	return e.r.catTrees(ctx, tree, packed, func(content []byte) error {
		oid, err := e.r.putObject(e.format, "tree", string(content))
		e.unpacked[oid] = content
		return err
	})
}

// foldersOf lists the folders on the paths of the edits, each after its parent. The first is ".", the tree itself.
func foldersOf(edits []Edit) []string {
	is := map[string]bool{".": true}
	for _, e := range edits {
		for dir := path.Dir(e.Path); dir != "."; dir = path.Dir(dir) {
			is[dir] = true
		}
	}
	var dirs []string
	for dir := range is {
		dirs = append(dirs, dir)
	}
	slices.SortFunc(dirs, func(a, b string) int {
		return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(a, b))
	})
	return dirs
}

func depth(dir string) int {
	if dir == "." {
		return 0
	}
	return 1 + strings.Count(dir, "/")
}

// maxTrees limits the output of one catTrees. A name may turn out to be a large file's.
const maxTrees = 64 << 20

// catTrees calls each with the content of those of the folders that the tree has.
func (r Repo) catTrees(ctx context.Context, tree string, folders []string, each func(content []byte) error) error {
	names := make([]string, len(folders))
	for i, dir := range folders {
		names[i] = tree + ":" // the tree itself
		if dir != "." {
			names[i] += dir
		}
	}
	got, err := r.run(ctx, call{args: []string{"cat-file", "-z", "--batch"}, stdin: joined(names), max: maxTrees})
	if err != nil {
		return err
	}
	out := got.out
	for _, name := range names {
		if rest, missing := bytes.CutPrefix(out, []byte(name+" missing\n")); missing {
			out = rest
			continue
		}
		head, rest, _ := bytes.Cut(out, []byte("\n")) // "<oid> <kind> <size>", then the content and a line end
		fields := strings.Fields(string(head))
		if len(fields) != 3 {
			return fmt.Errorf("git cat-file: unexpected output %.100q", head)
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size < 0 || size >= len(rest) {
			return fmt.Errorf("git cat-file: unexpected output %.100q", head)
		}
		if fields[1] == "tree" {
			if err := each(rest[:size]); err != nil {
				return err
			}
		}
		out = rest[size+1:]
	}
	return nil
}

// maxLoose bounds the bytes that are read of a loose object.
const maxLoose = 64 << 20

// loose reads a loose object of this repository itself, not of its alternates. The error is fs.ErrNotExist if there
// is no such file.
func (r Repo) loose(oid, kind string) ([]byte, error) {
	if !IsOID(oid) {
		return nil, fmt.Errorf("%.100q is not an object's name", oid)
	}
	f, err := os.Open(filepath.Join(r.Objects(), oid[:2], oid[2:]))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, oid, err)
	}
	raw, err := io.ReadAll(io.LimitReader(z, maxLoose))
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, oid, err)
	}
	head, content, ok := bytes.Cut(raw, []byte{0})
	if !ok || string(head) != fmt.Sprintf("%s %d", kind, len(content)) {
		return nil, fmt.Errorf("object %s is not a complete %s", oid, kind)
	}
	return content, nil
}
