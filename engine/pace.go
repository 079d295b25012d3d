package engine

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"svc"
)

// pace is one token bucket per key: a peer that exceeds its rate waits, without effect on others.
type pace struct {
	every rate.Limit // per second
	burst int

	mu      sync.Mutex // guards buckets
	buckets map[string]*rate.Limiter
}

// mostBuckets limits the memory. A bucket that is dropped starts full again.
const mostBuckets = 10_000

func newPace(every rate.Limit, burst int) *pace {
	return &pace{every: every, burst: burst, buckets: map[string]*rate.Limiter{}}
}

// newPaces returns the rates: per second, and burst.
func newPaces() paces {
	return paces{
		frames:    newPace(500, 5000), // per host, of frames that cost a query or a write; a spool is replayed at this rate
		notices:   newPace(1, 200),    // per host, of journaled frames that are not signals: orphans, catalogs
		reports:   newPace(20, 1000),  // per host, of reports about workspaces: a restarted worker reports all of them
		progress:  newPace(5, 200),    // per run
		sessions:  newPace(50, 500),   // per run, of requests with its own token: other sessions on the host are not delayed by them
		arrivals:  newPace(2, 30),     // per host, registrations and connections separately
		endless:   time.Duration(1<<63 - 1),
		impatient: time.Second,
	}
}

type paces struct {
	frames, notices, reports, progress, sessions, arrivals *pace

	endless, impatient time.Duration // how long a caller waits: a connection without limit, a request only briefly
}

func (p *pace) bucket(key string) *rate.Limiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.buckets[key]
	if b == nil {
		for other := range p.buckets {
			if len(p.buckets) < mostBuckets {
				break
			}
			delete(p.buckets, other)
		}
		b = rate.NewLimiter(p.every, p.burst)
		p.buckets[key] = b
	}
	return b
}

// wait waits for a token of the key's bucket. If that would take longer than patience, it returns an error to try
// again later.
func (p *pace) wait(ctx context.Context, key string, patience time.Duration) error {
	return p.waitFor(ctx, key, 1, patience)
}

// waitFor is wait for n tokens, or for a full bucket if n is more than that.
func (p *pace) waitFor(ctx context.Context, key string, n int, patience time.Duration) error {
	turn := p.bucket(key).ReserveN(time.Now(), min(n, p.burst))
	delay := turn.Delay()
	if delay == 0 {
		return nil
	}
	if delay > patience {
		turn.Cancel()
		return svc.Errorf(svc.CodeUnavailable, "too much at once; try again in %s", delay.Round(time.Second))
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return ctx.Err()
	}
}

// paceSignal limits the rate of signals: per session if it reports the signal itself, per run for progress signals,
// and per host. A signal that one limit refuses does not count for the next. It is not yet checked that the run is on
// the host, so the limit per run is kept separately for each host.
func (e *Engine) paceSignal(ctx context.Context, who Reporter, s *svc.Signal, patience time.Duration) error {
	if who.Attempt != 0 {
		if err := e.paces.sessions.wait(ctx, s.RunID, patience); err != nil {
			return err
		}
	}
	if s.Kind == svc.SignalProgress {
		if err := e.paces.progress.wait(ctx, who.Host+" "+s.RunID, patience); err != nil {
			return err
		}
	}
	if who.Host == anyHost {
		return nil
	}
	return e.paces.frames.wait(ctx, who.Host, patience)
}

// paceReport limits the rate of a host's reports about workspaces, which are written and often journaled.
func (e *Engine) paceReport(ctx context.Context, who Reporter) error {
	if who.Host == anyHost {
		return nil
	}
	return e.paces.reports.wait(ctx, who.Host, e.paces.impatient)
}

// PaceArrival refuses a host that registers or connects too often, so that other hosts are not delayed.
func (e *Engine) PaceArrival(ctx context.Context, what, host string) error {
	return e.paces.arrivals.wait(ctx, what+" "+host, 0)
}

// hostSlots limits how many operations per host are in progress at a time; further ones wait.
type hostSlots struct {
	most int

	mu   sync.Mutex // guards open
	open map[string]*slotsOf
}

type slotsOf struct {
	taken chan struct{}
	users int // that hold a slot or wait for one
}

func newSlots(most int) *hostSlots { return &hostSlots{most: most, open: map[string]*slotsOf{}} }

// acquire waits for a slot of a host. The caller must call release once.
func (b *hostSlots) acquire(ctx context.Context, key string) (release func(), err error) {
	b.mu.Lock()
	r := b.open[key]
	if r == nil {
		r = &slotsOf{taken: make(chan struct{}, b.most)}
		b.open[key] = r
	}
	r.users++
	b.mu.Unlock()
	forget := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if r.users--; r.users == 0 {
			delete(b.open, key)
		}
	}
	select {
	case r.taken <- struct{}{}:
		return func() { <-r.taken; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}
