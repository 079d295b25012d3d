package server

import (
	"context"
	"sync"
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

// arrivals limits the rate at which workers connect.
type arrivals struct {
	limit *rate.Limiter
	line  sync.Mutex // a turn that is too late is given back before the next is taken
}

func newArrivals() *arrivals {
	return &arrivals{limit: rate.NewLimiter(arrivalsPerSecond, arrivalsAtOnce)}
}

// queue takes the next turn, unless it is too far away.
func (a *arrivals) queue() (*rate.Reservation, error) {
	a.line.Lock()
	defer a.line.Unlock()
	turn := a.limit.Reserve()
	if turn.Delay() > longestArrival {
		turn.Cancel() // whole only while it is the last: a later turn would keep the line as long as it was
		return nil, svc.Errorf(svc.CodeUnavailable, "too many workers come back at once; try again")
	}
	return turn, nil
}

// pass waits for the caller's turn.
func (a *arrivals) pass(ctx context.Context) error {
	turn, err := a.queue()
	if err != nil {
		return err
	}
	wait := turn.Delay()
	if wait == 0 {
		return nil
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
