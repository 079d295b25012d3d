package hub

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"svc"
)

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
	{"UTF-8 stays", "日本語 ü \u009b31m €", "日本語 ü \u009b31m €"},
	{"an escape at the end", "text\x1b", "text"},
	{"nothing", "", ""},
}

func strip(pieces ...string) string {
	var s stripper
	var out []byte
	for _, p := range pieces {
		out = s.append(out, []byte(p))
	}
	return string(s.finish(out))
}

func TestTextIsWithoutSequencesWhereverItIsCut(t *testing.T) {
	t.Parallel()
	for _, tt := range stripped {
		if got := strip(tt.raw); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		for i := range tt.raw {
			if got := strip(tt.raw[:i], tt.raw[i:]); got != tt.want {
				t.Errorf("%s, cut at %d: got %q, want %q", tt.name, i, got, tt.want)
			}
		}
		if got := strip(strings.Split(tt.raw, "")...); got != tt.want {
			t.Errorf("%s, character by character: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNoControlCharacterOfAnyStreamGetsThrough(t *testing.T) {
	t.Parallel()
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"\x1b", "[", "]", "P", "\x07", "\\", "\r", "\n", "m", "0;1", "(", "text", "\x18"}),
		rapid.StringN(0, 5, 20),
	)
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(piece).Draw(t, "pieces")
		got := strip(pieces...)
		if got != strip(strings.Join(pieces, "")) {
			t.Fatal("cuts change the text")
		}
		for _, c := range got {
			if c < 0x80 && unicode.IsControl(c) && !strings.ContainsRune("\r\n\t", c) {
				t.Fatalf("%q got through", c)
			}
		}
		if strings.Contains(got, "\r\n") || strings.Contains(got, "\r\r") {
			t.Fatalf("carriage returns in %q", got)
		}
	})
}

func TestALogIsReadAsTextOverManyChunks(t *testing.T) {
	t.Parallel()
	r, run := newRelay(t), svc.NewRunID()
	line := "\x1b[31mrot\x1b[0m 日本語\x1b]0;t\x07\r\n"
	for range 5000 {
		appendLog(t, r, run, 1, line)
	}
	if got := readLog(t, r, run, LogQuery{Tail: -1, Text: true}); got != strings.Repeat("rot 日本語\n", 5000) {
		t.Errorf("got %d bytes that begin with %.40q", len(got), got)
	}
	if got := readLog(t, r, run, LogQuery{Tail: 2, Text: true}); got != strings.Repeat("rot 日本語\n", 2) {
		t.Errorf("tail: %q", got)
	}
}
