package engine

import (
	"testing"
	"time"

	"svc"
	"svc/internal/clocktest"
	"svc/wire"
)

// wantLink checks the host's connection state.
func (w *worker) wantLink(connected bool, goneFor time.Duration) {
	w.s.t.Helper()
	h := w.want(svc.HostOnline)
	if h.Connected != connected || connected != (h.DisconnectedSince == nil) {
		w.s.t.Errorf("connected %v, disconnected since %v", h.Connected, h.DisconnectedSince)
	}
	if !connected && h.DisconnectedSince != nil && w.s.now().Sub(*h.DisconnectedSince) != goneFor {
		w.s.t.Errorf("not connected for %v, want %v", w.s.now().Sub(*h.DisconnectedSince), goneFor)
	}
}

func TestAGoodbyeIsKnownAtOnce(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("h")
		if h := w.want(svc.HostRegistered); h.Connected || h.DisconnectedSince != nil {
			t.Errorf("never connected: %+v", h)
		}
		w.register(wire.Capabilities...)
		w.connect()
		w.beat()
		w.wantLink(true, 0)
		s.news()
		w.send(wire.Goodbye{Reason: "upgrade"})
		w.wantLink(false, 0)
		r := s.run()
		w.wantFrames() // the connection is open, and gets no runs
		s.wantStatus(r, svc.RunPending)
		s.news()
		s.pass(time.Second)
		events := s.wantTopics(svc.TopicWorkerGone)
		if len(events) == 1 && (field(events[0], "host_id") != w.host.ID || field(events[0], "reason") != "upgrade" || field(events[0], "status") != "online") {
			t.Errorf("journaled as %s", events[0].Payload)
		}
		w.drop()
		s.pass(11 * time.Second)
		w.wantLink(false, 12*time.Second)
		w.connect()
		w.beat()
		w.wantLink(true, 0)
		w.wantFrames("run_dispatch 1")
		s.pass(time.Second)
		s.wantTopics(svc.TopicRunSpawning, svc.TopicWorkerConnected)
	})
}

func TestAShortDropIsNotJournaled(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		s.news()
		for range 50 { // a connection that flaps
			w.drop()
			w.wantLink(false, 0)
			s.pass(time.Second)
			w.wantLink(false, time.Second)
			w.connect()
			w.beat()
			w.wantLink(true, 0)
		}
		s.wantTopics()
		w.drop()
		s.pass(6 * time.Second)
		s.wantTopics(svc.TopicWorkerGone)
	})
}

func TestAConnectionIsRememberedOverARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		gone, there := s.online("gone"), s.online("there")
		gone.drop()
		s.pass(20 * time.Second)
		there.beat()
		there.drop()
		s.stop()
		clocktest.Pass(10 * time.Second)
		s = start(t, dir)
		gone.s, there.s = s, s
		gone.wantLink(false, 30*time.Second)
		there.wantLink(false, 0) // it was connected until the other orchestrator ended; this one records the time of its own start
		there.connect()
		there.beat()
		there.wantLink(true, 0)
		s.pass(10 * time.Second)
		there.wantLink(true, 0)
		s.wantTopics()
	})
}

// The workers of an orchestrator that ended connect to the next one within half a minute. Only those that do not are
// journaled as gone.
func TestWorkersThatComeBackToTheNextOrchestratorAreNotJournaled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		soon, never := s.online("soon"), s.online("never")
		s.stop()
		s = start(t, dir)
		soon.s, never.s = s, s
		s.pass(25 * time.Second)
		soon.wantLink(false, 25*time.Second)
		soon.connect()
		soon.beat()
		s.pass(4 * time.Second)
		s.wantTopics()
		s.pass(2 * time.Second)
		events := s.wantTopics(svc.TopicWorkerGone)
		if len(events) == 1 && field(events[0], "host_id") != never.host.ID {
			t.Errorf("journaled as %s", events[0].Payload)
		}
		soon.drop()
		s.pass(6 * time.Second)
		s.wantTopics(svc.TopicWorkerGone)
	})
}
