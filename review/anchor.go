package review

import (
	"errors"
	"strings"
)

// ErrNoLines means that a patch does not contain the requested lines.
var ErrNoLines = errors.New("the patch does not contain these lines")

// Place is a file of a change, or a range of its lines.
type Place struct {
	Path        string
	Old         bool // line numbers refer to the file before the change
	First, Last int  // 0: the whole file
}

// find returns the changed file at a place; nil: the change has none. When one file was deleted and another was added
// under the same name, at.Old selects the deleted one.
func (p *Patch) find(at Place) *File {
	var found *File
	for _, f := range p.Files {
		if f.Path == at.Path && (found == nil || at.Old == (f.Status == Deleted)) {
			found = f
		}
	}
	return found
}

// Lines returns the text at a place. It returns ErrNoLines when the patch does not contain all of the lines, and
// ErrTooLarge when the text is longer than limit bytes.
func (p *Patch) Lines(at Place, limit int) (string, error) {
	f := p.find(at)
	if f == nil {
		return "", ErrNoLines
	}
	if at.First == 0 {
		return "", nil
	}
	f, err := p.load(f)
	if err != nil {
		return "", err
	}
	lines, ok := f.shows(at)
	if !ok {
		return "", ErrNoLines
	}
	text := strings.TrimSuffix(strings.ToValidUTF8(strings.Join(lines, ""), "\uFFFD"), "\n")
	if len(text) > limit {
		return "", ErrTooLarge
	}
	return text, nil
}

// shows returns the lines at a place if the patch contains all of them.
func (f *File) shows(at Place) (lines []string, ok bool) {
	if f.text == nil {
		return nil, false
	}
	s, ok := newScript(nil, f.text)
	if !ok {
		return nil, false
	}
	next := at.First
	for _, it := range s.items() {
		number, other := it.new, byte('-')
		if at.Old {
			number, other = it.old, '+'
		}
		if it.kind != 0 && it.kind != other && number == next && next <= at.Last {
			lines = append(lines, it.line)
			next++
		}
	}
	return lines, next > at.Last
}

// Locate returns where a place in one checkpoint is in a later checkpoint on top of the same commit. It returns false
// when the place no longer exists there, or when the patches do not contain enough to find it.
func Locate(from, to *Patch, at Place) (Place, bool) {
	f := from.find(at)
	if f == nil {
		return Place{}, false
	}
	key := f.key()
	t := byBase(to)[key]
	if at.Old || f.Status == Deleted {
		return locateOld(to, t, f, at)
	}
	there := Place{Path: key.path, First: at.First, Last: at.Last}
	switch {
	case t != nil && t.Status == Deleted:
		return Place{}, false
	case t != nil:
		there.Path = t.Path
	case !key.base: // added in from, and to does not list it as added: git may list it as renamed there
		same := to.find(at)
		return Place{Path: at.Path, First: at.First, Last: at.Last}, same != nil && same.OID == f.OID
	}
	if at.First == 0 || t != nil && t.OID == f.OID && f.OID != "" {
		return there, true
	}
	var err error
	if f, err = from.load(f); err != nil || f.Binary {
		return Place{}, false
	}
	if t, err = to.loaded(t); err != nil || t != nil && t.Binary {
		return Place{}, false
	}
	s, ok := newScript(f.lines(), t.lines())
	if !ok {
		return Place{}, false
	}
	for line := at.First; line <= at.Last; line++ {
		now, ok := s.locate(line)
		if line == at.First {
			there.First, there.Last = now, now+at.Last-at.First
		}
		if !ok || now != there.First+line-at.First {
			return Place{}, false
		}
	}
	return there, true
}

// locateOld locates lines of the base commit. They never move, but the later patch may no longer contain them.
func locateOld(to *Patch, t, f *File, at Place) (Place, bool) {
	if t == nil || (t.Status == Deleted) != (f.Status == Deleted) && at.First == 0 {
		return Place{}, false
	}
	there := at
	there.Path = t.Path
	if at.First == 0 {
		return there, true
	}
	t, err := to.load(t)
	if err != nil {
		return Place{}, false
	}
	_, ok := t.shows(at)
	return there, ok
}
