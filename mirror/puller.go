package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	defaultInterval     = time.Second
	defaultFullInterval = 5 * time.Minute
	failedAgain         = time.Minute // after a file could not be copied, the trees are compared
	expireInterval      = time.Hour
	slice               = 4 << 20 // bytes of one file, before it is another's turn
	idleTimeout         = 30 * time.Second
)

// Puller keeps a folder equal to that of the leader. Nothing else writes to the folder while Run runs: a process that begins to lead
// waits for Run to return, and one that stops leading has closed what it writes before it starts Run.
type Puller struct {
	// Dir is the folder. It is made when it does not exist.
	Dir string
	// Client sends the requests. It authenticates this process.
	Client *http.Client
	// Base is where the leader's [Source] is served, as in http://10.0.0.1:7071. It is false while there is no leader, or it is this process.
	Base func() (url string, ok bool)
	Log  *slog.Logger
	// Interval is how often the leader is asked for changes; 0: each second.
	Interval time.Duration
	// FullInterval is how often the whole trees are compared; 0: every five minutes.
	FullInterval time.Duration
	// MinFree is how much of the disk stays free, in bytes; below it nothing is fetched. 0: nothing.
	MinFree int64
	// Gone says of a file that the leader does not have whether it was removed for good. It must know that from a record that all share: that the leader lacks a file
	// says nothing. It is asked once an hour about files that were last written longer than Keep ago. nil: such files stay.
	Gone func(ctx context.Context, file string) bool
	Keep time.Duration
	// Order is how two contents of a file are told apart of which neither begins with the other, where the contents say it: older says
	// whether the first is older than the second. nil, here or as its answer: their times of modification decide, which are those of the
	// last write and not of what was written.
	Order func(file string) (older func(a, b []byte) bool)

	slice int64 // bytes; 0: the constant. For tests

	mu     sync.Mutex // guards what follows
	status Status
}

// Status is how far a copy is.
type Status struct {
	Source  string    // the leader's process that it is compared with; empty: none yet
	Pending int       // files that are known to differ
	Equal   time.Time // when nothing was left to fetch after a poll; zero: never with this source
}

// Status is how far the copy is.
func (p *Puller) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// pull is the state of one Run.
type pull struct {
	*Puller
	root *os.Root

	base     string
	source   string
	cursor   string // empty: the next poll compares everything
	nextPoll time.Time
	nextFull time.Time
	// nextExpire is when a comparison of everything also looks for files that only this copy has.
	nextExpire time.Time

	fresh, bulk queue // what changed while we watched goes first
	overflow    bool  // bulk had no room for all
	failures    int   // since everything was last compared

	// known are files whose bytes, as far as they are here, came from this source or were compared with it: path to its file. A short
	// hash confirms them.
	known map[string]string

	failing bool // the last request went wrong, and was told
	tight   bool // the disk has no room, and that was told
}

// Run copies until ctx ends.
func (p *Puller) Run(ctx context.Context) error {
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	defer func() { _ = root.Close() }() // its files were closed
	s := &pull{Puller: p, root: root, known: map[string]string{}, fresh: newQueue(), bulk: newQueue()}
	for ctx.Err() == nil {
		s.round(ctx)
	}
	return nil
}

// round does one thing: it asks for changes, fetches one slice of one file, or waits.
func (s *pull) round(ctx context.Context) {
	base, ok := s.Base()
	if !ok {
		s.forget("")
		s.pause(ctx, s.interval())
		return
	}
	if base != s.base {
		s.forget(base)
	}
	var err error
	switch now := time.Now(); {
	case !now.Before(s.nextPoll):
		s.nextPoll = now.Add(s.interval())
		err = s.poll(ctx, now)
	case s.fresh.empty() && s.bulk.empty() || s.noSpace():
		s.pause(ctx, s.nextPoll.Sub(now))
		return
	default:
		err = s.fetchNext(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	s.report(err)
	if err != nil {
		s.pause(ctx, s.interval())
	}
}

// forget prepares for another leader: everything is compared anew.
func (s *pull) forget(base string) {
	s.base, s.cursor, s.nextPoll, s.nextExpire = base, "", time.Time{}, time.Time{}
	s.fresh, s.bulk, s.overflow = newQueue(), newQueue(), false
	s.meet("")
}

// meet takes note of the process that answers.
func (s *pull) meet(source string) {
	if s.source != source {
		s.source = source
		clear(s.known)
		s.setStatus(Status{Source: source})
	}
}

func (s *pull) setStatus(status Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// progress tells how far the copy is.
func (s *pull) progress(polled bool) {
	status := s.Status()
	status.Pending = s.fresh.len() + s.bulk.len()
	if polled && status.Pending == 0 && !s.overflow && s.failures == 0 {
		status.Equal = time.Now()
	}
	s.setStatus(status)
}

// fetchNext transfers a slice of the file whose turn it is. The error is the connection's; what is wrong with one file does not hold up
// the others.
func (s *pull) fetchNext(ctx context.Context) error {
	from := &s.fresh
	if from.empty() {
		from = &s.bulk
	}
	path := from.pop()
	more, err := s.fetch(ctx, path)
	var link *linkError
	switch {
	case errors.As(err, &link) || err == nil && more:
		from.push(path)
	case err != nil:
		if s.failures++; s.failures <= 10 {
			s.Log.Warn("a file cannot be mirrored; trying again later", "path", path, "error", err)
		}
		s.nextFull = earlier(s.nextFull, time.Now().Add(failedAgain))
		err = nil
	}
	if s.overflow && s.bulk.empty() {
		s.overflow, s.nextFull = false, time.Time{} // the rest
	}
	s.progress(false)
	return err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// noSpace says whether the disk has less free than must stay.
func (s *pull) noSpace() bool {
	var disk unix.Statfs_t
	tight := s.MinFree > 0 && unix.Statfs(s.Dir, &disk) == nil &&
		int64(disk.Bavail)*int64(disk.Bsize) < s.MinFree //nolint:unconvert // the fields' types differ between systems
	if tight && !s.tight {
		s.Log.Error("the disk has no room for a copy of the leader's files; waiting for room", "dir", s.Dir)
	}
	s.tight = tight
	return tight
}

func (s *pull) interval() time.Duration {
	if s.Interval > 0 {
		return s.Interval
	}
	return defaultInterval
}

func (s *pull) fullInterval() time.Duration {
	if s.FullInterval > 0 {
		return s.FullInterval
	}
	return defaultFullInterval
}

func (s *pull) pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// report tells the first of a row of failures, and its end.
func (s *pull) report(err error) {
	switch {
	case err != nil && !s.failing:
		s.Log.Warn("the leader's files cannot be mirrored; trying again", "leader", s.base, "error", err)
	case err == nil && s.failing:
		s.Log.Info("the leader's files are mirrored again", "leader", s.base)
	}
	s.failing = err != nil
}
