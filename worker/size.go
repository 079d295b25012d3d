package worker

import (
	"context"
	"time"

	"svc/tmux"
	"svc/wire"
)

// paneSize is the size of a session's terminal. Its zero value means the initial size.
type paneSize struct{ cols, rows int }

// size returns the session's size as this worker last set it.
func (s *session) size() paneSize {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sized == (paneSize{}) {
		return paneSize{tmux.DefaultCols, tmux.DefaultRows}
	}
	return s.sized
}

// resizeSession resizes the session and every terminal that shows it, and reports the size to all of them. It
// is called through the session's sizing queue, so that only one call runs at a time.
func (w *Worker) resizeSession(ctx context.Context, s *session, cols, rows int) {
	p := s.where()
	if !p.live {
		return
	}
	was := s.size()
	s.noteSize(paneSize{cols, rows}) // before the program redraws
	w.shrinkTerminals(ctx, s, p, paneSize{min(was.cols, cols), min(was.rows, rows)})
	attached := w.attachesOf(s)
	for _, a := range attached {
		a.drawing.Lock()
	}
	if err := p.server.Resize(ctx, p.pane, cols, rows); err != nil {
		s.log.Warn("the session cannot be resized", "error", err)
		s.noteSize(was)
		cols, rows = was.cols, was.rows
	} else {
		s.mu.Lock()
		s.sized, s.sizeChanged = paneSize{cols, rows}, true
		s.mu.Unlock()
	}
	for _, a := range attached {
		// In this order: a viewer that draws a larger screen before it has its size scrolls the upper rows away. One that
		// shows a part of a larger screen ignores what is drawn before it has the smaller size. tmux draws neither again.
		a.l.out.push(laneControl, &wire.AttachResized{AttachID: a.id, Rows: rows, Cols: cols}, nil)
		a.drawing.Unlock()
		a.resize(cols, rows)
	}
}

const (
	// shrinkLimit is how long a resize waits for tmux to learn of smaller terminals. After it, dots may be seen for a moment.
	shrinkLimit = time.Second
	shrinkPause = 5 * time.Millisecond
)

// shrinkTerminals makes the terminals of a session no larger than a size, which the session has or will have: tmux fills
// a terminal that is larger than the session with dots.
func (w *Worker) shrinkTerminals(ctx context.Context, s *session, p place, most paneSize) {
	attached := w.attachesOf(s)
	if len(attached) == 0 || most == s.size() {
		return
	}
	for _, a := range attached {
		a.resize(most.cols, most.rows)
	}
	ctx, cancel := context.WithTimeout(ctx, shrinkLimit)
	defer cancel()
	for {
		if fit, err := p.server.ClientsFit(ctx, most.cols, most.rows); fit || err != nil {
			return
		}
		select {
		case <-time.After(shrinkPause):
		case <-ctx.Done():
			return
		}
	}
}

// attachesOf returns the relays that show a session.
func (w *Worker) attachesOf(s *session) []*attach {
	return w.attachesWhere(func(a *attach) bool { return a.s == s && a.terminal() != nil })
}

// terminal returns the relay's terminal; nil: it is not open yet.
func (a *attach) terminal() *tmux.Attachment {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.term
}

// resize sets the size of the relay's terminal, which must be open.
func (a *attach) resize(cols, rows int) {
	if err := a.terminal().Resize(cols, rows); err != nil {
		a.s.log.Debug("an attached terminal cannot be resized", "error", err)
	}
}

// resetSize restores the initial size of the session, unless a terminal was attached meanwhile.
func (w *Worker) resetSize(ctx context.Context, s *session) {
	now := s.size()
	alone := len(w.attachesWhere(func(a *attach) bool { return a.s == s })) == 0
	if alone && now != (paneSize{tmux.DefaultCols, tmux.DefaultRows}) {
		w.resizeSession(ctx, s, tmux.DefaultCols, tmux.DefaultRows)
	}
}

// restoreSize undoes a resize by a terminal that was attached through an earlier worker.
func (s *session) restoreSize(found tmux.Session) {
	s.mu.Lock()
	s.sized = paneSize{found.Cols, found.Rows}
	s.mu.Unlock()
	s.sizing.do(func() { s.w.resetSize(s.w.ctx, s) })
}
