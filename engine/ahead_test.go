package engine

import (
	"testing"
	"time"

	"svc"
)

// A run that was queued by a clock which was an hour ahead does not wait that hour once the clock is right: neither
// for its timeout, nor for its back-off.
func TestAClockThatWasAheadKeepsNoRunWaiting(t *testing.T) {
	withClock(t, func(s *site, c *clock) {
		w, away := s.online("h"), s.newHost("away")
		again := s.run(on(w), policy(svc.RestartAlways), func(n *svc.NewRun) { n.Wait = true })
		w.started(again)
		c.jump(time.Hour)
		s.pass(time.Second)
		lost := s.run(on(away))
		s.want(svc.Applied)(s.signal(again, svc.SignalFinished, code(1)))
		s.wantStatus(again, svc.RunPending)
		s.wantStatus(lost, svc.RunPending)
		c.jump(-time.Hour)
		s.pass(20 * time.Second)
		w.beat()
		if got := s.wantStatus(again, svc.RunSpawning); got.Attempt != 2 {
			t.Errorf("attempt %d", got.Attempt)
		}
		s.pass(s.DispatchTimeout - 30*time.Second)
		s.wantStatus(lost, svc.RunPending)
		s.pass(30 * time.Second)
		if got := s.wantStatus(lost, svc.RunFailed); *got.FailureReason != svc.ReasonNoEligibleHost {
			t.Errorf("it failed for %s", *got.FailureReason)
		}
	})
}
