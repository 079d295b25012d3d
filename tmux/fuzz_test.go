package tmux

import (
	"regexp"
	"strings"
	"testing"
)

// colours matches the only sequences that a cleaned screen may have.
var colours = regexp.MustCompile("\x1b\\[[ -?]*m")

// FuzzCleanCapture cleans a screen with any content: the result has only lines, text and colours, and at most
// three times the size of the input.
func FuzzCleanCapture(f *testing.F) {
	f.Add("plain  \n\x1b[1;31mred\x1b[0m   \n\x1b[48;5;3m  \x1b[m\n", true)
	f.Add("\x0elqqk\x0f \x1b]52;c;AAAA\x07\x1bP+q\x1b\\\x9b31m", true)
	f.Add("\x1b[38;2;1m\x1b[4:3m\x1b[999999999999999999999m\x1b[;;;m \x1b[", false)
	f.Add("\x1b", true)
	f.Add("\x1b[\x1bm\x1b[1\nm\x1b[1\x07m\x1b[1ü", true)
	f.Fuzz(func(t *testing.T, raw string, colors bool) {
		got := cleanCapture(raw, colors)
		if len(got) > 3*len(raw)+len("\x1b[0m") {
			t.Fatalf("%d bytes became %d", len(raw), len(got))
		}
		rest := got
		if colors {
			rest = colours.ReplaceAllString(got, "")
		}
		if i := strings.IndexFunc(rest, func(r rune) bool { return r < 0x20 && r != '\n' || r == 0x7f }); i >= 0 {
			t.Fatalf("%q is left as %q, with %q", raw, got, rest[i])
		}
		if strings.Count(got, "\n") > strings.Count(raw, "\n") {
			t.Fatalf("%q has more lines than %q", got, raw)
		}
	})
}
