package safetext_test

import (
	"testing"

	"svc/safetext"
)

func TestARelayPassesEveryByteButCommands(t *testing.T) {
	t.Parallel()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, c := range []struct{ name, raw, want string }{
		{"every byte", string(all), string(all)},
		{"what draws", "\x1b[31m\x1b[?9001h\x1b[3;4Hx\x1b(B\x1b7", "\x1b[31m\x1b[?9001h\x1b[3;4Hx\x1b(B\x1b7"},
		{"commands", "a\x1b]52;c;eA==\a\x1bPtmux;\x1b\x1b]0;t\a\x1b\\\x1b[8;1;1t\x1b[c\x1b[>q\x1b[?2026$p\u009b6n\x1bcb", "ab"},
		{"a control inside a command", "a\x1b[6\nnb", "ab"},
		{"a command that would leave another", "\xc2\x1b]0;t\a\x9b6n", "\xc2\ufffd6n"},
	} {
		everyCut(t, c.name, safetext.Relay, c.raw, c.want)
	}
}
