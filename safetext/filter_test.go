package safetext_test

import (
	"strings"
	"testing"

	"svc/safetext"
)

// through passes pieces to a filter one after the other and returns its output.
func through(f *safetext.Filter, pieces ...string) string {
	var out []byte
	for _, p := range pieces {
		out = f.Append(out, []byte(p))
	}
	return string(f.Finish(out))
}

// everyCut checks the filter's output for a text that is split at any position.
func everyCut(t *testing.T, name string, filter func() *safetext.Filter, raw, want string) {
	t.Helper()
	if got := through(filter(), raw); got != want {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
	for i := range len(raw) {
		if got := through(filter(), raw[:i], raw[i:]); got != want {
			t.Errorf("%s, cut at %d: got %q, want %q", name, i, got, want)
		}
	}
}

func TestAnAttachedTerminalIsOnlyDrawnOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, raw, want string }{
		{"text", "héllo 日本 ✓\r\n", "héllo 日本 ✓\r\n"},
		{"colours", "\x1b[1;38;2;1;2;3m\x1b[38:2::1:2:3mx\x1b[0m", "\x1b[1;38;2;1;2;3m\x1b[38:2::1:2:3mx\x1b[0m"},
		{"the cursor", "\x1b[H\x1b[2J\x1b[3;4H\x1b[5A\x1b[K\x1b[2;9r\x1b7\x1b8\x1bM\x1b[2 q", "\x1b[H\x1b[2J\x1b[3;4H\x1b[5A\x1b[K\x1b[2;9r\x1b7\x1b8\x1bM\x1b[2 q"},
		{"modes", "\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?2004l\x1b=\x1b>\x1b(B\x1b(0\x0e\x0f\x1b[>4;1m", "\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?2004l\x1b=\x1b>\x1b(B\x1b(0\x0e\x0f\x1b[>4;1m"},
		{"clipboard by BEL", "a\x1b]52;c;c2VjcmV0\ab", "ab"},
		{"clipboard by ST", "a\x1b]52;c;?\x1b\\b", "ab"},
		{"clipboard in 8 bits", "a\u009d52;c;c2VjcmV0\u009cb", "ab"},
		{"title", "a\x1b]0;owned\a\x1b]2;owned\x1b\\\x1bkowned\x1b\\b", "aownedb"},
		{"a link", "\x1b]8;;https://x.example\x1b\\here\x1b]8;;\x1b\\", "here"},
		{"passthrough", "a\x1bPtmux;\x1b\x1b]52;c;c2VjcmV0\a\x1b\\b", "ab"},
		{"a device string", "a\x1bP$q\"p\x1b\\\x1bP+q544e\x1b\\b", "ab"},
		{"APC, PM and SOS", "a\x1b_G\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\b", "ab"},
		{"window operations", "a\x1b[8;1;1t\x1b[21t\x1b[3;0;0t\x1b[22;0tb", "ab"},
		{"questions", "a\x1b[c\x1b[>c\x1b[=c\x1b[>q\x1b[6n\x1b[?6n\x1b[?2026$p\x1b[x\x1bZ\x05b", "ab"},
		{"questions in 8 bits", "a\u009bc\u009b6n\u009ab", "ab"},
		{"resets", "a\x1bc\x1b[!p\x1b#8\x1b%@\x1b Gb", "ab"},
		{"other modes", "a\x1b[?3h\x1b[?9001h\x1b[?25;9001h\x1b[20hb", "ab"},
		{"keyboard protocol questions", "a\x1b[?u\x1b[=1ub", "ab"},
		{"a tracking mode that hangs a terminal", "a\x1b[1;2;3;4;5Tb", "ab"},
		{"a number without use", "a\x1b[999999999bb", "ab"},
		{"an 8-bit colour", "\u009b31mx", "\x1b[31mx"},
		{"bytes that are no text", "a\x9b31m\xffb", "a\ufffd31m\ufffdb"},
		{"a sequence without end", "a\x1b[" + strings.Repeat("1;", 200) + "mb", "ab"},
		{"a string without end", "a\x1b]52;c;" + strings.Repeat("A", 5000), "a"},
		{"a string that another sequence breaks off", "\x1b]52;c;A\x1b[31mx", "\x1b[31mx"},
		{"a control inside a sequence", "\x1b[3\n1mx", "\n\x1b[31mx"},
		{"a cancelled sequence", "\x1b[3\x18x\x1b]52;c;\x1ay", "xy"},
	} {
		everyCut(t, c.name, safetext.Terminal, c.raw, c.want)
	}
}

func TestALogKeepsItsColoursAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, raw, want string }{
		{"colours", "\x1b[1;32mgreen\x1b[m\tx\r\n", "\x1b[1;32mgreen\x1b[m\tx\n"},
		{"a progress line", "10%\r20%\r\r\n", "10%\r20%\n"},
		{"clearing", "a\x1b[2J\x1b[H\x1b[3Jb", "ab"},
		{"clipboard", "a\x1b]52;c;eA==\ab", "ab"},
		{"modes and questions", "a\x1b[?1049h\x1b[6n\x1b[>4;1mb", "ab"},
		{"controls", "a\a\b\x00\x7f\x05b", "ab"},
		{"8 bits", "a\u009b2J\u0085b", "ab"},
	} {
		everyCut(t, c.name, safetext.Log, c.raw, c.want)
	}
}

func TestAScreenKeepsItsColoursAndNothingElse(t *testing.T) {
	t.Parallel()
	raw := "\x1b[31mred\x1b[0m ─\n\x1b]52;c;eA==\a\x1b[2Jtwo\x1b]0;t\x1b\\\r\u009b6n\x1bP\x1b\\end\x1b["
	if got, want := string(safetext.Colours(raw)), "\x1b[31mred\x1b[0m ─\ntwoend"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

var stripped = []struct{ name, raw, want string }{
	{"colours", "\x1b[1;32mgreen\x1b[0m plain", "green plain"},
	{"a title ended by BEL", "\x1b]0;title\x07text", "text"},
	{"a title ended by ST", "\x1b]0;title\x1b\\text", "text"},
	{"a link", "\x1b]8;;https://x.example\x1b\\here\x1b]8;;\x1b\\", "here"},
	{"a title cut off by the line's end", "\x1b]0;tit\nnext", "\nnext"},
	{"a device string with BEL and line ends inside", "\x1bPq\x07#0\n;2\x1b\\text", "text"},
	{"APC, PM and SOS", "\x1b_a\x1b\\b\x1b^c\x1b\\d\x1bXe\x1b\\f", "bdf"},
	{"a charset", "\x1b(B\x1b)0text", "text"},
	{"single escapes", "\x1b7\x1b8\x1b=\x1bM\x1bctext", "text"},
	{"private modes", "\x1b[?2004h\x1b[?25l\x1b[>4;1mtext", "text"},
	{"a sequence broken off by another", "\x1b[12\x1b[1mtext", "text"},
	{"a string broken off by another sequence", "\x1b]0;x\x1b[1mtext", "text"},
	{"a sequence that was cancelled", "\x1b[12\x18text\x1b]0;\x1amore", "textmore"},
	{"a line end inside a sequence", "\x1b[1\n2mtext", "\ntext"},
	{"line ends of a terminal", "one\r\ntwo\r\r\nthree\r\n", "one\ntwo\nthree\n"},
	{"a sequence between CR and LF", "one\r\x1b[K\ntwo", "one\ntwo"},
	{"a line that rewrites itself", "10%\r20%\r\r30%\n", "10%\r20%\r30%\n"},
	{"a CR at the end", "10%\r", "10%\r"},
	{"tabs stay, other controls go", "a\tb\x00c\x07d\x08e\x7ff\x0e\x0f", "a\tbcdef"},
	{"UTF-8 stays", "日本語 ü €", "日本語 ü €"},
	{"8-bit sequences", "a\u009b31mb\u009d0;title\u009cc", "abc"},
	{"an escape at the end", "text\x1b", "text"},
	{"nothing", "", ""},
}

func TestPlainTextHasNoSequencesWhereverItIsCut(t *testing.T) {
	t.Parallel()
	for _, c := range stripped {
		everyCut(t, c.name, safetext.Plain, c.raw, c.want)
	}
}
