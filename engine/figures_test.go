package engine

import (
	"testing"
	"time"

	"svc"
)

// The figures follow the runs: how many wait, how long the oldest waits, and how long a host took to acknowledge.
func TestFiguresTellWhoWaitsAndHowLongADispatchTook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		var acks []time.Duration
		commits := 0
		s.Observe(Observer{Committed: func(time.Duration) { commits++ }, Acknowledged: func(d time.Duration) { acks = append(acks, d) }})
		r := s.run()
		s.run(func(n *svc.NewRun) { n.NotBefore = ptr(s.now().Add(time.Hour)) })
		s.pass(90 * time.Second)
		f, err := s.Figures(s.ctx)
		s.no(err)
		if f.Runs[svc.RunPending] != 2 || f.OldestWaiting < 90*time.Second || f.OldestWaiting > 100*time.Second || f.FeedLag != 0 || f.Uplinks != 0 {
			t.Errorf("with a run that waits for a minute and a half: %+v", f)
		}
		w := s.online("h")
		s.settle()
		w.wantFrames("run_dispatch 1")
		s.pass(3 * time.Second)
		w.ack(r, true)
		s.settle()
		f, err = s.Figures(s.ctx)
		s.no(err)
		if f.Runs[svc.RunSpawning] != 1 || f.Runs[svc.RunPending] != 1 || f.OldestWaiting != 0 || f.Uplinks != 1 || f.Hosts[svc.HostOnline] != 1 {
			t.Errorf("with a run at a host and one that is not due: %+v", f)
		}
		if len(acks) != 1 || acks[0] < 3*time.Second || acks[0] > 10*time.Second || commits == 0 {
			t.Errorf("acknowledged after %v, %d commits", acks, commits)
		}
	})
}
