package review

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// version is a file as it is in one of two checkpoints.
type version struct {
	path string
	mode string // empty: neither patch has the mode, so it is the same in both
	oid  string // empty: neither patch has the id, so the file is only renamed
}

// pair is a file that both checkpoints have, or that only one of them has.
type pair struct {
	old, new *version // nil: the checkpoint has no such file
	from, to *File    // how each patch changes the base into the version; nil: the patch does not touch the file
}

// pairs matches the files of two checkpoints: by their common file of the base, or by name when the base has no such
// file.
func pairs(from, to *Patch) (out []pair) {
	before, after := byBase(from), byBase(to)
	for key := range merged(before, after) {
		f, t := before[key], after[key]
		p := pair{from: f, to: t}
		if key.base {
			mode, oid := "", ""
			for _, by := range []*File{f, t} {
				if by != nil {
					mode, oid = cmp.Or(mode, by.OldMode), cmp.Or(oid, by.OldOID)
				}
			}
			p.old, p.new = versionOf(key.path, mode, oid, f), versionOf(key.path, mode, oid, t)
		} else {
			if f != nil {
				p.old = &version{f.Path, f.Mode, f.OID}
			}
			if t != nil {
				p.new = &version{t.Path, t.Mode, t.OID}
			}
		}
		switch {
		case p.same():
		case p.retyped(): // a patch cannot express it in one entry: one file is deleted, another is added
			out = append(out, pair{old: p.old, from: f}, pair{new: p.new, to: t})
		default:
			out = append(out, p)
		}
	}
	return exactRenames(out)
}

// retyped reports whether a file that the base does not have is a file in one checkpoint and a link or a submodule in
// the other. For a file of the base, git itself writes a deletion and an addition.
func (p pair) retyped() bool {
	return p.old != nil && p.new != nil && kindOf(p.old.mode) != kindOf(p.new.mode)
}

// kindOf returns the part of a mode that distinguishes files, links and submodules.
func kindOf(mode string) string { return mode[:min(len(mode), 3)] }

// fileKey identifies a file by its name in the base, or by its own name if it was added.
type fileKey struct {
	base bool
	path string
}

func byBase(p *Patch) map[fileKey]*File {
	out := map[fileKey]*File{}
	for _, f := range p.Files {
		out[f.key()] = f
	}
	return out
}

func (f *File) key() fileKey {
	if base := f.base(); base != "" {
		return fileKey{true, base}
	}
	return fileKey{false, f.Path}
}

func merged(a, b map[fileKey]*File) map[fileKey]bool {
	out := map[fileKey]bool{}
	for key := range a {
		out[key] = true
	}
	for key := range b {
		out[key] = true
	}
	return out
}

// versionOf returns a checkpoint's version of a file of the base; nil: the checkpoint deletes it.
func versionOf(path, mode, oid string, by *File) *version {
	switch {
	case by == nil:
		return &version{path, mode, oid}
	case by.Status == Deleted:
		return nil
	default:
		return &version{by.Path, cmp.Or(by.Mode, mode), cmp.Or(by.OID, oid)}
	}
}

func (p pair) same() bool {
	if p.old == nil || p.new == nil {
		return p.old == nil && p.new == nil
	}
	return p.old.path == p.new.path && p.old.mode == p.new.mode && p.sameContent()
}

func (p pair) sameContent() bool { return p.old.oid == p.new.oid }

// exactRenames merges a deleted file and an added file with the same content into one renamed file.
func exactRenames(all []pair) []pair {
	gone := map[string]int{}
	slices.SortFunc(all, pair.order)
	for i, p := range all {
		if p.new == nil && p.old.oid != "" {
			gone[p.old.mode+p.old.oid] = i
		}
	}
	var drop []int
	for i, p := range all {
		if p.old != nil || p.new.oid == "" {
			continue
		}
		if k, ok := gone[p.new.mode+p.new.oid]; ok && all[k].old.path != p.new.path {
			delete(gone, p.new.mode+p.new.oid)
			all[i].old = all[k].old
			drop = append(drop, k)
		}
	}
	slices.Sort(drop)
	for _, k := range slices.Backward(drop) {
		all = slices.Delete(all, k, k+1)
	}
	slices.SortFunc(all, pair.order)
	return all
}

// order sorts deleted files first and added files last. git apply needs this order when a deleted name is used again.
func (p pair) order(q pair) int { return cmp.Or(p.rank()-q.rank(), cmp.Compare(p.path(), q.path())) }

func (p pair) rank() int {
	switch {
	case p.new == nil:
		return 0
	case p.old == nil:
		return 2
	default:
		return 1
	}
}

func (p pair) path() string {
	if p.new == nil {
		return p.old.path
	}
	return p.new.path
}

// file returns the pair as an entry of a patch.
func (p pair) file() *File {
	f := &File{Path: p.path(), Status: Modified}
	switch {
	case p.new == nil:
		f.Status = Deleted
	case p.old == nil:
		f.Status = Added
	case p.old.path != p.new.path:
		f.Status, f.OldPath = Renamed, p.old.path
	}
	for _, side := range []struct {
		v         *version
		mode, oid *string
	}{{p.old, &f.OldMode, &f.OldOID}, {p.new, &f.Mode, &f.OID}} {
		if side.v != nil {
			*side.mode, *side.oid = side.v.mode, side.v.oid
		}
	}
	if f.OldOID != f.OID {
		f.Binary = p.from != nil && p.from.Binary || p.to != nil && p.to.Binary
	}
	return f
}

