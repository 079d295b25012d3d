package engine

import (
	"strings"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

func TestAConnectionSaysInTimeWhoseItIs(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		for _, hello := range []Hello{{}, {OnlyHost: w.host.ID}} {
			_, next := w.raw(hello)
			s.pass(8500 * time.Millisecond) // each read takes a second
			if f := next(); f != nil {
				t.Errorf("before ten seconds came %+v", f)
			}
			if f, ok := next().(*wire.Error); !ok || f.Message != reasonUnidentified {
				t.Errorf("after ten seconds came %+v", f)
			}
		}
		s.pass(2 * closeGrace)
		if got := len(s.links.hosts); got != 0 {
			t.Errorf("%d hosts have connections", got)
		}
	})
}

func TestAHostHasFewConnections(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		var others []func() wire.Frame
		for range 2 * mostUplinks { // from another peer that has the host's token
			send, next := w.raw(Hello{OnlyHost: w.host.ID})
			send(wire.Heartbeat{HostID: w.host.ID, InstanceID: svc.NewID(), Timestamp: 1})
			s.settle()
			others = append(others, next)
		}
		s.pass(2 * closeGrace)
		if got := s.Hub.Uplinks.Count(); got > mostUplinks {
			t.Errorf("%d connections of one host are open", got)
		}
		if own, ok := s.Hub.Uplinks.Of(w.host.ID); !ok || own.InstanceID != w.instance {
			t.Error("the host's own connection was ended for another")
		}
		last := others[len(others)-1]
		if f, ok := last().(*wire.HeartbeatAck); !ok {
			t.Errorf("the newest was answered with %+v", f)
		}
	})
}

func TestAConnectionEndsWithTheTokenThatOpenedIt(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		old, err := s.HostToken(s.ctx, "h")
		s.no(err)
		open := func(token string) chan error {
			who, err := s.HostOfToken(s.ctx, token)
			s.no(err)
			here, there := wire.Pipe()
			ended := make(chan error, 1)
			go func() {
				ended <- s.ServeUplink(s.ctx, there, Hello{HostID: w.host.ID, InstanceID: w.instance, OnlyHost: who.Host, Generation: who.Generation})
			}()
			go func() {
				for {
					if _, err := here.Read(s.ctx); err != nil {
						return
					}
				}
			}()
			t.Cleanup(func() { _ = here.Close("") })
			s.settle()
			return ended
		}
		before := open(old)
		fresh, err := s.RotateHostToken(s.ctx, "h")
		s.no(err)
		after := open(fresh)
		s.pass(rotationGrace - time.Second)
		select {
		case err := <-before:
			t.Fatalf("it ended within the grace: %v", err)
		default:
		}
		s.pass(time.Second + 2*tokenSweep)
		select {
		case <-before:
		default:
			t.Error("a connection outlives the token that opened it")
		}
		select {
		case err := <-after:
			t.Errorf("the connection with the new token ended: %v", err)
		default:
		}
	})
}

func TestProgressOfOneRunComesAtABoundedPace(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		noisy, other := w.started(s.run()), w.started(s.run())
		began := time.Now()
		for n := range int64(300) { // 200 at once, then five per second
			_, err := s.tell(agentOf(noisy), noisy, svc.SignalProgress, seq(n+1))
			s.no(err)
		}
		if took := time.Since(began); took < 15*time.Second || took > time.Minute {
			t.Errorf("300 messages took %s", took)
		}
		began = time.Now()
		_, err := s.tell(agentOf(other), other, svc.SignalProgress, seq(1))
		s.no(err)
		if took := time.Since(began); took > 0 {
			t.Errorf("another run's waited %s", took)
		}
		var refused int
		var all sync.WaitGroup
		var mu sync.Mutex
		for n := range int64(20) { // concurrently: what is refused is sent again later
			all.Go(func() {
				_, err := s.tell(agentOf(noisy), noisy, svc.SignalProgress, seq(1000+n))
				mu.Lock()
				defer mu.Unlock()
				if svc.CodeOf(err) == svc.CodeUnavailable {
					refused++
				}
			})
		}
		all.Wait()
		if refused < 10 {
			t.Errorf("%d of 20 were refused", refused)
		}
	})
}

