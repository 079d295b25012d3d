package engine

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"svc"
)

// pace is a token bucket for each of many: what one does too often waits, and
// nobody else does.
type pace struct {
	every rate.Limit // a second
	burst int

	mu      sync.Mutex // guards buckets
	buckets map[string]*rate.Limiter
}

// mostBuckets bounds the memory; one that is dropped begins full again.
const mostBuckets = 10_000

func newPace(every rate.Limit, burst int) *pace {
	return &pace{every: every, burst: burst, buckets: map[string]*rate.Limiter{}}
}

// How often things may happen.
func newPaces() paces {
	return paces{
		frames:    newPace(500, 5000), // of a host that cost a query or a write; a spool is replayed at this speed
		notices:   newPace(1, 200),    // of a host that are journaled and no signals: orphans, catalogs
		reports:   newPace(20, 1000),  // of a host about its workspaces: a restarted worker tells of all
		progress:  newPace(5, 200),    // of a run
		sessions:  newPace(50, 500),   // of a run with its own token: what one session sends its neighbours on the host do not wait for
		arrivals:  newPace(2, 30),     // of a host: registrations and connections, each
		endless:   time.Duration(1<<63 - 1),
		impatient: time.Second,
	}
}

type paces struct {
	frames, notices, reports, progress, sessions, arrivals *pace

	endless, impatient time.Duration // how long a caller waits: a connection for ever, a request not
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

// wait waits for the key's turn. When that is further away than the caller's
// patience, the answer is to try again later.
func (p *pace) wait(ctx context.Context, key string, patience time.Duration) error {
	return p.waitFor(ctx, key, 1, patience)
}

// waitFor is wait for what counts as so many, which are fewer than the burst.
func (p *pace) waitFor(ctx context.Context, key string, n int, patience time.Duration) error {
	turn := p.bucket(key).ReserveN(time.Now(), n)
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

// paceSignal holds a signal to the speed of its session, if that tells it itself, of its run, if it is one of those that may come
// in any number, and of its host. What one of them refuses does not count for the next. Whether the run is the host's is not known
// here: each host has its own speed for it.
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

// paceReport holds what is told of workspaces, which is written and often journaled, to the speed of its host.
func (e *Engine) paceReport(ctx context.Context, who Reporter) error {
	if who.Host == anyHost {
		return nil
	}
	return e.paces.reports.wait(ctx, who.Host, e.paces.impatient)
}

// PaceArrival refuses a host that registers or connects too often, so that it
// does not take the turns of others.
func (e *Engine) PaceArrival(ctx context.Context, what, host string) error {
	return e.paces.arrivals.wait(ctx, what+" "+host, 0)
}

// hostSlots lets a few of each host pass at a time; the next one waits.
type hostSlots struct {
	most int

	mu   sync.Mutex // guards open
	open map[string]*slotsOf
}

type slotsOf struct {
	taken chan struct{}
	users int // that hold one or wait
}

func newSlots(most int) *hostSlots { return &hostSlots{most: most, open: map[string]*slotsOf{}} }

// acquire waits for a slot of a host. release is called once.
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
