package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"svc"
	"svc/rundir"
	"svc/tmux"
	"svc/wire"
)

// screenState is the last captured screen, as showScreens remembers it.
type screenState struct {
	looked bool  // a screen was captured
	size   int64 // of the log at the last capture
	text   string
	sum    [sha256.Size]byte
	on     *link // the connection on which text was queued
}

// showScreens sends the session's screen when it has changed. It captures only when the log has grown since the
// last capture, since every change of the screen is output, or when the log has no writer. Sessions have
// different phases, so that they do not all capture at the same time.
func (s *session) showScreens(ctx context.Context) {
	phase := rand.Float64() //nolint:gosec // it spreads work, it keeps no secret
	turn := time.NewTimer(s.w.untilCapture(phase))
	defer turn.Stop()
	var seen screenState
	for {
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
		}
		turn.Reset(s.w.untilCapture(phase))
		p := s.where()
		if !p.live {
			return // end records and sends the last screen
		}
		if l := s.w.uplink(); l != nil && l.greeted.Load() {
			s.showScreen(ctx, p, l, &seen)
		}
	}
}

const (
	// mostCaptures is how many sessions capture at the same time. A session that has waited for capturePatience
	// captures anyway, so that a session whose tmux does not answer does not delay the others.
	mostCaptures    = 1
	capturePatience = 100 * time.Millisecond
)

// untilCapture returns the time until a session's next capture. phase is the session's position in the round,
// from 0 to 1.
func (w *Worker) untilCapture(phase float64) time.Duration {
	every := w.opts.Snapshots
	slots := w.capturePace.slots()
	at := every * time.Duration(phase*float64(slots)) / time.Duration(slots)
	since := time.Since(w.born) - at
	return every - (since%every+every)%every
}

func (s *session) showScreen(ctx context.Context, p place, l *link, seen *screenState) {
	size := s.logRelay().size()
	if !seen.looked || size != seen.size || s.logFull(size) || s.resized() || s.blind() {
		screen, err := s.look(ctx, p)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, tmux.ErrNoServer) {
				s.log.Debug("the screen cannot be read", "error", err)
			}
			return
		}
		sum := sha256.Sum256([]byte(screen))
		if !seen.looked || sum != seen.sum {
			seen.on = nil
			s.noteScreen(screen)
		}
		seen.looked, seen.size, seen.text, seen.sum = true, size, screen, sum
	}
	if seen.on != l && s.where().live {
		seen.on = l
		l.out.show(s.snapshot(seen.text), nil)
	}
}

// noteScreen stores the captured screen, in case the terminal does not answer at the end.
func (s *session) noteScreen(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = &rundir.Screen{Text: text, At: svc.TimeOf(s.w.opts.Now()), Seen: true}
}

// look captures the screen when a slot is free, or after capturePatience.
func (s *session) look(ctx context.Context, p place) (string, error) {
	patience := time.NewTimer(capturePatience)
	defer patience.Stop()
	select {
	case s.w.captures <- struct{}{}:
		defer func() { <-s.w.captures }()
	case <-patience.C:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	s.w.capturePace.count(int64(time.Since(s.w.born) / s.w.opts.Snapshots))
	return s.capture(ctx, p)
}

// maxScreen bounds a snapshot in bytes, far below the largest frame. A screen that exceeds it because of its
// colours is sent without colours.
const maxScreen = 512 << 10

func (s *session) capture(ctx context.Context, p place) (string, error) {
	var screen string
	err := s.reach(ctx, p, func() (err error) {
		screen, err = p.server.Capture(ctx, p.pane, tmux.CaptureOpts{Colors: !s.plain})
		return err
	})
	if err == nil && !s.plain && len(screen) > maxScreen {
		screen, err = p.server.Capture(ctx, p.pane, tmux.CaptureOpts{})
	}
	if err == nil && len(screen) > maxScreen {
		screen = strings.ToValidUTF8(screen[:maxScreen], "")
	}
	return screen, err
}

// logFull reports whether the log has reached its limit, so that it no longer shows changes.
func (s *session) logFull(size int64) bool {
	limit := s.w.opts.Config.Worker.MaxLogBytes
	return limit > 0 && size+s.logRelay().base >= limit
}

func (s *session) snapshot(text string) *wire.Snapshot {
	return &wire.Snapshot{
		RunID: s.a.RunID, Capture: text, Timestamp: svc.TimeOf(s.w.opts.Now()), Attempt: s.a.Number,
	}
}

// resized reports, once, whether the size has changed since the last call: the screen can then look different
// without any output.
func (s *session) resized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.sizeChanged
	s.sizeChanged = false
	return was
}

// keepView records whether the session is shown with colours. The catalog's value at the start of the session
// is kept for the whole run.
func (s *session) keepView(plain bool) {
	s.plain = plain
	if err := s.a.WriteView(rundir.View{Plain: plain}); err != nil {
		s.log.Warn("how the session is shown could not be recorded", "error", err)
	}
}

// recallView loads that record for a session of an earlier worker. Without a record the session is shown with
// colours: they can be removed later, but not added.
func (s *session) recallView() {
	if v, err := s.a.ReadView(); err == nil {
		s.plain = v.Plain
	}
}
