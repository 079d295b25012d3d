package hub

// stripper removes from a terminal's byte stream what is not text: escape
// sequences of every kind and control characters. It keeps its place between
// calls, so a sequence may be cut anywhere.
//
// Tabs and line ends stay. A carriage return before a line end is dropped with
// it; one that stands alone stays (a progress line that rewrites itself), and
// several in a row are one. Bytes above 0x7f are text: the 8-bit forms of the
// sequences cannot be told from UTF-8 and no terminal in use sends them.
type stripper struct {
	state stripState
	bell  bool // the string may end with BEL too: OSC
	held  bool // a carriage return waits for what follows it
}

type stripState int

const (
	inText         stripState = iota
	inEscape                  // after ESC
	inIntermediate            // after ESC and a byte that announces more, as in a charset's ESC ( B
	inCSI                     // after ESC [
	inString                  // after ESC ] and the other openers, until its terminator
	inStringEscape            // after an ESC in a string
)

const (
	ctlBell   = 0x07
	ctlCancel = 0x18
	ctlSub    = 0x1a
	ctlEscape = 0x1b
	ctlDelete = 0x7f
)

// append adds the text in b to out.
func (s *stripper) append(out, b []byte) []byte {
	for _, c := range b {
		out = s.next(out, c)
	}
	return out
}

// finish adds what was held back for a byte that will not come.
func (s *stripper) finish(out []byte) []byte {
	if s.held {
		s.held = false
		out = append(out, '\r')
	}
	return out
}

func (s *stripper) next(out []byte, c byte) []byte {
	switch {
	case c == ctlEscape:
		s.escape()
		return out
	case c == ctlCancel || c == ctlSub:
		s.state = inText
		return out
	case s.state == inString:
		return s.inString(out, c)
	case s.state == inStringEscape:
		if c == '\\' {
			s.state = inText
			return out
		}
		s.state = inEscape // the string was broken off by another sequence
	}
	if c < 0x20 || c == ctlDelete {
		return s.control(out, c) // acts at once, also inside a sequence
	}
	switch s.state {
	case inText:
		return append(s.finish(out), c)
	case inEscape:
		s.opened(c)
	case inIntermediate:
		if c >= 0x30 {
			s.state = inText
		}
	case inCSI:
		if c >= 0x40 {
			s.state = inText
		}
	}
	return out
}

func (s *stripper) escape() {
	if s.state == inString {
		s.state = inStringEscape
		return
	}
	s.state = inEscape
}

// opened takes the byte after ESC.
func (s *stripper) opened(c byte) {
	switch {
	case c == '[':
		s.state = inCSI
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		s.state, s.bell = inString, c == ']'
	case c < 0x30:
		s.state = inIntermediate
	default:
		s.state = inText
	}
}

// inString drops what a string carries. A line end breaks off an OSC, which
// never has one: a title that was cut short costs its line, not the rest of
// the log.
func (s *stripper) inString(out []byte, c byte) []byte {
	switch {
	case c == ctlBell && s.bell:
		s.state = inText
	case c == '\n' && s.bell:
		s.state = inText
		return s.control(out, c)
	}
	return out
}

func (s *stripper) control(out []byte, c byte) []byte {
	switch c {
	case '\n':
		s.held = false
		return append(out, c)
	case '\t':
		return append(s.finish(out), c)
	case '\r':
		s.held = true
	}
	return out
}
