package worker

import (
	"context"

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
	s.noteSize(paneSize{cols, rows}) // before the program redraws
	if err := p.server.Resize(ctx, p.pane, cols, rows); err != nil {
		s.log.Warn("the session cannot be resized", "error", err)
		s.noteSize(s.size())
		return
	}
	s.mu.Lock()
	s.sized, s.sizeChanged = paneSize{cols, rows}, true
	s.mu.Unlock()
	for _, a := range w.attachesWhere(func(a *attach) bool { return a.s == s }) {
		a.mu.Lock()
		term := a.term
		a.mu.Unlock()
		if term == nil {
			continue // it is opening with the size of its own request
		}
		if err := term.Resize(cols, rows); err != nil {
			s.log.Debug("an attached terminal cannot be resized", "error", err)
		}
		a.l.out.push(laneControl, &wire.AttachResized{AttachID: a.id, Rows: rows, Cols: cols}, nil)
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
