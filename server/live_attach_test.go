package server

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"svc"
	"svc/internal/clocktest"
	"svc/internal/waittest"
)

func (s *liveStage) attach(run svc.Run) *client {
	s.Helper()
	c := s.dial("/runs/" + run.ID + "/attach/ws")
	waittest.Eventually(s.T, "an answer to the attach", func() bool { return len(c.of("lease_acquired"))+len(c.of("error")) > 0 })
	return c
}

func typed(text string) string {
	return `{"type":"input","bytes":"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"}`
}

func TestAttachRelaysBothWaysAndKeepsTheLease(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunRunning)
	a := s.attach(run)
	if f := a.of("lease_acquired")[0]; f["run_id"] != run.ID || f["attached_at"] == "" || len(f) != 3 {
		t.Errorf("got %v", f)
	}
	b := s.attach(run)
	if f := b.of("error")[0]; f["code"] != "lease_held" || f["message"] == "" || len(f) != 3 {
		t.Errorf("got %v", f)
	}
	a.send(t, typed("ls\r"))
	a.send(t, `{"type":"resize","rows":41,"cols":123}`)
	b.send(t, typed("evil"))
	waittest.Eventually(t, "the input", func() bool { return s.link.got() == "input ls\r, resize 41x123" })
	waittest.Eventually(t, "the answer to the other's input", func() bool { return len(b.of("error")) == 2 })
	s.emit("for all \x00\xff")
	for _, c := range []*client{a, b} {
		waittest.Eventually(t, "the output", func() bool { return c.output() == "for all \x00\xff" })
	}
	_ = a.conn.CloseNow() // the connection breaks without a close frame
	waittest.Eventually(t, "the lease for the one who waited", func() bool { return len(b.of("lease_acquired")) == 1 })
	waittest.Eventually(t, "the end of the relay", func() bool { return len(s.link.relays()) == 1 })
	b.send(t, `{"type":"release_lease"}`)
	waittest.Eventually(t, "the release", func() bool { _, held := s.hub.Attach.Holder(run.ID); return !held })
	_ = b.conn.Close(websocket.StatusNormalClosure, "")
	waittest.Eventually(t, "the end of all relays", func() bool { return len(s.link.relays()) == 0 })
}

func TestWhoseSocketIsOpenHasItsPlaceInTheLine(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	for range 50 {
		run := s.newRun(svc.RunRunning)
		s.dial("/runs/" + run.ID + "/attach/ws")
		if _, held := s.hub.Attach.Holder(run.ID); !held {
			t.Fatal("the socket of the first client is open, and the next one would get the lease")
		}
	}
}

func TestTheEndOfTheRunClosesTheSocketAfterItsOutput(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunRunning)
	a, b := s.attach(run), s.attach(run)
	for i := range 5 {
		s.emit(fmt.Sprintf("bye%d ", i))
	}
	s.ends(run)
	for _, c := range []*client{a, b} {
		code, reason := c.closed(t)
		if code != websocket.StatusNormalClosure || reason != "the run has ended" || c.output() != "bye0 bye1 bye2 bye3 bye4 " {
			t.Errorf("closed with %d %q after %q", code, reason, c.output())
		}
	}
	if n := len(b.of("lease_acquired")); n != 0 {
		t.Error("the one who waited got the lease of an ended run")
	}
}

func TestARunThatEndsWhileAClientAttachesClosesItsSocket(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunRunning)
	s.afterLook = func() { s.ends(run) } // it is running when it is read, and ends before the client has joined
	c := s.dial("/runs/" + run.ID + "/attach/ws")
	if code, reason := c.closed(t); code != websocket.StatusNormalClosure || reason != "the run has ended" {
		t.Errorf("closed with %d %q", code, reason)
	}
	if _, held := s.hub.Attach.Holder(run.ID); held {
		t.Error("someone holds the lease of an ended run")
	}
}

func TestNonsenseWithoutEndClosesTheSocket(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	c := s.attach(s.newRun(svc.RunRunning))
	for range 10 {
		c.send(t, `{"type":"dance"}`)
	}
	if code, reason := c.closed(t); code != websocket.StatusPolicyViolation || reason != "too many malformed frames" {
		t.Errorf("closed with %d %q", code, reason)
	}
}

