package review

import (
	"errors"
	"strings"
)

// ErrNoLines means that a patch does not show the lines that were asked for.
var ErrNoLines = errors.New("the patch does not show these lines")

// Place is a file of a change, or lines of it.
type Place struct {
	Path        string
	Old         bool // lines are counted in the file before the change
	First, Last int  // 0: the whole file
}

// find is the file of a change that a place is in; nil: it has none. A name that is used again is two files.
func (p *Patch) find(at Place) *File {
	var found *File
	for _, f := range p.Files {
		if f.Path == at.Path && (found == nil || at.Old == (f.Status == Deleted)) {
			found = f
		}
	}
	return found
}

// Lines is the text of a place, of at most limit bytes. The error is ErrNoLines when the patch does not show all of it.
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

// shows are the lines of a place, as the patch has them.
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

// Locate is where a place of a checkpoint is in a later one on top of the same commit; false: it is not there, or the patches do not
// tell.
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
	case !key.base: // it came new, and is not among what came new: git may call it renamed by now
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

// locateOld finds lines of the base: they never move, but a later change may no longer be about them.
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
