package store

import (
	"context"
	"sync"
	"time"

	"svc"
	"svc/atomicfile"
)

const (
	// readyAge is how long the result of a commit, or of a probe, is valid. It
	// bounds how often probes write, however often Ready is called.
	readyAge = time.Second
	// readyLimit is the timeout of a probe.
	readyLimit = 3 * time.Second
	// readyRoom is how many bytes an ordinary write may add to the file.
	readyRoom = 64 << 10
)

// Ready returns nil if the database accepts writes. If there was no commit within
// the last second, it commits a write that only changes a counter. It returns
// within seconds.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.lease.check(); err != nil {
		return err
	}
	if s.full() {
		return svc.Unavailable(svc.CauseDiskFull)
	}
	if proven := s.writer.proven.Load(); proven > 0 && time.Since(s.writer.began)-time.Duration(proven) < readyAge {
		return nil
	}
	return s.probe.ask(ctx, s.dialect.silent, func() error {
		return s.Write(context.Background(), func(tx *Tx) error {
			tx.w.proving = true
			return nil
		})
	})
}

// full reports whether SQLite's disk has less free space than a write may need. A commit of a few bytes is no proof of
// that: it may be the last one that fits.
func (s *Store) full() bool {
	if s.dir == "" {
		return false
	}
	free, err := atomicfile.DiskFree(s.dir)
	return err == nil && free < readyRoom
}

// probe runs one attempt at a time. All callers that arrive meanwhile get its result.
type probe struct {
	mu      sync.Mutex // guards the rest
	at      time.Time
	err     error         // of the last attempt
	running chan struct{} // closed when the running attempt ends; nil: none runs
	tasks   sync.WaitGroup
}

func (p *probe) ask(ctx context.Context, silent svc.Cause, attempt func() error) error {
	p.mu.Lock()
	if p.running == nil && !p.at.IsZero() && time.Since(p.at) < readyAge {
		defer p.mu.Unlock()
		return p.err
	}
	if p.running == nil {
		ended := make(chan struct{})
		p.running = ended
		p.tasks.Go(func() {
			err := attempt()
			p.mu.Lock()
			defer p.mu.Unlock()
			p.at, p.err, p.running = time.Now(), err, nil
			close(ended)
		})
	}
	running := p.running
	p.mu.Unlock()
	limit := time.NewTimer(readyLimit)
	defer limit.Stop()
	select {
	case <-running:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	case <-limit.C:
		return svc.Unavailable(silent)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait waits for the running attempt.
func (p *probe) wait() { p.tasks.Wait() }
