package engine

import (
	"context"
	"time"

	"svc/wire"
)

// When workers reconnect after an orderly end of the orchestrator: not before a restart can be complete, and spread
// over the time that the admission of the whole fleet takes.
const (
	awayAtLeast   = time.Second
	awayPerWorker = 10 * time.Millisecond
	awaySpread    = 10 * time.Second // at most
)

// goawayDelay returns after what time one of so many workers should reconnect. at is its position in the spread, in [0,
// 1).
func goawayDelay(workers int, at float64) time.Duration {
	spread := min(time.Duration(workers)*awayPerWorker, awaySpread)
	return awayAtLeast + time.Duration(at*float64(spread))
}

// sendGoaway ends the connection because the orchestrator stops. If the worker supports the goaway frame, it is sent
// one with the time after which to reconnect, and gets a moment to read it. ctx is the connection's own.
func (c *uplinkConn) sendGoaway(ctx context.Context) {
	defer c.stop()
	if !c.goaway.Load() {
		return
	}
	reason := "the orchestrator is shutting down"
	if c.e.Draining() {
		reason = "the orchestrator is draining"
	}
	after := goawayDelay(c.e.Hub.Uplinks.Count(), jitter())
	if err := c.link.Send(wire.Goaway{Reason: reason, AfterMS: after.Milliseconds()}); err != nil {
		return
	}
	c.link.Finish()
	last := time.NewTimer(closeGrace)
	defer last.Stop()
	select {
	case <-ctx.Done():
	case <-last.C:
	}
}
