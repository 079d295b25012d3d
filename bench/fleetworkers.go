package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"svc/wire"
)

// fleetOrder connects workers, or asks how they came back.
type fleetOrder struct {
	URL     string
	Workers int
	Since   time.Time     // the orchestrator was back
	Within  time.Duration // how long to wait for all
}

// fleetAnswer is how the workers came back.
type fleetAnswer struct {
	Back       int
	Last       time.Duration
	Peak, Mean float64 // connects per second
}

// fleetState knows when each worker's uplink was last answered.
type fleetState struct {
	mu    sync.Mutex // guards alive
	alive map[int]time.Time
}

func (s *fleetState) set(i int, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive[i] = at
}

func (s *fleetState) clear(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.alive, i)
}

// since is the moments at which workers came back after a time.
func (s *fleetState) since(t time.Time) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []time.Duration
	for _, at := range s.alive {
		if at.After(t) {
			out = append(out, at.Sub(t))
		}
	}
	slices.Sort(out)
	return out
}

// fleetWorkers is the child with the workers.
func fleetWorkers(ctx context.Context, p pipe) error {
	var o fleetOrder
	if err := p.ask(&o); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 5 * time.Second}}
	s := &fleetState{alive: map[int]time.Time{}}
	began := time.Now()
	for i := range o.Workers {
		w := newFakeWorker(o.URL, fmt.Sprintf("host-%d", i), client)
		go w.keepConnected(ctx, i, s)
	}
	for {
		if err := p.tell(s.await(began, o)); err != nil {
			return err
		}
		if err := p.ask(&o); err != nil {
			return err
		}
		began = o.Since
	}
}

// await waits until all workers are back, or for too long.
func (s *fleetState) await(since time.Time, o fleetOrder) fleetAnswer {
	if o.Within == 0 {
		o.Within = 5 * time.Minute
	}
	deadline := time.After(time.Until(since.Add(o.Within)))
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting && len(s.since(since)) < o.Workers; {
		select {
		case <-tick.C:
		case <-deadline:
			waiting = false
		}
	}
	back := s.since(since)
	a := fleetAnswer{Back: len(back)}
	if len(back) == 0 {
		return a
	}
	a.Last = back[len(back)-1]
	a.Mean = float64(len(back)) / max(a.Last.Seconds(), 1)
	for i, j := 0, 0; i < len(back); i++ { // the fullest second, wherever it begins
		for back[i]-back[j] > time.Second {
			j++
		}
		a.Peak = max(a.Peak, float64(i-j+1))
	}
	return a
}

// keepConnected holds one connection after the other, with the worker's own
// back-off: the bound doubles from 0.5 s to 30 s with each failure, and the wait
// is drawn evenly from nothing up to the bound.
func (w *fakeWorker) keepConnected(ctx context.Context, i int, s *fleetState) {
	for failures := 0; ctx.Err() == nil; {
		if w.serve(ctx, func() { s.set(i, time.Now()) }) {
			failures = 0
		}
		s.clear(i)
		bound := 30 * time.Second
		if failures < 7 {
			bound = min(500*time.Millisecond<<failures, bound)
		}
		failures++
		if pause(ctx, time.Duration(rand.Float64()*float64(bound))) != nil { //nolint:gosec // jitter is no secret
			return
		}
	}
}

// serve holds one connection until it drops. It is false when no heartbeat was
// answered on it.
func (w *fakeWorker) serve(ctx context.Context, alive func()) (lived bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opening, opened := context.WithTimeout(ctx, 15*time.Second)
	defer opened()
	if w.connect(opening) != nil {
		return false
	}
	defer func() { _ = w.conn.Close("going away") }()
	go func() {
		tick := time.NewTicker(fleetBeat)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if w.beat(ctx) != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		f, err := w.read(ctx)
		if err != nil {
			return lived
		}
		if _, ok := f.(*wire.HeartbeatAck); ok && !lived {
			lived = true
			alive()
		}
	}
}
