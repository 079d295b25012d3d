package server

import (
	"context"
	"sync"
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
)

// arrivals limits how many workers connect at a time.
type arrivals struct{ places chan struct{} }

func newArrivals() *arrivals { return &arrivals{make(chan struct{}, arrivalsAtOnce)} }

// enter waits for a place, in the order of arrival. The caller must call leave; it may call it repeatedly.
func (a *arrivals) enter(ctx context.Context) (leave func(), err error) {
	leave = sync.OnceFunc(func() { <-a.places })
	select {
	case a.places <- struct{}{}:
		return leave, nil
	default:
	}
	limit := time.NewTimer(longestArrival)
	defer limit.Stop()
	select {
	case a.places <- struct{}{}:
		return leave, nil
	case <-limit.C:
		return nil, svc.Errorf(svc.CodeUnavailable, "too many workers are connecting at once; try again")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
