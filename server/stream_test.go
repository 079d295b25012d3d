package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/api"
	"svc/internal/waittest"
)

// follow opens the stream and returns its header and its lines.
func (g *rig) follow(ctx context.Context, query string, edits ...edit) (http.Header, <-chan string) {
	g.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", g.URL+"/api/v1/events/stream"+query, nil)
	if err != nil {
		g.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+userToken)
	for _, e := range edits {
		e(req)
	}
	res, err := g.http().Do(req)
	if err != nil {
		g.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		g.Fatalf("stream%s: got %s", query, res.Status)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer func() { _ = res.Body.Close() }()
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return res.Header, lines
}

// take reads the lines of one message.
func take(t *testing.T, lines <-chan string) []string {
	t.Helper()
	var out []string
	for {
		select {
		case line, ok := <-lines:
			if !ok || line == "" {
				return out
			}
			out = append(out, line)
		case <-time.After(waittest.Patience):
			t.Fatalf("no message; so far %q", out)
		}
	}
}

func TestTheStreamBeginsNowAndSendsWhatIsJournaled(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.task()
	h, lines := g.follow(t.Context(), "")
	if h.Get("Content-Type") != "text/event-stream" || h.Get("X-Accel-Buffering") != "no" || h.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %v", h)
	}
	host := g.want(http.StatusCreated, "POST", "/api/v1/hosts", `{"name":"h"}`).JSON["id"].(string)
	m := take(t, lines)
	if len(m) != 3 || !strings.HasPrefix(m[0], "id: ") || m[1] != "event: host.created" || !strings.Contains(m[2], host) {
		t.Errorf("got %q", m)
	}
	if got := g.want(http.StatusOK, "GET", "/metrics", nil).Body; !strings.Contains(got, "svc_event_streams 1") {
		t.Error("the stream is not counted")
	}
}

func TestTheStreamResumesBehindTheCursorWithItsFilter(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.task()
	g.run()
	for query, e := range map[string]edit{
		"?topic=project.*&last_event_id=1":                       func(*http.Request) {},
		"?topic=project.created":                                 with(api.HeaderLastEventID, "1"),
		"?topic=nothing&topic=project.*&last_event_id=999999999": with(api.HeaderLastEventID, "1"),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		_, lines := g.follow(ctx, query, e)
		if m := take(t, lines); len(m) != 3 || m[1] != "event: project.created" || m[0] == "id: 1" {
			t.Errorf("%s: got %q", query, m)
		}
		cancel()
		for range lines { // until the goroutine has ended
		}
	}
}

func TestAHeadOfTheStreamEnds(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	if got := g.want(http.StatusOK, "HEAD", "/api/v1/events/stream", nil); got.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("got %v", got.Header)
	}
}

func TestTheClientFollowsTheStream(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Patience)
	defer cancel()
	g.task()
	enough := errors.New("enough")
	after := int64(0)
	var got []string
	err := g.client().Stream(ctx, api.StreamOptions{After: &after}, func(m api.Message) error {
		if got = append(got, fmt.Sprint(m.Seq, " ", m.Topic)); len(got) == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || strings.Join(got, ", ") != "1 project.created, 2 work_item.created" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestStreamsEndWhenTheServerDoes(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, lines := g.follow(t.Context(), "")
	g.Close()
	select {
	case _, open := <-lines:
		if open {
			t.Error("a message came")
		}
	case <-time.After(waittest.Patience):
		t.Error("the stream is still open")
	}
	g.refuse(http.StatusServiceUnavailable, "unavailable", "GET", "/api/v1/events/stream", nil)
}

func TestEventsAreAskedForBySubject(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, lines := g.follow(t.Context(), "?heartbeat=1s")
	if m := take(t, lines); len(m) != 1 || m[0] != ":" {
		t.Errorf("a stream that asked for heartbeats got %q", m)
	}
	host := g.want(http.StatusCreated, "POST", "/api/v1/hosts", `{"name":"h"}`).JSON["id"].(string)
	g.want(http.StatusCreated, "POST", "/api/v1/hosts", `{"name":"other"}`)
	got := g.want(http.StatusOK, "GET", "/api/v1/events?host_id="+host, nil)
	if items := got.JSON["items"].([]any); len(items) != 1 || got.JSON["purged_before"] != nil {
		t.Errorf("got %s", got.Body)
	}
	none := g.want(http.StatusOK, "GET", "/api/v1/events?run_id="+host, nil)
	if items := none.JSON["items"].([]any); len(items) != 0 {
		t.Errorf("got %s", none.Body)
	}
	for _, bad := range []string{"?run_id=x", "?task_id=1&host_id=" + host, "?run_id=" + host + "&run_id=" + host, "?workspace_id="} {
		g.want(http.StatusBadRequest, "GET", "/api/v1/events"+bad, nil)
		g.want(http.StatusBadRequest, "GET", "/api/v1/events/stream"+bad, nil)
	}
	for _, bad := range []string{"0s", "61s", "5", "-1s", "often"} {
		if e := g.want(http.StatusBadRequest, "GET", "/api/v1/events/stream?heartbeat="+bad, nil); !strings.Contains(e.Body, "heartbeat") {
			t.Errorf("heartbeat=%s: %s", bad, e.Body)
		}
	}
}
