package store

import (
	"context"
	"sync"
	"time"

	"svc"
	"svc/atomicfile"
)

const (
	// readyAge is how long a commit, or an attempt, says that the next one would
	// end alike. However often anyone asks, no more is written for it.
	readyAge = time.Second
	// readyLimit is how long a commit may take to prove that writes work.
	readyLimit = 3 * time.Second
	// readyRoom is what an ordinary write may add to the file.
	readyRoom = 64 << 10
)

// Ready says whether the database takes writes: one was committed just now, or
// one that changes nothing but a counter is. It answers within seconds.
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

// full says whether SQLite's disk has less room than a write may need. A commit of a few bytes proves nothing there: it may be the last one.
func (s *Store) full() bool {
	if s.dir == "" {
		return false
	}
	free, err := atomicfile.DiskFree(s.dir)
	return err == nil && free < readyRoom
}

// probe runs one attempt for all who ask meanwhile.
type probe struct {
	mu      sync.Mutex // guards the rest
	at      time.Time
	err     error         // of the last attempt
	running chan struct{} // closed at the end of the one that runs; nil: none does
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

// wait is for the attempt that runs.
func (p *probe) wait() { p.tasks.Wait() }
