package worker

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"sync"
	"time"

	"svc"
	"svc/leftover"
	"svc/process"
	"svc/rundir"
	"svc/tmux"
	"svc/wire"
)

// session is one attempt of a run on this host, from its dispatch to its clean-up. The goroutine in lead owns
// it: only that goroutine writes the attempt's records, starts the session, and closes it. Other goroutines
// request things through order and endReported, or read the fields that the lock guards.
type session struct {
	w      *Worker
	a      rundir.Attempt
	log    *slog.Logger
	before *session // an older attempt that must be gone before this one begins; nil: none
	typing serial   // keys reach the session in the order of their requests
	sizing serial   // changes of its size, and opening and closing of its relays
	parts  sync.WaitGroup

	workspace string               // the id of its working copy; empty: none. Set by dispatched
	tokenHash string               // of the run's token, which signals of the session must carry. Set by dispatched
	homeHint  string               // the hint that no working directory was configured; empty: one was. Set by dispatched
	onAnswer  func(refusal string) // sends the answer to the dispatch; nil: an earlier worker answered it
	accepted  chan struct{}        // closed when the dispatch was answered
	refusal   string               // why the dispatch was refused; empty: it was not. Read it after accepted is closed
	stop      chan struct{}        // closed when the session is to be stopped
	placed    chan struct{}        // closed when place is first set
	gone      chan struct{}        // closed when no process of the session runs any more
	reported  chan struct{}        // closed when the end was delivered to the orchestrator

	rec   rundir.Dispatch // only lead and accept touch it
	plain bool            // snapshots are without colours; set before follow is called
	// leader is the wrapper as this worker last saw it alive, and tree the processes below it; only lead uses
	// them. Zero: the worker did not see it alive.
	leader process.ID
	tree   []leftover.Process
	// Only tendTerminal uses these.
	lastWarning string     // the last logged warning about the terminal; empty: the terminal is in order
	writer      process.ID // the process that writes the log; zero: none was found

	mu          sync.Mutex // guards the fields below
	stopReason  string
	place       place
	relay       *relay
	final       *finalScreen   // nil: there is none, or not yet
	refusedEnd  refusedEnd     // when the report of the end was first not accepted
	seen        *rundir.Screen // the newest screen captured while the session was running; nil: none
	sized       paneSize
	gap         logGap
	sizeChanged bool // the size has changed since the last capture
	leaving     bool // no process of it writes to its working copy any more
	concluded   bool // the session is over and the final length of its log is known
	once        struct{ stop, placed, gone, reported, answer bool }
}

// place is where a live session can be reached.
type place struct {
	server  tmux.Server
	host    process.ID // the tmux server's process
	pane    string
	process process.ID // the wrapper
	live    bool       // false: not started yet, or over
}

func newSession(w *Worker, a rundir.Attempt, before *session) *session {
	s := &session{
		w: w, a: a, before: before, log: w.log.With("run_id", a.RunID, "attempt", a.Number),
		accepted: make(chan struct{}), stop: make(chan struct{}), placed: make(chan struct{}), gone: make(chan struct{}), reported: make(chan struct{}),
	}
	s.typing.tasks, s.sizing.tasks = &w.tasks, &w.tasks
	return s
}

// dispatched sets the fields that other goroutines need from the dispatch. It is called before they can see the
// session.
func (s *session) dispatched(f *wire.RunDispatch, tokenHash string) {
	s.tokenHash, s.workspace, s.homeHint = tokenHash, workspaceOf(f), s.w.homeHint(f)
}

// socket returns the path for the socket of a new session of the run.
func (s *session) socket() string { return s.w.socketOf(s.a.RunID) }

// tmux returns a client of the tmux server behind a socket.
func (s *session) tmux(socket string) tmux.Server {
	return tmux.Server{Socket: socket, Bin: s.w.opts.TmuxBin}
}

// lead runs an accepted attempt until its clean-up. It returns early when ctx ends: the session lives on and
// the next worker resumes it.
func (s *session) lead(ctx context.Context) {
	parts, cancel := context.WithCancel(ctx)
	defer s.parts.Wait()
	defer cancel()
	ended := false
	switch s.rec.State {
	case rundir.StateAccepted:
		ended = s.begin(ctx, parts)
	case rundir.StateSpawning, rundir.StateRunning:
		ended = s.resume(ctx, parts)
	case rundir.StateEnded:
		s.recall(parts)
		ended = true
	}
	if !ended {
		s.keepProgress()
		return
	}
	s.announceOrphan()
	s.closeOnce(&s.once.gone, s.gone)
	s.awaitDelivery(ctx)
	if ctx.Err() == nil {
		s.clear(ctx)
	}
}

// keepProgress records up to where the log was relayed, for the next worker: an orchestrator without log_ack
// cannot report that.
func (s *session) keepProgress() {
	r := s.logRelay()
	if r == nil {
		return
	}
	r.mu.Lock()
	acked := r.acked
	r.mu.Unlock()
	if acked != s.rec.LogAcked {
		s.rec.LogAcked = acked
		s.save()
	}
}

