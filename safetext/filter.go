package safetext

import "unicode/utf8"

// Filter takes from a terminal's byte stream what its policy does not keep. It
// keeps its place between calls, so a sequence may be cut anywhere; what it gives out
// is valid UTF-8 and holds whole sequences only. Strings (titles, clipboard, passthrough,
// images) are never kept.
//
// The 8-bit forms of sequences are those of UTF-8 terminals (U+009B and its like), and
// are treated as what they stand for. A byte that is no UTF-8 becomes U+FFFD.
type Filter struct {
	keep  policy
	state state
	bell  bool // the string may end with BEL too: OSC
	held  bool // a carriage return waits for what follows it
	seq   []byte
	part  []byte // the beginning of a character
	cut   bool   // something was dropped after the last byte that passed
}

// policy says what passes besides text.
type policy struct {
	controls string
	collapse bool // several carriage returns are one, and none before a line end
	sequence func(seq []byte) bool
	exact    bool // every other byte passes as it is
}

type state int

const (
	inText         state = iota
	inEscape             // after ESC
	inIntermediate       // after ESC and a byte that announces more, as in a charset's ESC ( B
	inCSI                // after ESC [
	inString             // after ESC ] and the other openers, until its terminator
	inStringEscape       // after an ESC in a string
)

const (
	ctlBell   = 0x07
	ctlCancel = 0x18
	ctlSub    = 0x1a
	ctlEscape = 0x1b
	ctlDelete = 0x7f
)

// maxSequence bounds a sequence that is kept: those of our terminals are far
// shorter.
const maxSequence = 128

// Plain keeps text, tabs and line ends. A carriage return that stands alone is
// kept: a progress line that rewrites itself.
func Plain() *Filter {
	return &Filter{keep: policy{controls: "\t\n", collapse: true, sequence: func([]byte) bool { return false }}}
}

// Log keeps what [Plain] does, and colours.
func Log() *Filter {
	return &Filter{keep: policy{controls: "\t\n", collapse: true, sequence: isColour}}
}

// Terminal keeps what draws on the terminal of someone who is attached: text,
// colours, the cursor, clearing, and the modes of keyboard, mouse and screen. It drops
// titles, the clipboard, links, images, passthrough, window operations, resets and
// every question that the terminal would answer.
func Terminal() *Filter {
	return &Filter{keep: policy{controls: "\a\b\t\n\v\f\r\x0e\x0f", sequence: draws}}
}

// Relay is for an orchestrator between a session and the clients that it cannot know: it takes out the
// strings (clipboard, titles, links, passthrough, images), window operations, resets and
// questions, and passes every other byte as it is.
func Relay() *Filter {
	return &Filter{keep: policy{exact: true, sequence: func(seq []byte) bool { return !commands(seq) }}}
}

// Colours is a screen with its colours and nothing else.
func Colours(s string) Text {
	if isPlain(s) {
		return Text(s)
	}
	f := Filter{keep: policy{controls: "\t\n", sequence: isColour}}
	return Text(f.Finish(f.Append(make([]byte, 0, len(s)), []byte(s))))
}

// Append adds what is kept of b to out.
func (f *Filter) Append(out, b []byte) []byte {
	if len(f.part) > 0 {
		b = append(f.part, b...)
		f.part = nil
	}
	for len(b) > 0 {
		if f.state == inText && !f.held {
			n := plainBytes(b)
			out, b = append(out, b[:n]...), b[n:]
			f.cut = f.cut && n == 0
			if len(b) == 0 {
				break
			}
		}
		if b[0] < utf8.RuneSelf {
			out, b = f.ascii(out, b[0]), b[1:]
			continue
		}
		if !utf8.FullRune(b) {
			f.part = append([]byte(nil), b...)
			break
		}
		r, size := utf8.DecodeRune(b)
		if f.keep.exact && r == utf8.RuneError && size == 1 && f.state == inText && !(f.cut && b[0] < 0xc0) {
			out, b = append(out, b[0]), b[1:] // unless it would complete a character across what was dropped
			f.cut = false
			continue
		}
		out, b = f.wide(out, r), b[size:]
	}
	return out
}

