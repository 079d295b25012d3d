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
	failedAgain         = time.Minute // from a file that could not be copied to the next comparison of the trees
	expireInterval      = time.Hour
	slice               = 4 << 20 // bytes of one file that are fetched before the next file
	idleTimeout         = 30 * time.Second
)

// Puller keeps a folder equal to that of the leader. Nothing else may write to the folder while Run runs: a process
// that becomes the leader must wait for Run to return before it writes, and a process whose term ends must close its
// files before it calls Run.
type Puller struct {
	// Dir is the folder. Run creates it if it does not exist.
	Dir string
	// Client sends the requests. It authenticates this process.
	Client *http.Client
	// Base returns the URL of the leader's [Source], for example http://10.0.0.1:7071. ok is false while there is no
	// leader, or this process is the leader.
	Base func() (url string, ok bool)
	Log  *slog.Logger
	// Interval is the time between two requests for changes; 0: a second.
	Interval time.Duration
	// FullInterval is the time between two comparisons of the whole trees; 0: five minutes.
	FullInterval time.Duration
	// MinFree is the free disk space, in bytes, below which nothing is fetched; 0: no limit.
	MinFree int64
	// Gone reports whether a file that the leader does not have was removed for good. It must read that from a record
	// that all orchestrators share: that the leader lacks the file does not prove it. Once an hour, it is called for
	// files that were last written longer than Keep ago. nil: such files stay.
	Gone func(ctx context.Context, file string) bool
	Keep time.Duration
	// Order returns a function that compares two contents of a file of which neither begins with the other: older
	// reports whether the first content is older than the second. If Order or its result is nil, the times of
	// modification decide. They are the times of the last write, not of the content.
	Order func(file string) (older func(a, b []byte) bool)

	slice int64 // bytes; 0: the constant slice. Set by tests

	mu     sync.Mutex // guards what follows
	status Status
}

// Status is the state of a copy.
type Status struct {
	Source  string    // the leader's process that the copy is compared with; empty: none yet
	Pending int       // files that are queued because they differ
	Equal   time.Time // when the last poll left nothing to fetch; zero: never with this source
}

// Status returns the state of the copy.
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
	// nextExpire is the time from which a comparison of everything also looks for files that only this copy has.
	nextExpire time.Time

	fresh, bulk queue // fresh, the changes of polls, is fetched before bulk, the differences of whole listings
	overflow    bool  // bulk was full: more files differ than it has
	failures    int   // since everything was last compared

	// known maps a path to the id of the leader's file, for local files whose bytes came from this source or were
	// compared with it. For them a hash of the last bytes is enough: see window.
	known map[string]string

	failing  bool // the last request failed, and that was logged
	diskFull bool // the disk has no room, and that was logged
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
	defer func() { _ = root.Close() }() // all files below it are closed
	s := &pull{Puller: p, root: root, known: map[string]string{}, fresh: newQueue(), bulk: newQueue()}
	for ctx.Err() == nil {
		s.round(ctx)
	}
	return nil
}

// round does one step: it requests changes, fetches one slice of one file, or waits.
func (s *pull) round(ctx context.Context) {
	base, ok := s.Base()
	if !ok {
		s.reset("")
		s.pause(ctx, s.interval())
		return
	}
	if base != s.base {
		s.reset(base)
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
	s.logResult(err)
	if err != nil {
		s.pause(ctx, s.interval())
	}
}

// reset resets the state for another leader, so that everything is compared again.
func (s *pull) reset(base string) {
	s.base, s.cursor, s.nextPoll, s.nextExpire = base, "", time.Time{}, time.Time{}
	s.fresh, s.bulk, s.overflow = newQueue(), newQueue(), false
	s.setSource("")
}

// setSource stores which process answers, and resets what was compared with another one.
func (s *pull) setSource(source string) {
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

// progress updates the status. polled is true after a complete poll.
func (s *pull) progress(polled bool) {
	status := s.Status()
	status.Pending = s.fresh.len() + s.bulk.len()
	if polled && status.Pending == 0 && !s.overflow && s.failures == 0 {
		status.Equal = time.Now()
	}
	s.setStatus(status)
}

// fetchNext transfers a slice of the next file. It returns an error only if the connection failed. An error of one
// file is logged and does not delay the other files.
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
		s.overflow, s.nextFull = false, time.Time{} // the next poll finds the files for which bulk had no room
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

// noSpace reports whether less than MinFree of the disk is free.
func (s *pull) noSpace() bool {
	var disk unix.Statfs_t
	diskFull := s.MinFree > 0 && unix.Statfs(s.Dir, &disk) == nil &&
		int64(disk.Bavail)*int64(disk.Bsize) < s.MinFree //nolint:unconvert // the fields' types differ between systems
	if diskFull && !s.diskFull {
		s.Log.Error("the disk has no room for a copy of the leader's files; waiting for room", "dir", s.Dir)
	}
	s.diskFull = diskFull
	return diskFull
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

// logResult logs the first of consecutive failures, and the first success after them.
func (s *pull) logResult(err error) {
	switch {
	case err != nil && !s.failing:
		s.Log.Warn("the leader's files cannot be mirrored; trying again", "leader", s.base, "error", err)
	case err == nil && s.failing:
		s.Log.Info("the leader's files are mirrored again", "leader", s.base)
	}
	s.failing = err != nil
}
