package server

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"svc"
)

// After an outage a whole fleet comes back within seconds. Each worker waits a
// random time before it tries, and here the tries that still coincide are lined
// up, so that the orchestrator has room for its other work meanwhile.
const (
	arrivalsPerSecond = 250
	arrivalsAtOnce    = 50
	longestArrival    = 5 * time.Second // longer, and the worker is asked to come again
)

// arrivals is a door that workers pass at a bounded pace.
type arrivals struct{ limit *rate.Limiter }

func newArrivals() arrivals {
	return arrivals{rate.NewLimiter(arrivalsPerSecond, arrivalsAtOnce)}
}

// pass waits for the caller's turn.
func (a arrivals) pass(ctx context.Context) error {
	turn := a.limit.Reserve()
	wait := turn.Delay()
	if wait == 0 {
		return nil
	}
	if wait > longestArrival {
		turn.Cancel()
		return svc.Errorf(svc.CodeUnavailable, "too many workers come back at once; try again")
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return ctx.Err()
	}
}