// Finish adds what was held back for bytes that will not come.
func (f *Filter) Finish(out []byte) []byte {
	switch part := f.part; {
	case len(part) == 0:
	case f.keep.exact && f.state == inText:
		out = append(out, part...)
	default:
		out = f.wide(out, utf8.RuneError)
	}
	f.part, f.state = nil, inText
	return f.release(out)
}

func (f *Filter) release(out []byte) []byte {
	if f.held {
		f.held = false
		out = append(out, '\r')
	}
	return out
}

func plainBytes(b []byte) int {
	for i, c := range b {
		if c < ' ' || c > '~' {
			return i
		}
	}
	return len(b)
}

// wide takes a character beyond ASCII.
func (f *Filter) wide(out []byte, r rune) []byte {
	if r >= 0x80 && r < 0xa0 {
		return f.ascii(f.ascii(out, ctlEscape), byte(r-0x40))
	}
	switch f.state {
	case inText:
		f.cut = false
		return utf8.AppendRune(f.release(out), r)
	case inString:
	case inStringEscape:
		f.state = inString
	default:
		f.state = inText // no sequence has such a character; it is dropped with what it broke off
	}
	return out
}

func (f *Filter) ascii(out []byte, c byte) []byte {
	switch {
	case c == ctlEscape:
		f.escape()
		return out
	case c == ctlCancel || c == ctlSub:
		f.state = inText
		return f.control(out, c)
	case f.state == inString:
		return f.string(out, c)
	case f.state == inStringEscape:
		if c == '\\' {
			f.state = inText
			return out
		}
		f.begin(inEscape) // the string was broken off by another sequence
	}
	if (c < ' ' || c == ctlDelete) && (f.state == inText || !f.keep.exact) {
		return f.control(out, c) // acts at once, also inside a sequence
	}
	if f.state == inText {
		return append(f.release(out), c)
	}
	if len(f.seq) < maxSequence {
		f.seq = append(f.seq, c)
	}
	if c < ' ' || c == ctlDelete {
		return out // stays where it is in the sequence
	}
	switch f.state {
	case inEscape:
		return f.opened(out, c)
	case inIntermediate:
		if c >= 0x30 {
			return f.end(out)
		}
	case inCSI:
		if c >= 0x40 {
			return f.end(out)
		}
	}
	return out
}

func (f *Filter) escape() {
	if f.state == inString {
		f.state = inStringEscape
		return
	}
	f.begin(inEscape)
}

func (f *Filter) begin(s state) {
	f.state, f.seq, f.cut = s, append(f.seq[:0], ctlEscape), true
}

// opened takes the byte after ESC.
func (f *Filter) opened(out []byte, c byte) []byte {
	switch {
	case c == '[':
		f.state = inCSI
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		f.state, f.bell = inString, c == ']'
	case c < 0x30:
		f.state = inIntermediate
	default:
		return f.end(out)
	}
	return out
}

// end is after the last byte of a sequence.
func (f *Filter) end(out []byte) []byte {
	f.state = inText
	if len(f.seq) < maxSequence && f.keep.sequence(f.seq) {
		out = append(f.release(out), f.seq...)
		f.cut = false
	}
	return out
}

// string drops what a string carries. A line end breaks off an OSC, which never
// has one: a title that was cut short costs its line, not the rest of a log.
func (f *Filter) string(out []byte, c byte) []byte {
	switch {
	case c == ctlBell && f.bell:
		f.state = inText
	case c == '\n' && f.bell:
		f.state = inText
		return f.control(out, c)
	}
	return out
}

func (f *Filter) control(out []byte, c byte) []byte {
	switch {
	case f.keep.collapse && c == '\r':
		f.held = true
	case f.keep.collapse && c == '\n':
		f.held = false
		return append(out, c)
	case f.keep.exact:
		f.cut = false
		return append(out, c)
	default:
		for i := range len(f.keep.controls) {
			if f.keep.controls[i] == c {
				return append(f.release(out), c)
			}
		}
	}
	return out
}
