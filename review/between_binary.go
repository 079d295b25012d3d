package review

import (
	"strings"
)

// mixed reports whether one patch changes the file as text and the other as binary.
func mixed(a, b *File) bool { return a != nil && b != nil && a.Binary != b.Binary }

// writeBinary writes both directions of a binary change: new from old, and old from new.
func (p pair) writeBinary(w *strings.Builder) error {
	w.WriteString("GIT binary patch\n")
	for _, way := range []struct{ from, to *File }{{p.from, p.to}, {p.to, p.from}} {
		size, err := sizeOf(way.from, way.to)
		if err != nil {
			return err
		}
		made, err := madeOf(content{{size: size}}, way.from, way.to)
		if err == nil {
			err = made.write(w, size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// madeOf computes a version from another one: back to the base, then forward.
func madeOf(old content, from, to *File) (content, error) {
	base := old
	if from != nil {
		if from.reverse == nil {
			return nil, errUnknown
		}
		var err error
		if base, err = from.reverse.apply(old); err != nil {
			return nil, err
		}
	}
	if to == nil {
		return base, nil
	}
	if to.forward == nil {
		return nil, errUnknown
	}
	return to.forward.apply(base)
}

// sizeOf returns the size in bytes of the version that by makes; if by is nil, the size of the base that other starts
// from. It returns 0 when other does not read the base.
func sizeOf(by, other *File) (int, error) {
	part, source := (*binaryPart)(nil), false
	switch {
	case by != nil:
		part = by.forward
	case other != nil:
		part, source = other.forward, true // the version is the base itself
	}
	if part == nil {
		return 0, errUnknown
	}
	if !part.delta {
		if source {
			return 0, nil
		}
		return part.size, nil
	}
	data, err := part.data()
	if err != nil {
		return 0, err
	}
	before, data, ok := varint(data)
	after, _, ok2 := varint(data)
	if !ok || !ok2 {
		return 0, ErrMalformed
	}
	if source {
		return before, nil
	}
	return after, nil
}

// writeMixed writes the whole content of the new version. It returns errUnknown when the patches do not contain it.
func (p pair) writeMixed(w *strings.Builder) error {
	var made []byte
	if p.new != nil {
		var err error
		if made, err = p.newBytes(); err != nil {
			return err
		}
	}
	w.WriteString("GIT binary patch\n")
	return content{{bytes: append([]byte{}, made...), size: len(made)}}.write(w, 0)
}

func (p pair) newBytes() ([]byte, error) {
	if p.to.Binary && p.to.forward != nil && !p.to.forward.delta {
		return p.to.forward.data()
	}
	base, err := p.baseBytes()
	if err != nil {
		return nil, err
	}
	if !p.to.Binary {
		return []byte(p.to.text.applied(base)), nil
	}
	made, err := madeOf(content{{bytes: base, size: len(base)}}, nil, p.to)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, piece := range made {
		out = append(out, piece.bytes...)
	}
	return out, nil
}

// baseBytes returns the content of the base file. It returns errUnknown when no patch contains all of it.
func (p pair) baseBytes() ([]byte, error) {
	for _, f := range []*File{p.from, p.to} {
		switch {
		case f.Status == Added:
			return []byte{}, nil
		case f.Binary && f.reverse != nil && !f.reverse.delta:
			return f.reverse.data()
		case !f.Binary && f.Status == Deleted:
			return []byte(strings.Join(f.text.whole(), "")), nil
		}
	}
	return nil, errUnknown
}

// applied returns the lines of base with the edits applied.
func (e *edits) applied(base []byte) string {
	var b strings.Builder
	at := 1
	lines := []string{}
	for line := range strings.Lines(string(base)) {
		lines = append(lines, line)
	}
	for _, edit := range e.ranges() {
		for ; at < edit.at && at <= len(lines); at++ {
			b.WriteString(lines[at-1])
		}
		for _, line := range edit.added {
			b.WriteString(line)
		}
		at = edit.end()
	}
	for ; at <= len(lines); at++ {
		b.WriteString(lines[at-1])
	}
	return b.String()
}
