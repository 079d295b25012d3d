package cli

import (
	"testing"

	"pgregory.net/rapid"
)

func TestPrefixKeyFindsTheWayOutAndLetsAllElseThrough(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typed  []string // one element for each read
		sent   string
		detach bool
		held   bool
	}{
		"plain keys":                {typed: []string{"hello\r"}, sent: "hello\r"},
		"prefix and d":              {typed: []string{"\x1cd"}, detach: true},
		"prefix and d apart":        {typed: []string{"ab\x1c", "d"}, sent: "ab", detach: true},
		"what follows d is dropped": {typed: []string{"a\x1cdb"}, sent: "a", detach: true},
		"prefix alone waits":        {typed: []string{"\x1c"}, held: true},
		"prefix and another key":    {typed: []string{"\x1c", "x"}, sent: "\x1cx"},
		"prefix twice":              {typed: []string{"\x1c\x1c"}, sent: "\x1c", held: true},
		"prefix twice and d":        {typed: []string{"\x1c\x1cd"}, sent: "\x1c", detach: true},
		"d without prefix":          {typed: []string{"d"}, sent: "d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p prefixKey
			var sent []byte
			detach := false
			for _, typed := range c.typed {
				send, out := p.feed([]byte(typed))
				sent, detach = append(sent, send...), detach || out
			}
			if string(sent) != c.sent || detach != c.detach || p.held != c.held {
				t.Errorf("sent %q, detach %v, held %v; want %q, %v, %v", sent, detach, p.held, c.sent, c.detach, c.held)
			}
		})
	}
}

// Input without "Ctrl-\ d" arrives complete and in order, however it
// is split into reads, and whenever the wait ends.
func TestPrefixKeyLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		reads := rapid.SliceOf(rapid.SliceOfN(rapid.SampledFrom([]byte{'a', 'x', prefixByte, '\r'}), 1, 5)).Draw(t, "reads")
		var p prefixKey
		var typed, sent []byte
		for _, r := range reads {
			typed = append(typed, r...)
			send, detach := p.feed(r)
			if detach {
				t.Fatal("detached without a d")
			}
			sent = append(sent, send...)
			if rapid.Bool().Draw(t, "the wait runs out") {
				sent = append(sent, p.expire()...)
			}
		}
		sent = append(sent, p.expire()...)
		if string(sent) != string(typed) {
			t.Fatalf("sent %q, want %q", sent, typed)
		}
	})
}

func TestBoxedShowsTheLastRowsCutToTheWindow(t *testing.T) {
	t.Parallel()
	capture := "one\ntwo\n\x1b[31mthree and more\x1b[0m\n\n\n"
	got := boxed(capture, 5, 3, "NOTICE")
	want := "\x1b[?2026h\x1b[?25l\x1b[0m\x1b[H" +
		"two\x1b[0m\x1b[K\r\n" + "\x1b[31mthree\x1b[0m\x1b[0m\x1b[K\r\n" +
		"\x1b[J\x1b[3;1H\x1b[7mNOTIC\x1b[0m\x1b[?2026l"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
