package safetext_test

import (
	"strings"
	"testing"

	"svc/safetext"
)

func TestKeysPassAndAnswersDoNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, raw, want string }{
		{"keys", "yes\r\x03\x1b[A\x1b[1;5C\x1b[3~\x1bx\x1b\x1b", "yes\r\x03\x1b[A\x1b[1;5C\x1b[3~\x1bx\x1b\x1b"},
		{"alt and a bracket", "\x1b]52 \x1b]x", "\x1b]52 \x1b]x"},
		{"alt and P", "\x1bPs\x1bP>\r", "\x1bPs\x1bP>\r"},
		{"a paste", "\x1b[200~50t \x1b[201~", "\x1b[200~50t \x1b[201~"},
		{"the mouse", "\x1b[<0;10;5M", "\x1b[<0;10;5M"},
		{"what the terminal is", "\x1b[?62;22c\x1b[I", "\x1b[?62;22c\x1b[I"},
		{"the clipboard", "a\x1b]52;c;c2VjcmV0\ab", "ab"},
		{"the clipboard by ST", "a\x1b]52;c;c2VjcmV0\x1b\\b", "ab"},
		{"a device string", "a\x1bP1$r0m\x1b\\\x1bP>|XTerm(370)\x1b\\\x1bP!|00000000\x1b\\b", "ab"},
		{"passthrough", "a\x1bPtmux;\x1b\\b", "ab"},
		{"a report about the window", "a\x1b[8;50;220tb", "ab"},
		{"an answer that a key breaks off", "a\x1b]52;c;c2Vj\x1b[Ab\x1b]52;c;c2Vj\rc", "a\x1b[Ab\rc"},
	} {
		var f safetext.Input
		if got := string(f.Append(nil, []byte(c.raw))); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAnAnswerInPiecesLosesItsContent(t *testing.T) {
	t.Parallel()
	const raw = "a\x1b]52;c;c2VjcmV0\x1b\\b"
	for i := range len(raw) {
		var f safetext.Input
		out := f.Append(nil, []byte(raw[:i]))
		out = f.Append(out, []byte(raw[i:]))
		if got := string(out); strings.Contains(got, "2Vj") || !strings.HasSuffix(got, "b") {
			t.Errorf("cut at %d: the agent gets %q", i, got)
		}
	}
}
