package engine

import (
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// hold sends a heartbeat with an inventory.
func (w *worker) hold(runs ...svc.Run) {
	w.s.t.Helper()
	held := []wire.LiveRun{}
	for _, r := range runs {
		held = append(held, wire.LiveRun{RunID: r.ID, Attempt: r.Attempt})
	}
	w.send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1, Runs: &held})
	w.s.settle()
}

func (w *worker) activeRuns() int {
	w.s.t.Helper()
	h, err := w.s.Store.Host(w.s.ctx, w.host.ID)
	w.s.no(err)
	return h.ActiveRuns
}

// agentOf returns the reporter with the token of a run's session.
func agentOf(r svc.Run) Reporter { return Reporter{Host: *r.HostID, Attempt: r.Attempt} }

func TestAnAgentThatReportsItsOwnEndCanStillBeStopped(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h", func(n *svc.NewHost) { n.MaxRuns = ptr(1) })
		r := w.started(s.run())
		s.want(svc.Applied)(s.tell(agentOf(r), r, svc.SignalFinished))
		s.wantTopics(svc.TopicRunFinished)
		w.wantFrames("run_stop 1")
		got := s.wantStatus(r, svc.RunExited)
		if got.SessionEndedAt != nil || w.activeRuns() != 1 {
			t.Errorf("the session counts as ended at %v, %d are active", got.SessionEndedAt, w.activeRuns())
		}
		waiting := s.run()
		s.wantStatus(waiting, svc.RunPending) // the host is full
		s.news()
		if !got.Reachable() {
			t.Error("the session cannot be typed into or attached to")
		}
		if _, err := s.StopRun(s.ctx, r.ID); err != nil {
			t.Errorf("it cannot be stopped: %v", err)
		}
		s.wantTopics()
		w.wantFrames("run_stop 1")

		w.hold(r)
		w.wantFrames("run_stop 1")
		w.hold(r)
		if e := s.wantTopics(svc.TopicRunOrphan)[0]; field(e, "run_id") != r.ID || field(e, "action") != "stopped" {
			t.Errorf("journaled %s", e.Payload)
		}
		w.hold(r)
		s.wantTopics() // it is journaled once
		w.take()

		s.want(svc.Duplicate)(s.tell(Reporter{Host: w.host.ID}, r, svc.SignalFinished, code(137)))
		s.wantTopics(svc.TopicRunSessionEnded, svc.TopicRunSpawning)
		if got := s.get(r); got.SessionEndedAt == nil || got.Status != svc.RunExited || *got.ExitCode != 0 {
			t.Errorf("the host confirmed the end: %s with %d, session ended at %v", got.Status, *got.ExitCode, got.SessionEndedAt)
		}
		_, err := s.StopRun(s.ctx, r.ID)
		s.wantCode("stop of a session that is over", err, svc.CodeRunNotActive)
	})
}

func TestASpawnFailureThatTheAgentReportsEndsNoSession(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		s.want(svc.Applied)(s.tell(agentOf(r), r, svc.SignalFailed, func(s *svc.Signal) { s.Error = "no such binary" }))
		w.wantFrames("run_stop 1")
		if got := s.wantStatus(r, svc.RunFailed); got.SessionEndedAt != nil || !got.Reachable() {
			t.Errorf("the session counts as ended at %v", got.SessionEndedAt)
		}
		s.want(svc.Duplicate)(s.tell(Reporter{Host: w.host.ID}, r, svc.SignalFinished, code(1)))
		if got := s.get(r); got.SessionEndedAt == nil {
			t.Error("the host's word did not end the session")
		}
	})
}

func TestAnEndThatTheHostCannotConfirmStandsUntilItsInventorySaysOtherwise(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		w.drop()
		s.want(svc.Applied)(s.tell(agentOf(r), r, svc.SignalFinished))
		if got := s.wantStatus(r, svc.RunExited); got.SessionEndedAt == nil {
			t.Error("nobody can be asked, and yet the session is open")
		}
		w.connect()
		w.hold(r)
		w.wantFrames("run_stop 1", "run_stop 1") // for the inventory, and for the connection
		if got := s.get(r); got.SessionEndedAt != nil {
			t.Error("the session is in the inventory and counts as ended")
		}
		s.want(svc.Duplicate)(s.tell(Reporter{Host: w.host.ID}, r, svc.SignalFinished))
		if got := s.get(r); got.SessionEndedAt == nil {
			t.Error("the host's word did not end the session")
		}
		w.hold(r) // an inventory from before its own report
		if got := s.get(r); got.SessionEndedAt == nil {
			t.Error("an end that the host reported itself was undone")
		}
	})
}

func TestAWorkerThatListsNoSessionsIsTakenAtTheRunsWord(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("plain")
		w.register()
		w.connect()
		w.beat()
		r := w.started(s.run())
		s.want(svc.Applied)(s.tell(agentOf(r), r, svc.SignalFinished))
		if got := s.wantStatus(r, svc.RunExited); got.SessionEndedAt == nil {
			t.Error("a plain peer's end is never over")
		}
		s.pass(time.Minute)
	})
}
