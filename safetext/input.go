package safetext

import "regexp"

// Input takes out of what a terminal sends the answers that nobody may ask it
// for: the content of the clipboard, strings about itself, and reports about its window. All
// else is keys, and passes at once: nothing is held back, so an answer that is cut
// across two reads loses its content but not its first bytes.
type Input struct {
	seq      []byte // the sequence that is being read; empty: none
	dropping bool   // the content of an answer
	escaped  bool   // after an ESC in it
}

var (
	// answerBegins is how an answer begins whose content is a string.
	answerBegins = regexp.MustCompile(`^\x1b(?:\]52;|P(?:[01]?[$+]r|[>!]\||tmux;))$`)
	// windowReport is a whole answer about the window.
	windowReport = regexp.MustCompile(`^\x1b\[[0-9;]*t$`)
	// mayAnswer is what one of the two may still become.
	mayAnswer = regexp.MustCompile(`^\x1b(?:\](?:5(?:2;?)?)?|P(?:[01]?[$+]?|[>!]|t|tm|tmu|tmux)|\[[0-9;]{0,32})?$`)
)

// Append adds to out what passes of b.
func (f *Input) Append(out, b []byte) []byte {
	began := len(out) // where the sequence began in out
	for _, c := range b {
		if f.dropping {
			escaped := f.escaped
			if !f.ends(c) {
				continue
			}
			if escaped { // a key after all
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

// match looks at the sequence so far and takes an answer back out.
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

// ends takes a byte of an answer, and says whether it is a key after all: an
// answer has no control characters, so the first one ends it.
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
