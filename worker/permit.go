package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"svc/rundir"
	"svc/tmux"
)

// A permit is a launch file: whoever takes it starts the provider, and it can be taken once. Each try
// to start an attempt has a permit of its own name. A worker that may not know what became of a try
// revokes its permit before it tries again, so that a terminal that comes up late, on behalf of a
// worker that was killed, finds nothing to start.

// permitRecord numbers the tries of an attempt.
type permitRecord struct {
	Try int `json:"try"`
}

func (s *session) permitPath(try int) string { return fmt.Sprintf("%s-%d", s.a.LaunchPath(), try) }

// grant writes the permit of a new try and answers where it is.
func (s *session) grant(launch rundir.Launch) (path string, err error) {
	last, err := s.lastTry()
	if err != nil {
		return "", err
	}
	// The number first: a permit that is not on record could not be revoked.
	if err := rundir.WriteRecord(s.a.File("try"), permitRecord{last + 1}); err != nil {
		return "", err
	}
	path = s.permitPath(last + 1)
	return path, rundir.WriteRecord(path, launch)
}

// lastTry is the number of the last try; 0 means that there was none.
func (s *session) lastTry() (int, error) {
	var p permitRecord
	err := rundir.ReadRecord(s.a.File("try"), &p)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return p.Try, err
}

// revoke takes back the permit of the last try. True means that it was not taken, and never will be.
// It is renamed and not removed: a worker that dies right here leaves the trace that the next one
// needs to tell revoked from taken.
func (s *session) revoke() bool {
	if s.claimed() {
		return false
	}
	try, err := s.lastTry()
	if err != nil || try == 0 {
		return false
	}
	path := s.permitPath(try)
	revoked := rundir.RevokedLaunch(path)
	if os.Rename(path, revoked) == nil {
		_ = os.Truncate(revoked, 0) // it holds secrets
		return true
	}
	return rundir.LaunchRevoked(path)
}

// claimed says whether a wrapper has come so far as to record itself.
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
func (s *session) taker() (rundir.Process, error) {
	try, err := s.lastTry()
	if err != nil {
		return rundir.Process{}, err
	}
	return rundir.ReadTaker(s.permitPath(try))
}

// awaitTaker waits until the wrapper that took the permit has recorded itself or has ended, however slow
// its disk is. One of an earlier version left no trace when it took it; it gets a moment.
func (s *session) awaitTaker(ctx context.Context) {
	taker, err := s.taker()
	if err != nil {
		s.awaitClaim(ctx, lateLimit, func() (bool, error) { return true, nil })
		return
	}
	s.awaitClaim(ctx, 0, tmux.Process(taker).Alive)
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