// Between writes the difference of two checkpoints on top of the same commit, in the format of git apply, and lists
// its files. A file that cannot be compared from the patches alone (it is too large, or it was text and is binary
// now) is listed without its lines, and complete is false.
func Between(from, to *Patch, w io.Writer) (files []*File, complete bool, err error) {
	if from.More || to.More { // an unlisted file of either patch would count as unchanged
		return nil, false, fmt.Errorf("too many files: %w", ErrTooLarge)
	}
	complete = true
	var at int64
	for _, p := range pairs(from, to) {
		f := p.file()
		text, err := p.write(f, from, to)
		switch {
		case errors.Is(err, ErrTooLarge), errors.Is(err, errUnknown):
			complete, text = false, ""
			f.Unknown = true
		case err != nil:
			return nil, false, fmt.Errorf("%s: %w", Quote(f.Path), err)
		}
		n, err := io.WriteString(w, text)
		if err != nil {
			return nil, false, err
		}
		f.Start, f.End = at, at+int64(n)
		at = f.End
		files = append(files, f)
	}
	return files, complete, nil
}

// errUnknown means that the patches do not contain enough to compare a file.
var errUnknown = errors.New("the patches do not contain enough")

// write returns the pair's part of the patch.
func (p pair) write(f *File, from, to *Patch) (string, error) {
	var w strings.Builder
	f.writeHeader(&w)
	if p.old != nil && p.new != nil && p.sameContent() {
		return w.String(), nil
	}
	var err error
	if p.from, err = from.loaded(p.from); err == nil {
		p.to, err = to.loaded(p.to)
	}
	if p.from.keepsContent() {
		p.from = nil
	}
	if p.to.keepsContent() {
		p.to = nil
	}
	switch {
	case err != nil:
		return "", err
	case !f.Binary:
		err = p.writeText(&w, f)
	case mixed(p.from, p.to):
		err = p.writeMixed(&w)
	default:
		err = p.writeBinary(&w)
	}
	return w.String(), err
}

// loaded returns a file with its content; nil for a nil file.
func (p *Patch) loaded(f *File) (*File, error) {
	if f == nil {
		return nil, nil
	}
	return p.load(f)
}

// keepsContent reports whether only the name or the mode changes. The patch then does not show whether the file is
// binary.
func (f *File) keepsContent() bool {
	return f != nil && !f.Binary && f.OldOID == f.OID && (f.Status == Modified || f.Status == Renamed)
}

// writeHeader writes the header lines: names, modes and object ids.
func (f *File) writeHeader(w *strings.Builder) {
	old := cmp.Or(f.OldPath, f.Path)
	fmt.Fprintf(w, "diff --git %s %s\n", Quote("a/"+old), Quote("b/"+f.Path))
	switch {
	case f.Status == Added:
		fmt.Fprintf(w, "new file mode %s\n", f.Mode)
	case f.Status == Deleted:
		fmt.Fprintf(w, "deleted file mode %s\n", f.OldMode)
	case f.OldMode != f.Mode:
		fmt.Fprintf(w, "old mode %s\nnew mode %s\n", f.OldMode, f.Mode)
	}
	if f.Status == Renamed {
		if f.OldOID == f.OID {
			w.WriteString("similarity index 100%\n")
		}
		fmt.Fprintf(w, "rename from %s\nrename to %s\n", Quote(old), Quote(f.Path))
	}
	if f.OldOID == f.OID {
		return
	}
	none := strings.Repeat("0", len(f.OldOID+f.OID)/2)
	if f.Status == Added || f.Status == Deleted {
		none = strings.Repeat("0", len(f.OldOID+f.OID))
	}
	fmt.Fprintf(w, "index %s..%s", cmp.Or(f.OldOID, none), cmp.Or(f.OID, none))
	if f.OldMode == f.Mode {
		fmt.Fprintf(w, " %s", f.Mode)
	}
	w.WriteByte('\n')
}

// writeText writes the hunks, and counts their lines in f.
func (p pair) writeText(w *strings.Builder, f *File) error {
	s, ok := newScript(p.from.lines(), p.to.lines())
	if !ok {
		return ErrMalformed
	}
	var hunks strings.Builder
	if f.Additions, f.Deletions = s.hunks(&hunks); hunks.Len() == 0 {
		return nil // both versions are empty or missing
	}
	old, new := "/dev/null", "/dev/null"
	if p.old != nil {
		old = Quote("a/" + p.old.path)
	}
	if p.new != nil {
		new = Quote("b/" + p.new.path)
	}
	for _, side := range []struct{ sign, name string }{{"---", old}, {"+++", new}} {
		fmt.Fprintf(w, "%s %s", side.sign, side.name)
		if strings.Contains(side.name, " ") && !strings.HasPrefix(side.name, `"`) {
			w.WriteByte('\t') // git ends a name with blanks by a tab; without it the name would end at the blank
		}
		w.WriteByte('\n')
	}
	w.WriteString(hunks.String())
	return nil
}

// lines returns the line edits of a patch for the file; nil: the patch has none.
func (f *File) lines() *edits {
	if f == nil {
		return nil
	}
	return f.text
}
