package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"svc/wire"
)

// fleetOrder requests that workers connect, or, in later orders, how they have connected again.
type fleetOrder struct {
	URLs    []string // of the orchestrators; a worker connects to a random other one when its uplink ends
	Token   string
	Workers int
	Rate    int           // workers that connect per second; 0: all at once
	Since   time.Time     // when the orchestrator was started again or killed; the first order counts from its own start
	Within  time.Duration // how long to wait until all are connected; 0: 5 minutes
}

// fleetAnswer reports how the workers connected.
type fleetAnswer struct {
	Open       int           // workers that are connected
	Back       int           // those of them that connected after Since
	Last       time.Duration // from Since until the last one connected
	Peak, Mean float64       // connects per second
}

// fleetState stores which workers are connected, and since when: the first response on the uplink.
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

func (s *fleetState) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.alive)
}

// since returns when workers connected after t, as durations from t in ascending order.
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

// fleetWorkers is the role of the child process that runs all workers.
func fleetWorkers(ctx context.Context, p pipe) error {
	var o fleetOrder
	if err := p.ask(&o); err != nil {
		return err
	}
	debug.SetGCPercent(400) // the workers share the machine with what is measured
	client := &http.Client{Transport: &http.Transport{DialContext: fromManyAddresses, MaxIdleConnsPerHost: 64, IdleConnTimeout: 5 * time.Second}}
	s := &fleetState{alive: map[int]time.Time{}}
	began := time.Now()
	for i := range o.Workers {
		w := newFakeWorker(o.URLs[i%len(o.URLs)], fmt.Sprintf("host-%d", i), client)
		w.token = o.Token
		if o.Rate > 0 && pause(ctx, time.Until(began.Add(time.Duration(i)*time.Second/time.Duration(o.Rate)))) != nil {
			return ctx.Err()
		}
		go w.keepConnected(ctx, i, s, o.URLs)
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

// addresses is the number of loopback addresses from which the workers connect. Real hosts have an address each, and an
// orchestrator limits the number of connections without an accepted token from one address.
const addresses = 40 * 250

var turn atomic.Uint32

// fromManyAddresses dials from one address after the other.
func fromManyAddresses(ctx context.Context, network, addr string) (net.Conn, error) {
	n := turn.Add(1) % addresses
	own := net.IPv4(127, 0, byte(1+n/250), byte(1+n%250))
	return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: own}}).DialContext(ctx, network, addr)
}

// await waits until all workers are connected, at most for o.Within after since.
func (s *fleetState) await(since time.Time, o fleetOrder) fleetAnswer {
	if o.Within == 0 {
		o.Within = 5 * time.Minute
	}
	deadline := time.After(time.Until(since.Add(o.Within)))
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting && s.open() < o.Workers; {
		select {
		case <-tick.C:
		case <-deadline:
			waiting = false
		}
	}
	back := s.since(since)
	a := fleetAnswer{Open: s.open(), Back: len(back)}
	if len(back) == 0 {
		return a
	}
	a.Last = back[len(back)-1]
	a.Mean = float64(len(back)) / max(a.Last.Seconds(), 1)
	for i, j := 0, 0; i < len(back); i++ { // the second with the most connects; it may begin at any time
		for back[i]-back[j] > time.Second {
			j++
		}
		a.Peak = max(a.Peak, float64(i-j+1))
	}
	return a
}

// keepConnected connects again whenever a connection ends, with the same waits as the product's worker: the time that a
// crowded orchestrator tells; otherwise a random time below a limit that doubles from 0.5 s to 10 s with each failure.
func (w *fakeWorker) keepConnected(ctx context.Context, i int, s *fleetState, urls []string) {
	for failures := 0; ctx.Err() == nil; {
		if w.serve(ctx, func() { s.set(i, time.Now()) }) {
			failures = 0
		}
		s.clear(i)
		if w.turnIn == 0 { // a turn is one in the line of the same orchestrator
			w.url = otherOf(urls, w.url)
		}
		bound := 10 * time.Second
		if failures < 5 {
			bound = min(500*time.Millisecond<<failures, bound)
		}
		wait := time.Duration(rand.Float64() * float64(bound)) //nolint:gosec // jitter is no secret
		if w.turnIn > 0 {
			wait, w.turnIn = w.turnIn+rand.N(500*time.Millisecond), 0 //nolint:gosec // the same
		} else {
			failures++
		}
		if pause(ctx, wait) != nil {
			return
		}
	}
}

// otherOf returns a random URL other than the present one, as a balancer in front of the orchestrators would. In a fixed
// order, all workers of two would end up at the third.
func otherOf(urls []string, present string) string {
	next := urls[rand.N(len(urls))] //nolint:gosec // spreads load, guards nothing
	for next == present && len(urls) > 1 {
		next = urls[rand.N(len(urls))] //nolint:gosec // the same
	}
	return next
}

// serve opens a connection and uses it until it ends. lived is false if no heartbeat was acknowledged on it. serve calls
// alive at the first acknowledgement.
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
		switch f := f.(type) {
		case *wire.HeartbeatAck:
			if !lived {
				lived = true
				alive()
			}
		case *wire.RunDispatch:
			w.given = append(w.given, givenRun{RunDispatch: f})
			if w.tell(ctx, &w.given[len(w.given)-1]) != nil {
				return lived
			}
		}
	}
}
