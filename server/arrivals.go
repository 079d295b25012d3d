package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"svc"
)

// After an outage all workers reconnect within seconds. Each worker waits for a random time before it connects. The
// attempts that still coincide are queued here, so that the orchestrator can do its other work meanwhile. The limit is
// a number of arrivals at a time, not per second: so the pace is what the machine and its database can do.
const (
	arrivalsAtOnce = 64
	// arrivalMost is how long an arrival can hold its place after the upgrade. Then the next one is admitted, although
	// the worker has not sent its first heartbeat: it replays a long spool, or its network is slow.
	arrivalMost    = 250 * time.Millisecond
	longestArrival = 5 * time.Second // after a longer wait the worker is refused and must try again
	mostWaiting    = 2048            // more are refused at once: each that waits takes memory
)

// arrivals limits how many workers connect at a time.
type arrivals struct {
	places  chan struct{}
	waiting atomic.Int64
}

func newArrivals() *arrivals { return &arrivals{places: make(chan struct{}, arrivalsAtOnce)} }

var errCrowded = svc.Errorf(svc.CodeUnavailable, "too many workers are connecting at once; try again")

// enter waits for a place, in the order of arrival. The caller must call leave; it may call it repeatedly.
func (a *arrivals) enter(ctx context.Context) (leave func(), err error) {
	leave = sync.OnceFunc(func() { <-a.places })
	select {
	case a.places <- struct{}{}:
		return leave, nil
	default:
	}
	defer a.waiting.Add(-1)
	if a.waiting.Add(1) > mostWaiting {
		return nil, errCrowded
	}
	limit := time.NewTimer(longestArrival)
	defer limit.Stop()
	select {
	case a.places <- struct{}{}:
		return leave, nil
	case <-limit.C:
		return nil, errCrowded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
