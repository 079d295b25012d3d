package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns s as one line: line ends and tabs become blanks, and invisible characters are replaced by a visible
// form.
func Line(s string) Text {
	return visible(s, func(r rune) (string, bool) { return " ", r == '\n' || r == '\r' || r == '\t' })
}

// Lines returns s as several lines: line ends and tabs stay, a carriage return before a line end is removed, and
// invisible characters are replaced by a visible form.
func Lines(s string) Text {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return visible(s, func(r rune) (string, bool) { return string(r), r == '\n' || r == '\t' })
}

// visible replaces the invisible characters by a visible form, except those that layout accepts.
func visible(s string, layout func(rune) (string, bool)) Text {
	if isPlain(s) {
		return Text(s)
	}
	var b strings.Builder
	before := rune(-1)
	for i, r := range s {
		size := 1
		if r != utf8.RuneError {
			size = utf8.RuneLen(r)
		} else if strings.HasPrefix(s[i:], "\ufffd") {
			size = len("\ufffd")
		}
		after, _ := utf8.DecodeRuneInString(s[i+size:])
		if text, ok := layout(r); ok {
			b.WriteString(text)
		} else if hidden(before, r, after) {
			b.WriteString(visibleForm(r))
		} else {
			b.WriteRune(r)
		}
		before = r
	}
	return Text(b.String())
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// visibleForm returns the visible form of an invisible character: a symbol for ASCII control characters, and the code
// point for all others.
func visibleForm(r rune) string {
	switch {
	case r < ' ':
		return string(0x2400 + r)
	case r == 0x7f:
		return "␡"
	}
	return fmt.Sprintf("<U+%04X>", r)
}

// hidden reports whether a character controls a terminal, or hides or reorders the text around it. A joiner is not
// hidden where it belongs to the text: between letters of the scripts that use it, and between the parts of an emoji.
func hidden(before, r, after rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0:
		return true
	case r < 0xad:
		return false
	case r == zeroWidthNonJoiner, r == zeroWidthJoiner:
		return !(joins(before) && joins(after) || r == zeroWidthJoiner && isEmoji(before) && isEmoji(after))
	case r >= 0xe0020 && r <= 0xe007f: // the tags of a flag emoji
		return !(isEmoji(before) || before >= 0xe0020 && before <= 0xe007f)
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(invisible, r)
}

const (
	zeroWidthNonJoiner = 0x200c
	zeroWidthJoiner    = 0x200d
)

// invisible contains the characters without a visible shape that are not in category Cf: separators, fillers, and
// variation selectors other than those that emoji use.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, {Lo: 0x115f, Hi: 0x1160, Stride: 1}, {Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
		{Lo: 0x180b, Hi: 0x180f, Stride: 1}, {Lo: 0x2028, Hi: 0x2029, Stride: 1}, {Lo: 0x2065, Hi: 0x2065, Stride: 1},
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xfe00, Hi: 0xfe0d, Stride: 1},
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1}},
}

func joins(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}

// isEmoji is deliberately imprecise: it only decides where a joiner is harmless.
func isEmoji(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff || r == 0xfe0f
}

// JSON replaces the invisible characters in a JSON text by JSON escapes. A parser returns the same values as before.
func JSON(b []byte) []byte {
	if isPlain(strings.ReplaceAll(string(b), "\n", "")) {
		return b
	}
	out := make([]byte, 0, len(b)+len(b)/8)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		switch {
		case r == '\n' || r >= ' ' && r < 0x7f:
			out = append(out, b[0])
		case r == utf8.RuneError && size == 1:
			out = append(out, `\ufffd`...)
		case !hidden(-1, r, -1):
			out = append(out, b[:size]...)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		b = b[size:]
	}
	return out
}
