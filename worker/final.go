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

// keepScreen writes the last screen down before its terminal goes. A terminal that does not answer has none to show: then it is the one
// that a worker before this one wrote down, or else the one that was last seen.
func (s *session) keepScreen(ctx context.Context, p place) {
	text, err := s.lastCapture(ctx, p)
	switch {
	case err == nil:
		s.recordScreen(rundir.Screen{Text: text, At: svc.TimeOf(s.w.opts.Now())})
	case ctx.Err() != nil || s.recallScreen(): // the next worker asks again
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

// lastCapture asks the terminal for its screen until it answers, is gone, or has had the time of a step.
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

// capturePause is the time between two questions to a terminal that did not answer.
const capturePause = 50 * time.Millisecond

// recordScreen writes the last screen down and sends it.
func (s *session) recordScreen(screen rundir.Screen) {
	if err := s.a.WriteScreen(screen); err != nil {
		s.log.Warn("the last screen is kept in memory only", "error", err)
	}
	s.showFinal(screen)
}

// recallScreen goes on with the last screen that an earlier worker wrote down, if it did.
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

// showFinal makes a screen the last one and sends it.
func (s *session) showFinal(screen rundir.Screen) {
	s.mu.Lock()
	s.final = &finalScreen{Screen: screen}
	s.mu.Unlock()
	s.resendFinal()
}

// finalScreen is the last screen of a session and how far it has come. It is sent again on each new
// connection until the orchestrator says that it is on disk. One that cannot say so takes frames in
// order at least: a heartbeat that left after the screen and was answered tells that it was taken.
type finalScreen struct {
	rundir.Screen
	on   *link     // the connection it was last given to; nil: none
	at   time.Time // when
	sent bool      // it has left on that one
	beat int64     // the heartbeats of that connection when it had left
	kept bool      // the orchestrator has it on disk
}

// finalRetry is how long an acknowledgement may take before the screen is sent again.
const finalRetry = 10 * time.Second

// acked says whether the orchestrator answers when it has the screen on disk. It takes the screen of the end so, and no other.
func (f *finalScreen) acked() bool { return f.on != nil && f.on.can(wire.CapFinal) && !f.Seen }

// taken says whether the screen need not be kept here any longer. One that is not the end's is on the orchestrator's disk when
// the end is.
func (f *finalScreen) taken(reported bool) bool {
	if f.acked() || f.kept {
		return f.kept
	}
	return f.sent && f.on.answered.Load() > f.beat && (reported || !f.Seen)
}

// arrived says whether the end may be told on a connection, as far as the screen is concerned. What was kept at the other end of an earlier
// one says nothing: another orchestrator may have taken over.
func (f *finalScreen) arrived(l *link) bool {
	if f.on != l {
		return false
	}
	if f.acked() {
		return f.kept
	}
	return f.kept || f.sent
}

// settled says whether the screen need not be sent on a connection: it was taken, on this one while the end is not told, or is under way.
func (f *finalScreen) settled(l *link, reported bool) bool {
	if f.on != l {
		return reported && f.taken(reported)
	}
	return f.taken(reported) || !(f.sent && f.acked() && time.Since(f.at) > finalRetry)
}

// resendFinal gives the last screen to the connection, unless it was taken or this one has it already.
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
		l.out.push(laneControl, frame, sent) // a screen of the run's next attempt must not take its place
		return
	}
	l.out.show(frame, sent)
}

// screenKept notes that the orchestrator at the other end of a connection has the last screen on disk.
func (s *session) screenKept(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.final != nil && s.final.on == l {
		s.final.kept = true
	}
}

// readScreen answers an orchestrator that wants the last screen of an attempt and does not have it.
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

// finalTaken says whether the orchestrator has the last screen, or there is none.
func (s *session) finalTaken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.final == nil || s.final.taken(s.isReported())
}