// begin starts the session and watches it until its end. It returns false when ctx ended first.
func (s *session) begin(ctx, parts context.Context) (ended bool) {
	if s.before != nil {
		s.before.order(supersededBy(s.a.Number))
		select {
		case <-s.before.gone:
		case <-ctx.Done():
			return false
		}
		s.before = nil
	}
	if s.stopping() {
		s.answer("")
		s.closeLog(parts)
		s.conclude(ctx, svc.Signal{Kind: svc.SignalFinished, ExitCode: -1, Reason: "stopped before start"})
		return true
	}
	err := s.start(ctx)
	if errors.Is(err, errTaken) && ctx.Err() == nil {
		s.log.Warn("the outcome of the start is unknown; looking for the session", "error", err)
		s.answer("")
		return s.resume(ctx, parts)
	}
	if err != nil {
		if ctx.Err() != nil || s.withdraw(err) {
			return false
		}
		s.answer("")
		s.log.Warn("the run could not be started", "error", err)
		s.closeLog(parts)
		s.conclude(ctx, svc.Signal{Kind: svc.SignalFailed, Error: err.Error()})
		return true
	}
	s.w.hostWorks()
	s.answer("")
	s.follow(parts)
	return s.watch(ctx) && s.end(ctx)
}

// order requests that the session is stopped. Only the first reason counts; order reports whether this call was
// the first.
func (s *session) order(reason string) (first bool) {
	s.mu.Lock()
	if first = s.stopReason == ""; first {
		s.stopReason = reason
	}
	s.mu.Unlock()
	s.closeOnce(&s.once.stop, s.stop)
	return first
}

func (s *session) stopping() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// endReported records that the end was delivered to the orchestrator.
func (s *session) endReported() { s.closeOnce(&s.once.reported, s.reported) }

func (s *session) isReported() bool {
	select {
	case <-s.reported:
		return true
	default:
		return false
	}
}

func (s *session) closeOnce(done *bool, c chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !*done {
		*done = true
		close(c)
	}
}

// where returns the session's place; its live is false when the session cannot be reached now.
func (s *session) where() place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place
}

func (s *session) setPlace(p place) {
	s.mu.Lock()
	s.place = p
	s.mu.Unlock()
	s.closeOnce(&s.once.placed, s.placed)
}

// placeLimit is how long awaitPlace waits: the wrapper reports the start before the worker has found the
// session.
const placeLimit = 15 * time.Second

// awaitPlace returns the session's place as soon as it is set; its live is false when the session is over or is
// not found in time.
func (s *session) awaitPlace(ctx context.Context) place {
	limit := time.NewTimer(placeLimit)
	defer limit.Stop()
	select {
	case <-s.placed:
	case <-s.gone:
	case <-limit.C:
	case <-ctx.Done():
	}
	return s.where()
}

// logRelay returns the relay of the log, or nil while the session has none.
func (s *session) logRelay() *relay {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.relay
}

// makeRelay creates the relay of the session's log, which starts at the recorded base.
func (s *session) makeRelay() *relay {
	r := newRelay(s.a.RunID, s.a.Number, s.w.dir.LogPath(s.a.RunID), s.rec.LogBase, s.rec.LogAcked, s.w.opts.Now)
	r.most, r.times.path = s.mostLog(), s.timesPath()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.relay = r
	return r
}

// follow starts to relay the session's log and screen.
func (s *session) follow(parts context.Context) {
	s.followLog(parts)
	s.parts.Go(func() { s.showScreens(parts) })
}

// closeLog ends the log of an attempt that was not started. A terminal that came up and ended again may have
// written output; otherwise the orchestrator is told that the log is empty.
func (s *session) closeLog(parts context.Context) {
	s.beginLog()
	s.makeRelay()
	s.finishLog(s.logLength())
	s.followLog(parts)
}

// mostLog returns the greatest possible length of the attempt's part of the log: the limit of its writer, and
// the notices. A session owns its log and can make it longer, but the rest is not relayed.
func (s *session) mostLog() int64 {
	limit := s.w.opts.Config.Worker.MaxLogBytes
	if limit <= 0 {
		return math.MaxInt64
	}
	return max(limit+logNotices-s.rec.LogBase, logNotices)
}

// logNotices is the room for the notices that svc writes into a log besides the output.
const logNotices = 4 << 10

// logLength returns the length of the attempt's part of the log.
func (s *session) logLength() int64 {
	return min(max(fileSize(s.w.dir.LogPath(s.a.RunID))-s.rec.LogBase, 0), s.mostLog())
}

// beginLog records, once, where in the run's log file the attempt begins. Output of an earlier try to start it
// belongs to it.
func (s *session) beginLog() {
	if !s.rec.LogBegun {
		if info, err := os.Lstat(s.w.dir.LogPath(s.a.RunID)); err == nil && !info.Mode().IsRegular() {
			s.log.Warn("something else was in the place of the log and is removed", "mode", info.Mode(), "error",
				os.RemoveAll(s.w.dir.LogPath(s.a.RunID)))
		}
		s.rec.LogBase, s.rec.LogBegun = fileSize(s.w.dir.LogPath(s.a.RunID)), true
	}
}

func (s *session) followLog(parts context.Context) {
	r := s.logRelay()
	s.parts.Go(func() {
		r.run(parts, s.w.uplink, func(err error) {
			s.log.Warn("the log cannot be relayed now", "error", err)
			if errors.Is(err, errCut) || errors.Is(err, rundir.ErrForeign) {
				s.setHint("the log on the host was changed by its session: " + err.Error())
			}
		})
	})
}

// isConcluded reports whether the session is over and the final length of its log is known.
func (s *session) isConcluded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.concluded
}

// mayReport reports whether the end may be sent on a connection: the log and the last screen were taken there,
// or the orchestrator has answered there for as long as hold without accepting any of the log.
func (s *session) mayReport(l *link, hold time.Duration) bool {
	s.mu.Lock()
	over, r, sent := s.concluded, s.relay, s.final == nil || s.final.arrived(l)
	s.mu.Unlock()
	return over && (r == nil || r.caughtOn(l) && sent || r.stuck(l, hold))
}
