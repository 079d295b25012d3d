package hub

import (
	"strings"
	"testing"

	"svc"
)

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
