package safetext

import "regexp"

// Input removes from a terminal's input the replies to queries that a session is not allowed to make: the content of
// the clipboard, identification strings, and reports about the window. All other input is keys and is passed on at
// once. Nothing is held back, so of a reply that is split across two reads the first bytes are passed on and only the
// rest is removed.
type Input struct {
	seq      []byte // the current sequence; empty: none
	dropping bool   // inside the content of a reply
	escaped  bool   // after an ESC inside that content
}

var (
	// answerBegins matches the beginning of a reply whose content is a string.
	answerBegins = regexp.MustCompile(`^\x1b(?:\]52;|P(?:[01]?[$+]r|[>!]\||tmux;))$`)
	// windowReport matches a complete reply about the window.
	windowReport = regexp.MustCompile(`^\x1b\[[0-9;]*t$`)
	// mayAnswer matches the beginning of a sequence that may still become one of the two.
	mayAnswer = regexp.MustCompile(`^\x1b(?:\](?:5(?:2;?)?)?|P(?:[01]?[$+]?|[>!]|t|tm|tmu|tmux)|\[[0-9;]{0,32})?$`)
)

// Append appends the allowed part of b to out.
func (f *Input) Append(out, b []byte) []byte {
	began := len(out) // position in out at which the current sequence began
	for _, c := range b {
		if f.dropping {
			escaped := f.escaped
			if !f.ends(c) {
				continue
			}
			if escaped { // the ESC was a key
				began = len(out)
				out, f.seq = append(out, ctlEscape), append(f.seq[:0], ctlEscape)
			}
		}
		if c == ctlEscape {
			f.seq, began = f.seq[:0], len(out)
		}
		out = append(out, c)
		if c == ctlEscape || len(f.seq) > 0 {
			f.seq = append(f.seq, c)
			out = f.match(out, began)
		}
	}
	return out
}

// match checks the sequence so far and removes a reply from out.
func (f *Input) match(out []byte, began int) []byte {
	switch {
	case answerBegins.Match(f.seq):
		f.dropping = true
		out, f.seq = out[:began], f.seq[:0]
	case windowReport.Match(f.seq):
		out, f.seq = out[:began], f.seq[:0]
	case !mayAnswer.Match(f.seq):
		f.seq = f.seq[:0]
	}
	return out
}

// ends processes a byte of a reply's content, and reports whether the byte is a key: such a reply contains no control
// characters, so the first one ends it.
func (f *Input) ends(c byte) (key bool) {
	switch {
	case f.escaped:
		f.escaped, f.dropping = false, false
		return c != '\\'
	case c == ctlEscape:
		f.escaped = true
	case c == ctlBell:
		f.dropping = false
	case c < ' ':
		f.dropping = false
		return true
	}
	return false
}
