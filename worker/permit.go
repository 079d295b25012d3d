package worker

import (
	"context"
	"time"

	"svc/process"
	"svc/rundir"
)

// revoke takes back the permit of the last try. True means that it was not taken, and never will be.
func (s *session) revoke() bool {
	if s.claimed() {
		return false
	}
	try, err := s.a.LastTry()
	return err == nil && try > 0 && rundir.RevokeLaunch(s.a.PermitPath(try))
}

// claimed reports whether a wrapper has come so far as to record itself.
func (s *session) claimed() bool {
	_, err := s.a.ReadWrapper()
	return err == nil
}

// How long a wrapper may take from its terminal's start to its record, and one of an earlier version
// from taking its permit.
const (
	claimLimit = 30 * time.Second
	lateLimit  = 5 * time.Second
)

// taker is the process that took the permit of the last try, or was about to.
func (s *session) taker() (process.ID, error) {
	try, err := s.a.LastTry()
	if err != nil {
		return process.ID{}, err
	}
	return rundir.ReadTaker(s.a.PermitPath(try))
}

// awaitTaker waits until the wrapper that took the permit has recorded itself or has ended, however slow
// its disk is. One of an earlier version left no trace when it took it; it gets a moment.
func (s *session) awaitTaker(ctx context.Context) {
	taker, err := s.taker()
	if err != nil {
		s.awaitClaim(ctx, lateLimit, func() (bool, error) { return true, nil })
		return
	}
	s.awaitClaim(ctx, 0, taker.Alive)
}

// awaitClaim waits until the wrapper of a session that was being made has recorded itself, or has
// ended. One that ends without a record found no permit: its terminal came up late.
func (s *session) awaitClaim(ctx context.Context, limit time.Duration, lives func() (bool, error)) {
	if limit > 0 { // else for as long as it lives
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = limited
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !s.claimed() {
		if alive, err := lives(); err == nil && !alive {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
