package server

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"svc"
)

// After an outage all workers reconnect within seconds. Each worker waits for a random time before it connects. The
// attempts that still coincide are queued here, so that the orchestrator can do its other work meanwhile.
const (
	arrivalsPerSecond = 250
	arrivalsAtOnce    = 50
	longestArrival    = 5 * time.Second // with a longer wait the worker is refused and must try again
)

// arrivals limits the rate at which workers connect.
type arrivals struct {
	limit *rate.Limiter
	line  sync.Mutex // so that a refused reservation is cancelled before the next one is made
}

func newArrivals() *arrivals {
	return &arrivals{limit: rate.NewLimiter(arrivalsPerSecond, arrivalsAtOnce)}
}

// queue reserves the next turn. It returns an error when that turn is too far in the future.
func (a *arrivals) queue() (*rate.Reservation, error) {
	a.line.Lock()
	defer a.line.Unlock()
	turn := a.limit.Reserve()
	if turn.Delay() > longestArrival {
		turn.Cancel() // restores the whole reservation only while no later one was made
		return nil, svc.Errorf(svc.CodeUnavailable, "too many workers are connecting at once; try again")
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
