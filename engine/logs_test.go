package engine

import (
	"testing"
	"time"

	"svc"
	"svc/wire"
)

func TestTheLogOfAnEarlierAttemptIsFetchedFromTheHostThatHadIt(t *testing.T) {
	bubble(t, func(s *site) {
		first := s.online("first")
		r := first.started(s.run(policy(svc.RestartOnFailure)))
		_, err := s.DisableHost(s.ctx, first.host.ID)
		s.no(err)
		second := s.online("second")
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(1)))
		s.pass(time.Minute)
		r = s.wantStatus(r, svc.RunSpawning)
		second.started(r)
		first.take()
		r = s.wantStatus(r, svc.RunRunning)
		done := make(chan error, 1)
		go func() { done <- s.LogOf(s.ctx, r, 1) }()
		asked := first.wantFrames("log_read")[0].(*wire.LogRead)
		if asked.RunID != r.ID || asked.Attempt != 1 {
			t.Errorf("asked for %+v", asked)
		}
		first.send(wire.LogGone{RunID: r.ID, Attempt: 1})
		s.pass(time.Second)
		second.wantFrames() // it never had this attempt
		if err := <-done; svc.CodeOf(err) == svc.CodeUnavailable {
			t.Errorf("the host's answer was not taken: %v", err)
		}
	})
}
