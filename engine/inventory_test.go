package engine

import (
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// inventory sends a heartbeat that lists the sessions of the worker.
func (w *worker) inventory(held ...svc.Run) {
	w.s.t.Helper()
	runs := []wire.LiveRun{}
	for _, r := range held {
		runs = append(runs, wire.LiveRun{RunID: r.ID, Attempt: r.Attempt})
	}
	w.send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1, Runs: &runs})
	w.s.settle()
}

// onlyInventory connects a worker that lists its sessions but cannot be asked for the others.
func (s *site) onlyInventory(name string) *worker {
	s.t.Helper()
	w := s.newHost(name)
	w.register(wire.CapStop, wire.CapInventory)
	w.connect()
	w.beat()
	s.settle()
	return w
}

func TestARunThatTwoInventoriesInARowLackIsLost(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.onlyInventory("h")
		lost, kept, again, stopped := w.started(s.run()), w.started(s.run()), w.started(s.run(policy(svc.RestartOnFailure))), w.started(s.run())
		unacked := s.run()
		s.settle()
		_, err := s.StopRun(s.ctx, stopped.ID)
		s.no(err)
		s.pass(time.Minute) // after this time the host's own process is settled
		s.news()
		w.inventory(kept)
		s.wantTopics() // missing once is not enough
		w.inventory(kept, lost, again, stopped)
		w.inventory(kept)
		s.wantTopics() // not in a row
		w.inventory(kept)
		s.wantStatus(kept, svc.RunRunning)
		s.wantStatus(unacked, svc.RunSpawning)
		got := s.wantStatus(lost, svc.RunFailed)
		if got.ExitCode == nil || *got.ExitCode != -1 || got.SessionEndedAt == nil {
			t.Errorf("a lost run is %+v", got)
		}
		if got := s.wantStatus(stopped, svc.RunStopped); got.SessionEndedAt == nil {
			t.Error("a stopped run hangs in stopping")
		}
		if got := s.wantStatus(again, svc.RunPending); got.Attempt != 2 {
			t.Errorf("attempt %d, want the restart policy's second", got.Attempt)
		}
		reasons := 0
		for _, e := range s.news() {
			if e.Topic == svc.TopicRunFinished && field(e, "reason") == reasonSessionLost {
				reasons++
			}
		}
		if reasons != 3 {
			t.Errorf("%d runs were journaled as lost, want 3", reasons)
		}
	})
}

func TestAProcessThatMayBeACopyLosesNothing(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.onlyInventory("h")
		r := w.started(s.run())
		s.pass(time.Minute)
		foreign := &worker{s: s, host: w.host, instance: svc.NewID()} // a worker with another data directory, within the liveness window
		w.beat()
		foreign.register(wire.CapStop, wire.CapInventory)
		foreign.connect()
		for range 3 {
			foreign.inventory()
			s.pass(time.Minute)
			w.inventory(r)
		}
		s.wantStatus(r, svc.RunRunning)
		w.inventory()
		w.inventory()
		w.inventory()
		s.wantStatus(r, svc.RunRunning) // the host is suspect: it is not settled whose sessions these are
	})
}

func TestAWorkerThatCanBeAskedIsAskedBeforeARunIsLost(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r, known := w.started(s.run()), w.started(s.run())
		s.pass(time.Minute)
		w.inventory()
		asked := w.wantFrames("run_recall")[0].(*wire.RunRecall)
		if len(asked.Runs) != 2 {
			t.Fatalf("asked about %+v", asked.Runs)
		}
		w.inventory()
		w.inventory()
		s.wantStatus(r, svc.RunRunning) // without an answer the run is not lost
		w.take()
		w.send(wire.RunUnknown{Runs: []wire.LiveRun{{RunID: r.ID, Attempt: 1}}})
		w.inventory(known) // its end is in the spool
		s.wantStatus(known, svc.RunRunning)
		got := s.wantStatus(r, svc.RunFailed)
		if got.ExitCode == nil || *got.ExitCode != -1 {
			t.Errorf("lost as %+v", got)
		}
		w.take()
		w.inventory(known)
		w.wantFrames() // no request is left
	})
}

func TestAStartThatABackupHasNotIsAskedFor(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := s.run()
		w.ack(r, true) // and nothing more: the record is from a backup
		w.take()
		w.inventory(r)
		w.wantFrames() // the report may still arrive
		w.inventory(r)
		asked := w.wantFrames("run_recall")[0].(*wire.RunRecall)
		if len(asked.Runs) != 1 || asked.Runs[0] != (wire.LiveRun{RunID: r.ID, Attempt: 1}) {
			t.Errorf("asked about %+v", asked.Runs)
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalStarted))
		w.inventory(r)
		w.wantFrames()
	})
}
