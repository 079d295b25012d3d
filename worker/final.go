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

// lastScreen is the screen at the end of a session, kept on disk until the orchestrator has it.
type lastScreen struct {
	Text string   `json:"text"`
	At   svc.Time `json:"at"` // 0: recorded by a version that did not say
}

// keepScreen writes the last screen down before its terminal goes. A terminal that is gone already
// has no screen, but a worker that was killed since may have written it down.
func (s *session) keepScreen(ctx context.Context, p place) {
	text, err := s.capture(ctx, p)
	if err != nil {
		if !s.recallScreen() && !errors.Is(err, tmux.ErrNoServer) {
			s.log.Warn("the last screen could not be read", "error", err)
		}
		return
	}
	screen := lastScreen{Text: text, At: svc.TimeOf(s.w.opts.Now())}
	if err := rundir.WriteRecord(s.a.File("screen"), screen); err != nil {
		s.log.Warn("the last screen is kept in memory only", "error", err)
	}
	s.showFinal(screen)
}

// recallScreen goes on with the last screen that an earlier worker wrote down, if it did.
func (s *session) recallScreen() bool {
	var screen lastScreen
	err := rundir.ReadRecord(s.a.File("screen"), &screen)
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
func (s *session) showFinal(screen lastScreen) {
	s.mu.Lock()
	s.final = &finalScreen{lastScreen: screen}
	s.mu.Unlock()
	s.resendFinal()
}

// finalScreen is the last screen of a session and how far it has come. It is sent again on each new
// connection until the orchestrator says that it is on disk. One that cannot say so takes frames in
// order at least: a heartbeat that left after the screen and was answered tells that it was taken.
type finalScreen struct {
	lastScreen
	on   *link     // the connection it was last given to; nil: none
	at   time.Time // when
	sent bool      // it has left on that one
	beat int64     // the heartbeats of that connection when it had left
	kept bool      // the orchestrator has it on disk
}

// finalRetry is how long an acknowledgement may take before the screen is sent again.
const finalRetry = 10 * time.Second

// taken says whether the screen need not be kept here any longer.
func (f *finalScreen) taken() bool {
	if f.on != nil && f.on.can(wire.CapFinal) {
		return f.kept
	}
	return f.kept || f.sent && f.on.answered.Load() > f.beat
}

// arrived says whether the end may be told, as far as the screen is concerned.
func (f *finalScreen) arrived() bool {
	if f.on != nil && f.on.can(wire.CapFinal) {
		return f.kept
	}
	return f.kept || f.sent
}

// resendFinal gives the last screen to the connection, unless it was taken or this one has it already.
func (s *session) resendFinal() {
	l := s.w.uplink()
	s.mu.Lock()
	f := s.final
	if f == nil || l == nil || f.taken() || l == f.on && !(f.sent && l.can(wire.CapFinal) && time.Since(f.at) > finalRetry) {
		s.mu.Unlock()
		return
	}
	f.on, f.at, f.sent = l, time.Now(), false
	frame := s.snapshot(f.Text)
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
	if frame.Final = l.can(wire.CapFinal); frame.Final {
		l.out.push(laneControl, frame, sent) // a screen of the run's next attempt must not take its place
		return
	}
	l.out.show(frame, sent)
}

// screenKept takes the word that the last screen is on the orchestrator's disk.
func (s *session) screenKept() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.final != nil {
		s.final.kept = true
	}
}

// finalTaken says whether the orchestrator has the last screen, or there is none.
func (s *session) finalTaken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.final == nil || s.final.taken()
}
