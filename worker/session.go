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

// session is one attempt of a run on this host, from its dispatch to its clean-up. The goroutine in
// lead owns it: it alone writes the attempt's records and starts, stops and ends things. Others
// leave it a message (order, endReported) or look at what the lock guards.
type session struct {
	w      *Worker
	a      rundir.Attempt
	log    *slog.Logger
	before *session // an older attempt that must be gone before this one begins; nil: none
	typing serial   // keys reach the session in the order of their requests
	sizing serial   // what concerns its size, and who sees it
	parts  sync.WaitGroup

	workspace string               // the id of its working copy; empty: none. Set before others see the session
	tokenHash string               // of the run's token, for what the session reports; set before others see the session
	homeHint  string               // that nobody named a folder for it; empty: somebody did. Set before others see the session
	onAnswer  func(refusal string) // sends the answer to the dispatch; nil: it was given long ago
	accepted  chan struct{}        // closed when the dispatch was answered
	refusal   string               // why it was refused; read after accepted. Empty: it was not
	stop      chan struct{}        // closed when the session shall end
	placed    chan struct{}        // closed when it is first known where the session is
	gone      chan struct{}        // closed when nothing of the session runs any more
	reported  chan struct{}        // closed when the orchestrator was told the end

	rec   rundir.Dispatch // only lead and accept touch it
	plain bool            // snapshots are without colours; set before the session is followed
	// leader is the wrapper as it was last seen alive by this worker, and tree what was below it; only
	// lead touches them. Zero: it was not seen.
	leader process.ID
	tree   []leftover.Process
	// Only tendTerminal touches these.
	told   string     // the last complaint about the terminal
	writer process.ID // who writes the log; the zero value: nobody was found

	mu          sync.Mutex // guards the fields below
	stopReason  string
	place       place
	relay       *relay
	final       *finalScreen   // nil: there is none, or not yet
	refusedEnd  refusedEnd     // of the report of the end
	seen        *rundir.Screen // the newest that was looked at while the session went on; nil: none was
	sized       paneSize
	gap         logGap
	sizeChanged bool // since the screen was last looked at
	leaving     bool // nothing of it writes to its working copy any more
	concluded   bool // the session is over and the length of its log is known
	once        struct{ stop, placed, gone, reported, answer bool }
}

// place is where a live session is found.
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

// dispatched keeps what others need to know of the dispatch. It comes before they see the session.
func (s *session) dispatched(f *wire.RunDispatch, tokenHash string) {
	s.tokenHash, s.workspace, s.homeHint = tokenHash, workspaceOf(f), s.w.homeHint(f)
}

// socket is where a new session of the run is made.
func (s *session) socket() string { return s.w.socketOf(s.a.RunID) }

// tmux addresses the server behind a socket.
func (s *session) tmux(socket string) tmux.Server {
	return tmux.Server{Socket: socket, Bin: s.w.opts.TmuxBin}
}

// lead takes an accepted attempt to its end. It returns early when ctx ends: the session lives on
// for the next worker.
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

// keepProgress notes how far the log has come, for the next worker. An orchestrator without log_ack
// cannot tell it.
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

// begin starts the session and watches it to its end. False means that ctx ended first.
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
		s.log.Warn("a start is looked after", "error", err)
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

// order asks the session to end. Only the first reason counts; it answers whether this was it.
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

// endReported notes that the orchestrator knows the end.
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

// where is the session's place; live is false when it has none now.
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

// placeLimit is how long whoever wants to reach a session waits until it is known where it is: the wrapper reports the start before
// the worker has found the session.
const placeLimit = 15 * time.Second

// awaitPlace is the session's place, as soon as it is known; live is false when the session is over, or is not found in time.
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

// logRelay is the relay of the log, or nil while the session has none.
func (s *session) logRelay() *relay {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.relay
}

// makeRelay gives the session its log, from the recorded base on.
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

// closeLog ends the log of an attempt that was not started. A terminal that came up and went again may
// have written something; otherwise the orchestrator learns that there is nothing.
func (s *session) closeLog(parts context.Context) {
	s.beginLog()
	s.makeRelay()
	s.finishLog(s.logLength())
	s.followLog(parts)
}

// mostLog is how long the attempt's part of the log can be at most: what its writer may write, and its
// notices. A session owns its log and can make it longer; that is not relayed.
func (s *session) mostLog() int64 {
	limit := s.w.opts.Config.Worker.MaxLogBytes
	if limit <= 0 {
		return math.MaxInt64
	}
	return max(limit+logNotices-s.rec.LogBase, logNotices)
}

// logNotices is room for what we write into a log besides the output.
const logNotices = 4 << 10

// logLength is how much of the log is the attempt's.
func (s *session) logLength() int64 {
	return min(max(fileSize(s.w.dir.LogPath(s.a.RunID))-s.rec.LogBase, 0), s.mostLog())
}

// beginLog notes where in the run's log file the attempt begins, once: what an earlier try to start it
// has written is part of it.
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

// isConcluded reports whether the session is over and nothing of it is left.
func (s *session) isConcluded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.concluded
}

// mayReport reports whether the word about the end may go out on a connection: the log and the last
// screen have, or the orchestrator answers there and takes nothing of the log for as long as hold.
func (s *session) mayReport(l *link, hold time.Duration) bool {
	s.mu.Lock()
	over, r, sent := s.concluded, s.relay, s.final == nil || s.final.arrived(l)
	s.mu.Unlock()
	return over && (r == nil || r.caughtOn(l) && sent || r.stuck(l, hold))
}