func TestAFrameThatIsTooLargeClosesTheSocket(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	c := s.attach(s.newRun(svc.RunRunning))
	big := strings.Repeat("A", 1<<20)
	c.send(t, typed(big))
	waittest.Eventually(t, "a paste of a megabyte", func() bool { return s.link.got() == "input "+big })
	c.send(t, typed(big+big))
	if code, _ := c.closed(t); code != websocket.StatusMessageTooBig {
		t.Errorf("closed with %d", code)
	}
}

func TestASocketThatIsNotReadHoldsUpNobody(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunRunning)
	a := s.attach(run)
	stuck := s.dialRaw("/runs/" + run.ID + "/attach/ws") // reads nothing
	defer func() { _ = stuck.CloseNow() }()
	waittest.Eventually(t, "both relays", func() bool { return len(s.link.relays()) == 2 })
	chunk, total := strings.Repeat("q", 100<<10), 0
	for range 250 {
		s.emit(chunk)
		total += len(chunk)
		want := total - 4<<20 // at the pace of the client that reads
		waittest.Eventually(t, "the output", func() bool { return a.received() >= want })
	}
	waittest.Eventually(t, "all output", func() bool { return a.received() == total })
	waittest.Eventually(t, "the end of the one that does not read", func() bool { return len(s.link.relays()) == 1 })
}

func TestTheFirstOutputIsNotDelayed(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	c := s.attach(s.newRun(svc.RunRunning))
	best := time.Hour
	for i := range 5 {
		begin := time.Now()
		s.emit("x")
		waittest.Eventually(t, "the echo", func() bool { return c.received() == i+1 })
		best = min(best, time.Since(begin))
		clocktest.Pause(110 * time.Millisecond)
	}
	if best > 80*time.Millisecond {
		t.Errorf("the fastest of five echoes took %v", best)
	}
}

// names returns the newest list of watchers: * holds the lease, ! is the client itself, ~ is not attached.
func (c *client) names() string {
	lists := c.of("watchers")
	if len(lists) == 0 {
		return ""
	}
	var names []string
	all, _ := lists[len(lists)-1]["watchers"].([]any)
	for _, one := range all {
		w, _ := one.(map[string]any)
		name := fmt.Sprint(w["name"])
		if w["mode"] == "live" {
			name = "~" + name
		}
		if w["holds"] == true {
			name += "*"
		}
		if w["you"] == true {
			name += "!"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestAClientThatAsksIsToldWhoSeesTheTerminal(t *testing.T) {
	t.Parallel()
	s := newLiveStage(t)
	run := s.newRun(svc.RunRunning)
	path := "/runs/" + run.ID
	ben := s.dial(path + "/attach/ws?token=ben") // like clients of versions without the list
	ann := s.dial(path + "/attach/ws?token=ann&watchers=true")
	waittest.Eventually(t, "the list", func() bool { return ann.names() == "ben* ann!" })
	if f := ann.of("watchers")[0]; len(f) != 3 || f["more"] != 0.0 {
		t.Errorf("got %v", f)
	}
	live := s.dial(path + "/pane/ws?token=carl")
	waittest.Eventually(t, "the one who sees the screen", func() bool { return ann.names() == "ben* ann! ~carl" })
	ann.send(t, `{"type":"take_lease"}`)
	waittest.Eventually(t, "the new holder", func() bool { return ann.names() == "ben ann*! ~carl" })
	_ = live.conn.CloseNow()
	waittest.Eventually(t, "the end of the screen", func() bool { return ann.names() == "ben ann*!" })
	_ = ben.conn.Close(websocket.StatusNormalClosure, "")
	waittest.Eventually(t, "the one who left", func() bool { return ann.names() == "ann*!" })
	if n := len(ben.of("watchers")); n != 0 {
		t.Errorf("who did not ask was sent %d lists", n)
	}
	off := s.dial(path + "/attach/ws?token=dora&watchers=false")
	waittest.Eventually(t, "the answer", func() bool { return len(off.of("error")) == 1 })
	if n := len(off.of("watchers")); n != 0 {
		t.Errorf("who declined was sent %d lists", n)
	}
	upgrade := []string{"Connection", "upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}
	for _, query := range []string{"watchers=", "watchers=all", "watchers=true&watchers=true"} {
		if a := s.get(path+"/attach/ws?"+query, upgrade...); a.status != 400 || a.code() != "validation_failed" || !strings.Contains(a.body, `"watchers"`) {
			t.Errorf("%s: %+v", query, a)
		}
	}
}
