package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"svc"
	"svc/internal/waittest"
)

func TestGetPaneIsTheLatestScreen(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunRunning)
	if a := s.get("/runs/nope/pane"); a.status != http.StatusNotFound || a.code() != "not_found" {
		t.Errorf("unknown run: %+v", a)
	}
	if a := s.get("/runs/" + run.ID + "/pane"); a.status != http.StatusNotFound || a.code() != "no_snapshot" {
		t.Errorf("no screen yet: %+v", a)
	}
	screen := strings.Repeat("\x1b[31mrot\x1b[0m 日本語 \"q\" \\ <b>\n", 50)
	s.hub.Panes.Put(run.ID, 1, "old", 1)
	s.hub.Panes.Put(run.ID, 1, screen, 2)
	a := s.get("/runs/" + run.ID + "/pane")
	var got struct {
		RunID     string `json:"run_id"`
		Capture   string
		Timestamp svc.Time
		Seq       int64
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != http.StatusOK {
		t.Fatalf("%v: %+v", err, a)
	}
	if got.Capture != screen || got.RunID != run.ID || got.Timestamp != 2 || got.Seq == 0 {
		t.Errorf("got %+v", got)
	}
}

func TestThePaneSocketSendsTheCachedScreenAndEachChange(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunExited) // also for an ended run
	s.hub.Panes.Put(run.ID, 1, "cached", 1)
	a := s.dial("/runs/" + run.ID + "/pane/ws")
	waittest.Eventually(t, "the cached screen", func() bool { return len(a.of("pane_snapshot")) == 1 })
	if f := a.of("pane_snapshot")[0]; len(f) != 5 || f["capture"] != "cached" || f["run_id"] != run.ID {
		t.Errorf("got %v", f)
	}
	b := s.dial("/runs/" + run.ID + "/pane/ws")
	waittest.Eventually(t, "the cached screen", func() bool { return len(b.of("pane_snapshot")) == 1 })
	s.hub.Panes.Put(run.ID, 1, "cached", 2)
	s.hub.Panes.Put(run.ID, 1, "changed", 3)
	for _, c := range []*client{a, b} {
		waittest.Eventually(t, "the change", func() bool { return len(c.of("pane_snapshot")) == 2 })
	}
	if a.raw[1] != b.raw[1] || a.of("pane_snapshot")[1]["capture"] != "changed" {
		t.Errorf("got %s and %s", a.raw[1], b.raw[1])
	}
}

func TestThePaneSocketIgnoresWhatAViewerSays(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunRunning)
	c := s.dial("/runs/" + run.ID + "/pane/ws") // no screen yet
	c.send(t, `{"type":"input","bytes":"cm0="}`)
	c.send(t, "not JSON")
	s.hub.Panes.Put(run.ID, 1, "first", 1)
	waittest.Eventually(t, "the first screen", func() bool { return len(c.of("pane_snapshot")) == 1 })
	if got := s.link.got(); got != "" {
		t.Errorf("the worker got %s", got)
	}
}

func TestSocketsAreRefusedInTheEnvelopeBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	running, spawning, ended := s.newRun(svc.RunRunning), s.newRun(svc.RunSpawning), s.newRun(svc.RunStopped)
	foreign := s.newRun(svc.RunRunning)
	away := svc.NewID()
	foreign.HostID = &away
	s.setRun(foreign)
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	for _, tt := range []struct {
		name, path string
		header     []string
		status     int
		code       string
	}{
		{"the screen of no run", "/runs/nope/pane/ws", upgrade, 404, "not_found"},
		{"the terminal of no run", "/runs/nope/attach/ws", upgrade, 404, "not_found"},
		{"a spawning run", "/runs/" + spawning.ID + "/attach/ws", upgrade, 409, "run_not_running"},
		{"a stopped run", "/runs/" + ended.ID + "/attach/ws", upgrade, 409, "run_not_running"},
		{"a host that is away", "/runs/" + foreign.ID + "/attach/ws", upgrade, 503, "host_not_connected"},
		{"no socket, screen", "/runs/" + running.ID + "/pane/ws", nil, 400, "validation_failed"},
		{"no socket, terminal", "/runs/" + running.ID + "/attach/ws", nil, 400, "validation_failed"},
	} {
		if a := s.get(tt.path, tt.header...); a.status != tt.status || a.code() != tt.code {
			t.Errorf("%s: %d %s", tt.name, a.status, a.body)
		}
	}
	s.link.mu.Lock()
	s.link.caps = nil
	s.link.mu.Unlock()
	if a := s.get("/runs/"+running.ID+"/attach/ws", upgrade...); a.status != 503 || a.code() != "capability_missing" {
		t.Errorf("a worker that cannot: %d %s", a.status, a.body)
	}
}

func TestAShutdownClosesSocketsWithItsReason(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunRunning)
	s.hub.Panes.Put(run.ID, 1, "x", 1)
	pane, attach := s.dial("/runs/"+run.ID+"/pane/ws"), s.dial("/runs/"+run.ID+"/attach/ws")
	waittest.Eventually(t, "both sockets", func() bool { return len(pane.of("pane_snapshot"))+len(attach.of("lease_acquired")) == 2 })
	s.close()
	for _, c := range []*client{pane, attach} {
		if code, reason := c.closed(t); code != websocket.StatusGoingAway || reason != "the server is shutting down" {
			t.Errorf("closed with %d %q", code, reason)
		}
	}
}
