package review

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Quote returns a file name as git prints it in a line of text: unchanged, unless it contains control characters,
// quotes, backslashes or invalid UTF-8. Such a name is put in double quotes and these characters are escaped.
// Different names always give different results.
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

// The escaped bytes and, in the same order, the letters that follow the backslash.
const (
	escaped = "\a\b\t\n\v\f\r\"\\"
	escapes = `abtnvfr"\`
)

func needsQuotes(name string) bool {
	return !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' })
}

// unquote reads a name in git's quotes, and returns it with the text after the closing quote.
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

// Unquote is the inverse of Quote. A text that is not in quotes is returned unchanged.
func Unquote(text string) string {
	if name, rest, ok := unquote(text); ok && rest == "" {
		return name
	}
	return text
}

// nameOf reads the name in a header line, in quotes or up to the end of the line, and removes the prefix of its side
// ("a/" or "b/").
func nameOf(text, prefix string) (string, bool) {
	name, rest, quoted := unquote(text)
	if !quoted {
		name, rest = strings.TrimSuffix(text, "\t"), "" // git appends a tab to a name that contains blanks
	}
	if rest != "" && rest != "\t" {
		return "", false
	}
	return strings.CutPrefix(name, prefix)
}

// bothNames reads the name from "diff --git a/x b/x". It requires both to be the same: git writes different names in
// header lines of their own.
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
