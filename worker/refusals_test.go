package worker

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"svc/wire"
)

func TestRefusedFramesAreLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Now()
	log := slog.New(slog.NewTextHandler(&out, nil))
	var r refusals
	for range 120 {
		r.note(log, now, &wire.Error{Code: "not_found", Message: "no run"})
		now = now.Add(time.Second)
	}
	r.note(log, now, &wire.Error{Code: "validation", Message: "another thing"})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, not 3:\n%s", len(lines), out.String())
	}
	if !strings.Contains(lines[1], "refused_since_last_line=59") {
		t.Errorf("the second line does not count: %s", lines[1])
	}
}
