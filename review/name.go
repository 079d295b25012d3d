package review

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Quote is a file's name as a line of text shows it, by git's rule: as it is, unless it has control characters, quotes,
// backslashes or bytes that are no UTF-8; then in double quotes, with those escaped. Different names stay different.
func Quote(name string) string {
	if !needsQuotes(name) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for rest := name; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		c := rest[0]
		rest = rest[size:]
		i := strings.IndexByte(escaped, c)
		switch {
		case size == 1 && i >= 0:
			b.WriteByte('\\')
			b.WriteByte(escapes[i])
		case size == 1 && (r == utf8.RuneError || c < ' ' || c == 0x7f):
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// The bytes that are escaped, and the letters that follow the backslash, in the same order.
const (
	escaped = "\a\b\t\n\v\f\r\"\\"
	escapes = `abtnvfr"\`
)

func needsQuotes(name string) bool {
	return !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' })
}

// unquote reads a name that git has put in quotes, and what follows it.
func unquote(text string) (name, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", text, false
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c != '\\':
			b.WriteByte(c)
		case i+1 < len(text) && strings.IndexByte(escapes, text[i+1]) >= 0:
			i++
			b.WriteByte(escaped[strings.IndexByte(escapes, text[i])])
		case i+3 < len(text) && isOctal(text[i+1:i+4]):
			b.WriteByte((text[i+1]-'0')<<6 | (text[i+2]-'0')<<3 | (text[i+3] - '0'))
			i += 3
		default:
			return "", text, false
		}
	}
	return "", text, false
}

func isOctal(digits string) bool {
	return digits[0] <= '3' && strings.Trim(digits, "01234567") == ""
}

// Unquote is the name that Quote has made a text of. A text that is not in quotes is the name itself.
func Unquote(text string) string {
	if name, rest, ok := unquote(text); ok && rest == "" {
		return name
	}
	return text
}

// nameOf reads a name of a header line: in quotes or to the end of the line, without the prefix of its side.
func nameOf(text, prefix string) (string, bool) {
	name, rest, quoted := unquote(text)
	if !quoted {
		name, rest = strings.TrimSuffix(text, "\t"), "" // git ends a name with blanks by a tab
	}
	if rest != "" && rest != "\t" {
		return "", false
	}
	return strings.CutPrefix(name, prefix)
}

// bothNames reads the names of "diff --git a/x b/x", which are the same: git says otherwise in lines of its own.
func bothNames(text string) (string, bool) {
	if one, rest, ok := unquote(text); ok {
		two, ok := nameOf(strings.TrimPrefix(rest, " "), "b/")
		one, isA := strings.CutPrefix(one, "a/")
		return one, ok && isA && one == two
	}
	half := len(text) / 2
	if len(text)%2 == 0 || text[half] != ' ' {
		return "", false
	}
	one, isA := strings.CutPrefix(text[:half], "a/")
	two, isB := strings.CutPrefix(text[half+1:], "b/")
	return one, isA && isB && one == two
}
