package worker

import (
	"context"
	"time"

	"svc/process"
	"svc/rundir"
)

// revoke removes the permit of the last try. It returns true when no wrapper took the permit; then none ever
// can.
func (s *session) revoke() bool {
	if s.claimed() {
		return false
	}
	try, err := s.a.LastTry()
	return err == nil && try > 0 && rundir.RevokeLaunch(s.a.PermitPath(try))
}

// claimed reports whether a wrapper has recorded itself.
func (s *session) claimed() bool {
	_, err := s.a.ReadWrapper()
	return err == nil
}

// claimLimit is how long a wrapper may take from the start of its terminal to its record. lateLimit is how long
// a wrapper of an earlier version may take from its permit to its record.
const (
	claimLimit = 30 * time.Second
	lateLimit  = 5 * time.Second
)

// taker returns the process that took the permit of the last try, or was about to take it.
func (s *session) taker() (process.ID, error) {
	try, err := s.a.LastTry()
	if err != nil {
		return process.ID{}, err
	}
	return rundir.ReadTaker(s.a.PermitPath(try))
}

// awaitTaker waits, without a limit, until the wrapper that took the permit has recorded itself or has ended. A
// wrapper of an earlier version did not record that it took the permit; it is waited for lateLimit.
func (s *session) awaitTaker(ctx context.Context) {
	taker, err := s.taker()
	if err != nil {
		s.awaitClaim(ctx, lateLimit, func() (bool, error) { return true, nil })
		return
	}
	s.awaitClaim(ctx, 0, taker.Alive)
}

// awaitClaim waits until the wrapper of a session that was being made has recorded itself, or has ended. A
// wrapper that ends without a record found no permit, because its terminal came up late.
func (s *session) awaitClaim(ctx context.Context, limit time.Duration, lives func() (bool, error)) {
	if limit > 0 { // otherwise as long as it lives
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
