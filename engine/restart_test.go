package engine

import (
	"testing"
	"time"

	"svc"
)

func TestRestartAfterABadExit(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := w.started(s.run(policy(svc.RestartOnFailure)))
		s.pass(time.Minute)
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, byHook, seq(100)))
		s.news()
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(1)))
		events := s.wantTopics(svc.TopicRunFinished, svc.TopicRunRequeued)
		next := s.wantStatus(r, svc.RunPending)
		if next.Attempt != 2 || next.PendingSince <= r.PendingSince || next.CreatedAt != r.CreatedAt || next.ExitCode != nil || next.LastProgressSeq != 0 {
			t.Errorf("requeued as %+v", next)
		}
		if field(events[0], "attempt") != 1.0 || field(events[1], "attempt") != 2.0 || field(events[1], "next_dispatch_at") != next.NextDispatchAt.String() {
			t.Errorf("journaled %s and %s", events[0].Payload, events[1].Payload)
		}
		wait := next.NextDispatchAt.Sub(next.PendingSince)
		s.pass(wait - time.Millisecond)
		w.wantFrames()
		s.pass(10 * time.Millisecond)
		w.wantFrames("run_dispatch 2")
		s.news()

		// The previous attempt is over, and the new one has its own records.
		for _, kind := range []svc.SignalKind{svc.SignalStarted, svc.SignalFinished, svc.SignalCompleted, svc.SignalFailed, svc.SignalProgress} {
			s.want(svc.DeadAttempt)(s.signal(r, kind, seq(1000)))
		}
		s.wantTopics()
		s.wantStatus(r, svc.RunSpawning)
		s.want(svc.Applied)(s.signal(next, svc.SignalStarted))
		s.want(svc.Applied)(s.signal(next, svc.SignalProgress, byHook, seq(1)))
		s.want(svc.Applied)(s.signal(next, svc.SignalFinished))
		s.wantTopics(svc.TopicRunStarted, svc.TopicRunSignal, svc.TopicRunFinished)
		s.wantStatus(r, svc.RunExited)
	})
}

func TestWhichEndsAreRestarted(t *testing.T) {
	for name, c := range map[string]struct {
		policy svc.RestartPolicy
		max    int
		end    func(*site, svc.Run)
		topics []svc.Topic
	}{
		"on_failure, a hook's failed": {svc.RestartOnFailure, 3, func(s *site, r svc.Run) { _, _ = s.signal(r, svc.SignalFailed, byHook) },
			[]svc.Topic{svc.TopicRunFailed, svc.TopicRunRequeued}},
		"always, exit 0": {svc.RestartAlways, 3, func(s *site, r svc.Run) { _, _ = s.signal(r, svc.SignalFinished) },
			[]svc.Topic{svc.TopicRunFinished, svc.TopicRunRequeued}},
		"on_failure, exit 0": {svc.RestartOnFailure, 3, func(s *site, r svc.Run) { _, _ = s.signal(r, svc.SignalFinished) },
			[]svc.Topic{svc.TopicRunFinished}},
		"never, exit 1": {svc.RestartNever, 3, func(s *site, r svc.Run) { _, _ = s.signal(r, svc.SignalFinished, code(1)) },
			[]svc.Topic{svc.TopicRunFinished}},
		"always, no restarts left": {svc.RestartAlways, 0, func(s *site, r svc.Run) { _, _ = s.signal(r, svc.SignalFinished, code(1)) },
			[]svc.Topic{svc.TopicRunFinished}},
		"always, stopped": {svc.RestartAlways, 3, func(s *site, r svc.Run) {
			_, err := s.StopRun(s.ctx, r.ID)
			s.no(err)
			_, _ = s.signal(r, svc.SignalFinished, code(1))
		}, []svc.Topic{svc.TopicRunStopped, svc.TopicRunFinished}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.online("h")
				w.keepBeating()
				r := w.started(s.run(policy(c.policy), func(n *svc.NewRun) { n.MaxRestarts = &c.max }))
				c.end(s, r)
				s.wantTopics(c.topics...)
				requeued := c.topics[len(c.topics)-1] == svc.TopicRunRequeued
				if got := s.get(r); (got.Attempt == 2) != requeued {
					t.Errorf("the run is %s at attempt %d", got.Status, got.Attempt)
				}
				s.pass(time.Minute)
				if dispatched := len(s.wantLater(requeued)) > 0; dispatched != requeued {
					t.Errorf("dispatched again: %v", dispatched)
				}
			})
		})
	}
}

// wantLater checks whether the requeued run is dispatched again, and that no other run is.
func (s *site) wantLater(requeued bool) []svc.Event {
	s.t.Helper()
	if requeued {
		return s.wantTopics(svc.TopicRunSpawning)
	}
	return s.wantTopics()
}

func TestMaxRestartsBoundsTheAttempts(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		item := s.task(s.project(), func(n *svc.NewWorkItem) { n.AutoMarkDone = ptr(true) })
		r := s.run(policy(svc.RestartOnFailure), on(w), func(n *svc.NewRun) { n.TaskID, n.MaxRestarts = item.ID, ptr(2) })
		for attempt := 1; attempt <= 3; attempt++ {
			s.pass(20 * time.Second)
			got := s.wantStatus(r, svc.RunSpawning)
			if got.Attempt != attempt || *got.HostID != w.host.ID {
				t.Fatalf("attempt %d of %v", got.Attempt, got.HostID)
			}
			s.want(svc.Applied)(s.signal(got, svc.SignalFailed))
		}
		s.pass(6 * time.Minute)
		if got := s.wantStatus(r, svc.RunFailed); got.Attempt != 3 {
			t.Errorf("ended at attempt %d", got.Attempt)
		}
		if i, _ := s.WorkItem(s.ctx, item.ID); i.Version != 1 {
			t.Errorf("restarts moved the item: %+v", i)
		}
	})
}

func TestStopDuringTheBackOffIsFinal(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := w.started(s.run(policy(svc.RestartAlways)))
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.news()
		got, err := s.StopRun(s.ctx, r.ID)
		if err != nil || got.Status != svc.RunStopped || got.Attempt != 2 || got.NextDispatchAt != nil {
			t.Errorf("stopped as %+v (%v)", got, err)
		}
		s.pass(6 * time.Minute)
		s.wantTopics(svc.TopicRunStopped)
		w.wantFrames()
	})
}

func TestUnpinnedRunGoesElsewhereOnItsNextAttempt(t *testing.T) {
	bubble(t, func(s *site) {
		a := s.online("a")
		a.keepBeating()
		r := a.started(s.run(policy(svc.RestartAlways)))
		pinned := a.started(s.run(policy(svc.RestartAlways), on(a)))
		_, err := s.DisableHost(s.ctx, "a")
		s.no(err)
		b := s.online("b")
		b.keepBeating()
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.want(svc.Applied)(s.signal(pinned, svc.SignalFinished))
		s.pass(10 * time.Second)
		b.wantFrames("run_dispatch 2")
		a.wantFrames()
		s.wantStatus(pinned, svc.RunPending)
		_, err = s.EnableHost(s.ctx, "a")
		s.no(err)
		a.wantFrames("run_dispatch 2")
	})
}
