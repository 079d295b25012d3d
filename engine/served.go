package engine

import (
	"context"
	"sync"
	"time"

	"svc"
	"svc/place"
	"svc/store"
)

const (
	// servedPause is how late a claim pass may be before the time since the one
	// before counts as time in which nobody placed runs.
	servedPause = 10 * time.Second
	// servedKeep is how often the times of service are written while runs wait.
	// What a crash loses of them is counted in favour of the runs.
	servedKeep = 5 * time.Second
)

// servedTimes knows when an orchestrator placed runs. The dispatch timeout
// counts these times only. They are witnessed by the claim passes themselves:
// a process that did not run, was frozen or had no database for a while made
// none.
type servedTimes struct {
	timeout time.Duration

	mu     sync.Mutex // guards the rest
	times  place.Served
	kept   svc.Time // until when they were written
	failed bool     // the last pass did not come to its end
}

// newServedTimes reads the times of service of before; this one begins now.
func newServedTimes(ctx context.Context, s *store.Store, timeout time.Duration, now svc.Time) (*servedTimes, error) {
	before, err := s.ServiceTimes(ctx)
	if err != nil {
		return nil, err
	}
	t := &servedTimes{timeout: timeout}
	for _, b := range before {
		if b.Began < now {
			t.times = append(t.times, place.Span{Began: b.Began, Until: min(b.Until, now)})
		}
	}
	t.times = append(t.times, place.Span{Began: now, Until: now})
	return t, nil
}

// extend notes that runs are placed at now. What lies between a pass that
// failed and the next one does not count.
func (t *servedTimes) extend(now svc.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pause := servedPause
	if t.failed {
		pause = -1
		if last := t.times[len(t.times)-1]; last.Began == last.Until {
			t.times = t.times[:len(t.times)-1]
		}
	}
	t.times, t.failed = t.times.Extend(now, pause), false
}

// interrupt notes that a pass could not place runs.
func (t *servedTimes) interrupt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

// since is the moment from which on that much time was served up to now, if so
// much was.
func (t *servedTimes) since(now svc.Time, served time.Duration) (svc.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.times.Since(now, served)
}

// deadline is when that much time will have been served since a moment.
func (t *servedTimes) deadline(from svc.Time, served time.Duration) svc.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.times.Deadline(from, served)
}

// keepSometimes writes the times of service when they were not for a while, and says whether it did.
func (t *servedTimes) keepSometimes(ctx context.Context, s *store.Store) (kept bool, err error) {
	t.mu.Lock()
	now := t.times[len(t.times)-1].Until
	due := now < t.kept || now.Sub(t.kept) >= servedKeep
	t.mu.Unlock()
	if !due {
		return false, nil
	}
	return true, t.keep(ctx, s)
}

// keep writes the times of service that still matter: no run waits longer than
// the timeout in them.
func (t *servedTimes) keep(ctx context.Context, s *store.Store) error {
	t.mu.Lock()
	until := t.times[len(t.times)-1].Until
	if before, any := t.times.Since(until, t.timeout); any {
		for t.times[0].Until < before {
			t.times = t.times[1:]
		}
	}
	keep := make([]store.ServiceTime, len(t.times))
	for i, span := range t.times {
		keep[i] = store.ServiceTime(span)
	}
	t.mu.Unlock()
	if err := s.Write(ctx, func(tx *store.Tx) error { return tx.KeepServiceTimes(ctx, keep) }); err != nil {
		return err
	}
	t.mu.Lock()
	t.kept = until
	t.mu.Unlock()
	return nil
}
