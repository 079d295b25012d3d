package worker

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"svc"
	"svc/rundir"
	"svc/tmux"
	"svc/wire"
)

// keepScreen records the last screen before its terminal is closed. If the terminal does not answer, it uses
// the screen that an earlier worker recorded, otherwise the last one that was captured.
func (s *session) keepScreen(ctx context.Context, p place) {
	text, err := s.lastCapture(ctx, p)
	switch {
	case err == nil:
		s.recordScreen(rundir.Screen{Text: text, At: svc.TimeOf(s.w.opts.Now())})
	case ctx.Err() != nil || s.recallScreen(): // when ctx ended, the next worker tries again
	default:
		s.mu.Lock()
		seen := s.seen
		s.mu.Unlock()
		s.log.Warn("the last screen could not be read", "error", err, "earlier_one", seen != nil)
		if seen != nil {
			s.recordScreen(*seen)
		}
	}
}

// lastCapture asks the terminal for its screen until the terminal answers or is gone, at most for closeLimit.
func (s *session) lastCapture(ctx context.Context, p place) (text string, err error) {
	ctx, cancel := patient(ctx, closeLimit)
	defer cancel()
	for {
		if text, err = s.capture(ctx, p); err == nil || errors.Is(err, tmux.ErrNoServer) {
			return text, err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(capturePause):
		}
	}
}

// capturePause is the pause between two queries to a terminal that did not answer.
const capturePause = 50 * time.Millisecond

// recordScreen writes the last screen to disk and sends it.
func (s *session) recordScreen(screen rundir.Screen) {
	if err := s.a.WriteScreen(screen); err != nil {
		s.log.Warn("the last screen is kept in memory only", "error", err)
	}
	s.showFinal(screen)
}

// recallScreen loads and sends the last screen that an earlier worker recorded. It returns false when there is
// none.
func (s *session) recallScreen() bool {
	screen, err := s.a.ReadScreen()
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("the record of the last screen cannot be read", "error", err)
		}
		return false
	}
	s.showFinal(screen)
	return true
}

// showFinal sets the session's last screen and sends it.
func (s *session) showFinal(screen rundir.Screen) {
	s.mu.Lock()
	s.final = &finalScreen{Screen: screen}
	s.mu.Unlock()
	s.resendFinal()
}

// finalScreen is the last screen of a session and the state of its delivery. It is sent again on each new
// connection until the orchestrator confirms that it is on disk. An orchestrator that cannot confirm it
// processes frames in order: when it answers a heartbeat that was sent after the screen, it has received the
// screen.
type finalScreen struct {
	rundir.Screen
	on   *link     // the connection on which it was last queued; nil: none
	at   time.Time // when it was queued there
	sent bool      // it was written to that connection
	beat int64     // the number of heartbeats queued on that connection when it was written
	kept bool      // the orchestrator confirmed that it is on disk
}

// finalRetry is how long an acknowledgement may take before the screen is sent again.
const finalRetry = 10 * time.Second

// acked reports whether the orchestrator confirms this screen when it is on disk. It does so only for a screen
// that was captured at the end, not for one that was seen earlier.
func (f *finalScreen) acked() bool { return f.on != nil && f.on.can(wire.CapFinal) && !f.Seen }

// taken reports whether the screen need not be kept here any longer. A screen that was seen before the end is
// on the orchestrator's disk when the end is.
func (f *finalScreen) taken(reported bool) bool {
	if f.acked() || f.kept {
		return f.kept
	}
	return f.sent && f.on.answered.Load() > f.beat && (reported || !f.Seen)
}

// arrived reports whether, as far as the screen is concerned, the end may be reported on a connection. A
// confirmation on an earlier connection does not count: another orchestrator may have taken over.
func (f *finalScreen) arrived(l *link) bool {
	if f.on != l {
		return false
	}
	if f.acked() {
		return f.kept
	}
	return f.kept || f.sent
}

// settled reports whether the screen need not be sent on a connection now: it was taken, or it is under way
// there. While the end is not reported, only what happened on this connection counts.
func (f *finalScreen) settled(l *link, reported bool) bool {
	if f.on != l {
		return reported && f.taken(reported)
	}
	return f.taken(reported) || !(f.sent && f.acked() && time.Since(f.at) > finalRetry)
}

// resendFinal queues the last screen on the current connection, unless the screen is settled there.
func (s *session) resendFinal() {
	l := s.w.uplink()
	s.mu.Lock()
	f := s.final
	if f == nil || l == nil || f.settled(l, s.isReported()) {
		s.mu.Unlock()
		return
	}
	f.on, f.at, f.sent, f.kept = l, time.Now(), false, false
	frame := s.snapshot(f.Text)
	frame.Final = f.acked()
	s.mu.Unlock()
	if f.At != 0 {
		frame.Timestamp = f.At
	}
	sent := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if f.on == l {
			f.sent, f.beat = true, l.beats.Load()
		}
	}
	if frame.Final {
		l.out.push(laneControl, frame, sent) // show would let a screen of the run's next attempt replace it
		return
	}
	l.out.show(frame, sent)
}

// screenKept records that the orchestrator on this connection has the last screen on disk.
func (s *session) screenKept(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.final != nil && s.final.on == l {
		s.final.kept = true
	}
}

// readScreen answers an orchestrator that requests the last screen of an attempt because it does not have it.
func (w *Worker) readScreen(l *link, f *wire.ScreenRead) {
	screen, err := w.dir.Attempt(f.RunID, f.Attempt).ReadScreen()
	if err == nil {
		l.out.push(laneControl, &wire.Snapshot{
			RunID: f.RunID, Attempt: f.Attempt, Capture: screen.Text, Timestamp: screen.At, Final: !screen.Seen,
		}, nil)
	} else if !errors.Is(err, fs.ErrNotExist) {
		w.log.Error("the record of a last screen cannot be read", "run_id", f.RunID, "attempt", f.Attempt, "error", err)
	}
	if err != nil || screen.Seen {
		l.out.push(laneControl, &wire.ScreenGone{RunID: f.RunID, Attempt: f.Attempt}, nil)
	}
}

// finalTaken reports whether the orchestrator has the last screen, or there is none.
func (s *session) finalTaken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.final == nil || s.final.taken(s.isReported())
}
