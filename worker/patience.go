package worker

import (
	"context"
	"time"
)

// runningTime is a sum of the times between counts, each limited to a bound: in the time beyond the bound this
// process did not run, so it could not count.
type runningTime struct {
	total time.Duration
	last  time.Time // the last count; zero: none
}

func (t *runningTime) count(now time.Time, most time.Duration) {
	if !t.last.IsZero() {
		t.total += min(now.Sub(t.last), most)
	}
	t.last = now
}

// patienceLooks is how often a wait counts its time until its limit.
const patienceLooks = 20

// patient returns a context whose limit counts only the time in which this process runs: a worker that was
// suspended, or whose machine slept, has not waited meanwhile. The caller must call cancel.
func patient(ctx context.Context, limit time.Duration) (_ context.Context, cancel context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		look := time.NewTicker(limit / patienceLooks)
		defer look.Stop()
		var waited runningTime
		waited.count(time.Now(), 0)
		for waited.total < limit {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				waited.count(time.Now(), 2*limit/patienceLooks)
			}
		}
		stop()
	}()
	return ctx, func() {
		stop()
		<-done
	}
}
