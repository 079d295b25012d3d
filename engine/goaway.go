package engine

import (
	"context"
	"time"

	"svc/wire"
)

// When workers come back to an orchestrator that ended in order: after the time that a restart takes, a fleet spread
// over as long as it takes to admit it.
const (
	awayAtLeast   = time.Second
	awayPerWorker = 10 * time.Millisecond
	awaySpread    = 10 * time.Second // at most
)

// awayFor is how long one of so many workers stays away. at is its place in the spread, in [0, 1).
func awayFor(workers int, at float64) time.Duration {
	spread := min(time.Duration(workers)*awayPerWorker, awaySpread)
	return awayAtLeast + time.Duration(at*float64(spread))
}

// sendAway ends the connection because the orchestrator ends. A worker that knows the frame is told when to come back;
// it has a moment to read that. ctx is the connection's own.
func (c *uplinkConn) sendAway(ctx context.Context) {
	defer c.stop()
	if !c.goaway.Load() {
		return
	}
	reason := "the orchestrator is shutting down"
	if c.e.Draining() {
		reason = "the orchestrator is draining"
	}
	after := awayFor(c.e.Hub.Uplinks.Count(), jitter())
	if err := c.link.Send(wire.Goaway{Reason: reason, AfterMS: after.Milliseconds()}); err != nil {
		return
	}
	c.link.Finish()
	last := time.NewTimer(lastWord)
	defer last.Stop()
	select {
	case <-ctx.Done():
	case <-last.C:
	}
}
