package safetext

import "unicode/utf8"

// Filter removes everything from a terminal's byte stream that its policy does not allow. It keeps its state between
// calls, so the input may be split within a sequence. Except with [Relay], the output is valid UTF-8, and it contains
// whole sequences only. Strings (titles, clipboard, passthrough, images) are always removed.
//
// The 8-bit forms of control characters (U+0080 to U+009F, such as U+009B for ESC [) are treated like the sequences
// that they stand for. A byte that is not valid UTF-8 becomes U+FFFD.
type Filter struct {
	keep  policy
	state state
	bell  bool // the string may also end with BEL: OSC
	held  bool // a carriage return is held back until the next byte is known
	seq   []byte
	part  []byte // the first bytes of an incomplete character
	cut   bool   // something was removed after the last byte of the output
}

// policy defines what is allowed besides text.
type policy struct {
	controls string
	collapse bool // several carriage returns become one, and those before a line end are removed
	sequence func(seq []byte) bool
	exact    bool // every other byte is copied unchanged
}

type state int

const (
	inText         state = iota
	inEscape             // after ESC
	inIntermediate       // after ESC and an intermediate byte, as in ESC ( B
	inCSI                // after ESC [
	inString             // after ESC ] and the other string openers, until the terminator
	inStringEscape       // after an ESC in a string
)

const (
	ctlBell   = 0x07
	ctlCancel = 0x18
	ctlSub    = 0x1a
	ctlEscape = 0x1b
	ctlDelete = 0x7f
)

// maxSequence is the maximum length of an allowed sequence in bytes. The sequences of real terminals are much
// shorter.
const maxSequence = 128

// Plain allows text, tabs and line ends. A single carriage return is allowed too: progress lines use it to overwrite
// themselves.
func Plain() *Filter {
	return &Filter{keep: policy{controls: "\t\n", collapse: true, sequence: func([]byte) bool { return false }}}
}

// Log allows what [Plain] allows, and colours.
func Log() *Filter {
	return &Filter{keep: policy{controls: "\t\n", collapse: true, sequence: isColour}}
}

// Terminal allows what an attached session draws on the user's terminal: text, colours, cursor movement, clearing,
// and the modes of keyboard, mouse and screen. It removes titles, the clipboard, links, images, passthrough, window
// operations, resets and every query that the terminal would reply to.
func Terminal() *Filter {
	return &Filter{keep: policy{controls: "\a\b\t\n\v\f\r\x0e\x0f", sequence: draws}}
}

// Relay is for the orchestrator, which sits between a session and unknown clients. It removes strings (clipboard,
// titles, links, passthrough, images), window operations, resets and queries, and copies every other byte unchanged.
func Relay() *Filter {
	return &Filter{keep: policy{exact: true, sequence: func(seq []byte) bool { return !commands(seq) }}}
}

// Colours returns a screen with its text and colours only.
func Colours(s string) Text {
	if isPlain(s) {
		return Text(s)
	}
	f := Filter{keep: policy{controls: "\t\n", sequence: isColour}}
	return Text(f.Finish(f.Append(make([]byte, 0, len(s)), []byte(s))))
}

// Append appends the allowed part of b to out.
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
			out, b = append(out, b[0]), b[1:] // unless it would complete a character across the removed part
			f.cut = false
			continue
		}
		out, b = f.wide(out, r), b[size:]
	}
	return out
}

// Finish ends the stream and appends the bytes that were held back.
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

// wide processes a character beyond ASCII.
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
		f.state = inText // no sequence contains such a character; it is removed together with the unfinished sequence
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
		f.begin(inEscape) // another sequence has ended the string
	}
	if (c < ' ' || c == ctlDelete) && (f.state == inText || !f.keep.exact) {
		return f.control(out, c) // is executed at once, also inside a sequence
	}
	if f.state == inText {
		return append(f.release(out), c)
	}
	if len(f.seq) < maxSequence {
		f.seq = append(f.seq, c)
	}
	if c < ' ' || c == ctlDelete {
		return out // stays at its place in the sequence
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

// opened processes the byte after ESC.
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

// end processes the end of a sequence.
func (f *Filter) end(out []byte) []byte {
	f.state = inText
	if len(f.seq) < maxSequence && f.keep.sequence(f.seq) {
		out = append(f.release(out), f.seq...)
		f.cut = false
	}
	return out
}

// string processes a byte of a string, which is always removed. A line end ends an OSC, because an OSC never contains
// one: so an unfinished title removes the rest of its line, not the rest of a log.
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