// TestNobodyUsesUpTheSpeedOfANeighbour floods the orchestrator with reports about another host's run, and about an
// own run with its session's token.
func TestNobodyUsesUpTheSpeedOfANeighbour(t *testing.T) {
	bubble(t, func(s *site) {
		victim, hostile := s.online("victim"), s.online("hostile")
		r, noisy := victim.started(s.run(on(victim))), hostile.started(s.run(on(hostile)))
		quiet := hostile.started(s.run(on(hostile)))
		var all sync.WaitGroup
		defer all.Wait()
		flood := func(who Reporter, about svc.Run, n int64) { // the flood continues during the test: reports that are not refused wait
			for i := range n {
				all.Go(func() { _, _ = s.tell(who, about, svc.SignalProgress, seq(i+1)) })
			}
			s.settle()
		}
		atOnce := func(what string, who Reporter, about svc.Run) {
			began := time.Now()
			_, err := s.tell(who, about, svc.SignalProgress, seq(1))
			s.no(err)
			if took := time.Since(began); took > 0 {
				t.Errorf("%s waited %s", what, took)
			}
		}
		flood(Reporter{Host: hostile.host.ID}, r, 1000)
		atOnce("the run that another host told lies about", agentOf(r), r)
		flood(agentOf(noisy), noisy, 10_000)
		atOnce("the other run of a noisy one's host", agentOf(quiet), quiet)
	})
}

// TestAnInventoryCountsByItsSessions lists unknown sessions, each of which costs a query.
func TestAnInventoryCountsByItsSessions(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		held := make([]wire.LiveRun, 200)
		for i := range held {
			held[i] = wire.LiveRun{RunID: svc.NewRunID(), Attempt: 1}
		}
		s.pass(time.Minute)
		s.no(s.paces.frames.waitFor(s.ctx, w.host.ID, 4990, 0)) // of the burst of 5000
		w.take()
		began := time.Now()
		w.send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1, Runs: &held})
		w.beat() // it is read after the frame before it was handled
		if took := time.Since(began); took < 20*time.Millisecond {
			t.Errorf("200 sessions that count as 20 frames were taken after %s", took)
		}
	})
}

func TestAHostThatComesTooOftenIsSentAway(t *testing.T) {
	bubble(t, func(s *site) {
		for range 30 {
			s.no(s.PaceArrival(s.ctx, "register", "a"))
		}
		s.wantCode("one more", s.PaceArrival(s.ctx, "register", "a"), svc.CodeUnavailable)
		s.no(s.PaceArrival(s.ctx, "register", "b"))
		s.pass(time.Second)
		s.no(s.PaceArrival(s.ctx, "register", "a"))
	})
}

func TestTheRingOfTheStreamIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	f := &feed{}
	for seq := range int64(4000) {
		m := message{seq: seq, bytes: make([]byte, 64<<10)}
		f.ring, f.bytes = append(f.ring, m), f.bytes+len(m.bytes)
		f.shorten()
	}
	if f.bytes > ringBytes || len(f.ring) != f.bytes/(64<<10) {
		t.Errorf("%d messages of %d bytes are kept", len(f.ring), f.bytes)
	}
	huge := message{seq: 4000, bytes: make([]byte, 2*ringBytes)}
	f.ring, f.bytes = append(f.ring, huge), f.bytes+len(huge.bytes)
	f.shorten()
	if len(f.ring) != 1 || f.ring[0].seq != 4000 {
		t.Errorf("of a huge message %d are kept", len(f.ring))
	}
}

func TestAWorkersProseIsCut(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := s.run()
		s.settle()
		s.news()
		w.send(wire.RunDispatchAck{RunID: r.ID, Attempt: 1, Reason: strings.Repeat("x", 3<<20)})
		e := s.wantTopics(svc.TopicRunRequeued)[0]
		if reason, _ := field(e, "reason").(string); len(reason) > wire.MaxText || !strings.Contains(reason, "cut") {
			t.Errorf("a reason of %d bytes is journaled", len(reason))
		}
		w.take()
		w.send(wire.Orphan{SessionName: strings.Repeat("x", 3<<20), Action: "none"})
		w.wantFrames("error malformed_frame")
		s.wantTopics()
	})
}
