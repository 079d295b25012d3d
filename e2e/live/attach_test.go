package live

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/coder/websocket"

	"svc"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

func TestAViewerThatDoesNotReadHoldsUpNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	gate := s.lab.Path("gate")
	flood, talk := s.run(program("lines", "0s", gate)), s.startSizeProgram()
	slow, dead := proctest.NewProxy(s.o), proctest.NewProxy(s.o)
	holder := s.attach(talk)
	holder.awaitLease(mark{})
	stuck := []*viewer{s.attachThrough(slow, flood), s.attachThrough(slow, talk), s.attachThrough(dead, flood), s.attachThrough(dead, talk)}
	for i, v := range stuck {
		v.awaitData(mark{}, []string{"line ", "[start"}[i%2])
	}
	slow.Set(proctest.Weather{Stall: true})   // the viewer does not read
	dead.Set(proctest.Weather{Swallow: true}) // the viewer is gone, and its connection was not closed
	witness := s.attach(flood)
	for range shortOrLong(10, 60) {
		since := holder.position()
		holder.typeIn("still here\r")
		holder.awaitData(since, "[said still here]")
		since = witness.position()
		witness.awaitData(since, "line ")
	}
	slow.Set(proctest.Weather{})
	since := stuck[0].position()
	stuck[0].awaitData(since, "line ") // the viewer receives new output again
	stuck[1].awaitData(mark{}, "[said still here]")
	s.open(gate)
	s.awaitEnd(flood)
	for _, v := range []*viewer{witness, stuck[0]} {
		if err := v.awaitClose(waittest.Patience); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("at the end of the run a viewer's socket is closed with %v", err)
		}
	}
	holder.typeIn("end\r")
	s.awaitEnd(talk)
}

func TestTheLeaseOfADeadViewerIsFreedWithoutItsWord(t *testing.T) {
	t.Parallel()
	if !proctest.Long() {
		t.Skip("it waits 45 s, until a dead peer is detected; " + proctest.LongEnv + "=1 runs it")
	}
	s := newSite(t, proctest.WorkerOptions{})
	id := s.startSizeProgram()
	dead := proctest.NewProxy(s.o)
	holder := s.attachThrough(dead, id)
	holder.awaitLease(mark{})
	holder.resize(100, 30)
	s.awaitLog(id, "[changed 100x30]")
	next := s.attach(id)
	next.awaitError(mark{}, "lease_held")
	dead.Set(proctest.Weather{Swallow: true})
	waittest.Eventually(t, "the lease is released or passes to the next viewer", func() bool {
		next.mu.Lock()
		defer next.mu.Unlock()
		return next.frames[len(next.frames)-1].Type == "lease_acquired" || bytes.Contains(next.data, []byte("[changed 220x50]"))
	})
	s.awaitLog(id, "[changed 220x50]")
	next.awaitLease(mark{})
	next.typeIn("end\r")
	s.awaitEnd(id)
}

func TestALostUplinkIsToldAndTheTerminalComesBackDrawnAnew(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	id := s.startSizeProgram()
	holder, other := s.attach(id), s.attach(id)
	holder.awaitLease(mark{})
	holder.resize(100, 30)
	holder.awaitSize(mark{}, 100, 30)
	for _, v := range []*viewer{holder, other} {
		v.awaitData(mark{}, "[start 220x50]")
	}
	for name, outage := range map[string]struct{ begin, end func() }{
		"the network": {
			func() { s.uplink.Set(proctest.Weather{Refuse: true}); s.uplink.Cut() },
			func() { s.uplink.Set(proctest.Weather{}) },
		},
		"the worker": {s.w.Kill, s.w.Launch},
	} {
		before := map[*viewer]mark{holder: holder.position(), other: other.position()}
		outage.begin()
		for v, since := range before {
			v.awaitError(since, string(svc.CodeHostNotConnected))
		}
		since := holder.position()
		holder.typeIn("lost\r")
		holder.awaitError(since, string(svc.CodeHostNotConnected))
		before = map[*viewer]mark{holder: holder.position(), other: other.position()}
		outage.end()
		for v, since := range before {
			v.awaitData(since, "[start 220x50]") // the whole screen is drawn, not only new output
		}
		since = holder.position()
		holder.typeIn("back after " + name + "\r")
		holder.awaitData(since, "[said back after "+name+"]")
		other.awaitData(before[other], "[said back after "+name+"]")
	}
	s.awaitLog(id, "back after the worker")
	s.awaitLog(id, "back after the network")
	if log := s.relayed(id); bytes.Contains(log, []byte("lost")) {
		t.Errorf("input during the outage was delivered later: %q", log)
	}
	waittest.Eventually(t, "the holder's size comes back", func() bool {
		sizes := s.sizes(id)
		return sizes[len(sizes)-1] == "[changed 100x30]"
	})
	since := other.position()
	holder.leave()
	other.awaitLease(since)
	s.awaitLog(id, "[changed 220x50]")
	other.typeIn("end\r")
	s.awaitEnd(id)
	if err := other.awaitClose(waittest.Patience); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("at the end of the run the socket is closed with %v", err)
	}
}

func TestAKilledOrchestratorClosesTheSocketsAndTheSizeGoesBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.WorkerOptions{})
	id := s.startSizeProgram()
	holder, watcher := s.attach(id), s.watch(id)
	holder.awaitLease(mark{})
	holder.resize(100, 30)
	s.awaitLog(id, "[changed 100x30]")
	s.o.Kill()
	for _, v := range []*viewer{holder, watcher} {
		if err := v.awaitClose(5 * time.Second); err == nil || errors.Is(err, t.Context().Err()) {
			t.Errorf("the client's socket ended with %v", err)
		}
	}
	s.o.Start()
	s.awaitLog(id, "[changed 220x50]")
	s.w.AwaitStatus(svc.HostOnline)
	var again *viewer
	waittest.Eventually(t, "the run can be attached to again", func() bool {
		conn, err := s.client.Attach(t.Context(), id)
		if err == nil {
			again = newViewer(t, conn, nil)
		}
		return err == nil
	})
	again.awaitLease(mark{})
	again.awaitData(mark{}, "[changed 220x50]")
	again.typeIn("end\r")
	s.awaitEnd(id)
	if got, want := s.sizes(id), []string{"[start 220x50]", "[changed 100x30]", "[changed 220x50]"}; len(got) != len(want) {
		t.Errorf("the sizes were %v, want %v", got, want)
	}
}
