package tmux

import (
	"strings"
	"unicode/utf8"
)

// cleanCapture reduces the output of capture-pane -e to text and, with colors, SGR sequences. It replaces the
// alternate character set (between SO and SI) by the line drawing characters that it encodes, drops every other
// sequence, and trims invisible blanks.
func cleanCapture(raw string, colors bool) string {
	c := cleaner{colors: colors}
	c.out.Grow(len(raw) / 2)
	for raw != "" {
		if n := plainLength(raw); n > 0 && !c.drawing {
			c.text(raw[:n])
			raw = raw[n:]
			continue
		}
		char, size := utf8.DecodeRuneInString(raw)
		switch char {
		case 0x1b:
			size = c.escape(raw)
		case 0x0e, 0x0f:
			c.drawing = char == 0x0e
		case '\n':
			c.endRow()
		default:
			c.print(char, raw[:size])
		}
		raw = raw[size:]
	}
	c.endRow()
	text := strings.TrimSuffix(c.out.String(), "\n")
	if colors && c.style != 0 {
		text += "\x1b[0m"
	}
	return text
}

type cleaner struct {
	out     strings.Builder
	colors  bool
	drawing bool // the alternate character set is active
	style   style
	blanks  []byte // blanks and sequences not written before the next visible character
}

// plainLength returns how many bytes from the start are neither control characters nor part of a sequence. Most
// of a screen is such text, and many screens are captured each second.
func plainLength(raw string) int {
	for i := range len(raw) {
		if raw[i] < 0x20 || raw[i] == 0x7f {
			return i
		}
	}
	return len(raw)
}

// text writes characters unchanged; blanks at their end are handled as in print.
func (c *cleaner) text(chars string) {
	end := len(chars)
	if !c.colors || !c.style.showsBlanks() {
		end = len(strings.TrimRight(chars, " "))
	}
	if end > 0 {
		c.flush()
		c.out.WriteString(chars[:end])
	}
	c.blanks = append(c.blanks, chars[end:]...)
}

// print writes a character. An invisible blank is held back until something follows it.
func (c *cleaner) print(char rune, text string) {
	if char == ' ' && !(c.colors && c.style.showsBlanks()) {
		c.blanks = append(c.blanks, ' ')
		return
	}
	if c.drawing && char < utf8.RuneSelf {
		if drawn, ok := lineDrawing[byte(char)]; ok {
			text = string(drawn)
		}
	}
	c.flush()
	if char >= 0x20 && char != 0x7f {
		c.out.WriteString(text)
	}
}

func (c *cleaner) flush() {
	c.out.Write(c.blanks)
	c.blanks = c.blanks[:0]
}

// endRow drops the blanks that are held back, but keeps the changes of attributes among them.
func (c *cleaner) endRow() {
	for _, b := range c.blanks {
		if b != ' ' {
			c.out.WriteByte(b)
		}
	}
	c.blanks = c.blanks[:0]
	c.out.WriteByte('\n')
}

// escape handles the sequence at the start of raw and returns its length.
func (c *cleaner) escape(raw string) int {
	if len(raw) < 2 {
		return len(raw)
	}
	switch raw[1] {
	case '[':
		end := strings.IndexFunc(raw[2:], func(r rune) bool { return r < 0x20 || r > 0x3f })
		if end < 0 {
			return len(raw)
		}
		final := 2 + end
		if raw[final] < 0x40 || raw[final] > 0x7e {
			return final // the sequence is incomplete
		}
		if raw[final] == 'm' {
			c.sgr(raw[:final+1])
		}
		return final + 1
	case ']', 'P', '_', '^', 'X':
		return stringSequence(raw)
	case '(', ')':
		return min(3, len(raw))
	}
	return 2
}

// stringSequence returns the length of a sequence that ends with BEL or ST.
func stringSequence(raw string) int {
	bell := strings.IndexByte(raw, 0x07)
	st := strings.Index(raw[1:], "\x1b\\")
	switch {
	case st >= 0 && (bell < 0 || st+1 < bell):
		return 1 + st + 2
	case bell >= 0:
		return bell + 1
	}
	return len(raw)
}

func (c *cleaner) sgr(sequence string) {
	c.style = c.style.after(sequence[2 : len(sequence)-1])
	if c.colors {
		c.blanks = append(c.blanks, sequence...)
	}
}
