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
	// servedPause is the longest time between two claim passes that counts as service. A longer time counts as a
	// pause in which no runs were placed.
	servedPause = 10 * time.Second
	// servedKeep is how often the times of service are written while runs wait. If a crash loses the newest ones, the
	// runs get a later timeout.
	servedKeep = 5 * time.Second
)

// servedTimes records when an orchestrator was placing runs. Only these times count towards the dispatch timeout. The
// claim passes themselves are the evidence: a process that was stopped or frozen, or had no database, made no passes.
type servedTimes struct {
	timeout time.Duration

	mu     sync.Mutex // guards the rest
	times  place.Served
	kept   svc.Time // end of the time that is written
	failed bool     // the last pass failed
}

// newServedTimes reads the stored times of service, and begins a new span now.
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

// extend records that runs are placed at now. The time between a failed pass and the next one does not count.
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

// interrupt records that a pass could not place runs.
func (t *servedTimes) interrupt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

// since returns the moment from which exactly that much time was served up to now; see place.Served.Since.
func (t *servedTimes) since(now svc.Time, served time.Duration) (svc.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.times.Since(now, served)
}

// deadline returns when that much time will have been served since from.
func (t *servedTimes) deadline(from svc.Time, served time.Duration) svc.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.times.Deadline(from, served)
}

// keepSometimes writes the times of service if they were not written for a while, and reports whether it did.
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

// keep writes the times of service that are still needed. Spans that lie before the last timeout's worth of service
// are dropped.
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
