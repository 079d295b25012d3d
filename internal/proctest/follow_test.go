package proctest

import (
	"strings"
	"testing"
)

func TestAStreamMayEndAnywhere(t *testing.T) {
	t.Parallel()
	const all = "id: 1\nevent: run.queued\ndata: {\"run_id\":\"a\"}\n\nid: 2\nevent: run.started\ndata: {\"run_id\":\"a\"}\n\n"
	for end := range len(all) + 1 {
		f := &Follower{news: make(chan struct{})}
		f.read(strings.NewReader(all[:end]))
		if want := strings.Count(all[:end], "\n\n"); len(f.events) != want || f.broken != "" {
			t.Errorf("cut after %q: %d events, want %d; breach: %q", all[:end], len(f.events), want, f.broken)
		}
	}
}

func TestAFollowerFindsABreach(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{
		"id: 2\nevent: run.queued\ndata: {}\n\n", // a gap
		"id: 1\nevent: run.queued\ndata: {}\n\nid: 1\nevent: run.queued\ndata: {}\n\n",
		"id: 1\nevent: run.queued\ndata: {\n\n",
		"id: one\nevent: run.queued\ndata: {}\n\n",
	} {
		f := &Follower{news: make(chan struct{})}
		f.read(strings.NewReader(stream))
		if f.broken == "" {
			t.Errorf("%q passes", stream)
		}
	}
}
