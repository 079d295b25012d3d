package worker

import (
	"context"
	"sync"
	"time"

	"svc/tmux"
	"svc/wire"
)

const (
	// frameGap limits a relay to ten frames a second. After a frame the terminal is not read for this long, so
	// that tmux merges the output; output after a pause is sent at once.
	frameGap = 100 * time.Millisecond
	// echoFrames is the number of frames that may skip the gap after an input. The echo of a key is then not
	// delayed by earlier output, and it may arrive in two parts.
	echoFrames = 2
)

// notRunning is the reason why a session cannot be attached.
const notRunning = "the session is not running"

// attach is one relay between a session and a terminal at the orchestrator.
type attach struct {
	id    string
	s     *session
	l     *link // the connection it was opened on; the relay ends with it
	input serial
	ready chan struct{} // closed when term is set, or will never be
	over  chan struct{} // closed when the relay has ended
	typed chan struct{} // holds a token for each frame that need not wait for its gap

	drawing sync.Mutex // held while output is queued, and while the session is resized

	mu   sync.Mutex // guards the fields below
	term *tmux.Attachment
	shut bool
}

func (w *Worker) attachOpen(l *link, f *wire.AttachOpen) {
	s := w.session(f.RunID, f.Attempt)
	if s == nil {
		l.out.push(laneControl, &wire.AttachClosed{AttachID: f.AttachID, Reason: notRunning}, nil)
		return
	}
	a := &attach{id: f.AttachID, s: s, l: l, ready: make(chan struct{}), over: make(chan struct{}),
		typed: make(chan struct{}, echoFrames)}
	a.input.tasks = &w.tasks
	w.mu.Lock()
	_, taken := w.attaches[a.id]
	if !taken {
		w.attaches[a.id] = a
		l.attached.Add(1)
	}
	w.mu.Unlock()
	if taken {
		w.log.Warn("a relay with this id is already open", "attach_id", f.AttachID)
		return
	}
	s.sizing.do(func() { w.openAttach(w.ctx, a, f.Cols, f.Rows) })
}

// openAttach starts the relay. If the session has another size than the orchestrator requests, it is resized:
// the size belongs to the lease, which may have outlived a connection.
func (w *Worker) openAttach(ctx context.Context, a *attach, cols, rows int) {
	defer close(a.ready)
	p := a.s.awaitPlace(ctx)
	if !p.live {
		w.closeAttach(a, notRunning)
		return
	}
	if cols <= 0 || rows <= 0 {
		cols, rows = tmux.DefaultCols, tmux.DefaultRows
	}
	now := a.s.size()
	var term *tmux.Attachment
	err := a.s.reach(ctx, p, func() (err error) {
		term, err = p.server.Attach(ctx, p.pane, now.cols, now.rows)
		return err
	})
	if err != nil {
		a.s.log.Warn("the session could not be attached", "error", err)
		w.closeAttach(a, "the session could not be attached: "+err.Error())
		return
	}
	a.mu.Lock()
	a.term = term
	shut := a.shut
	a.mu.Unlock()
	if shut {
		_ = term.Close()
		return
	}
	if now.cols != cols || now.rows != rows {
		w.resizeSession(ctx, a.s, cols, rows)
	} else {
		a.l.out.push(laneControl, &wire.AttachResized{AttachID: a.id, Rows: rows, Cols: cols}, nil)
	}
	w.tasks.Go(func() {
		a.pump(term)
		w.closeAttach(a, "the session's terminal has ended")
	})
}

// pump relays output until the terminal ends. It reads again only after the last frame was written to the
// connection: a slow connection gets fewer frames, not older ones.
func (a *attach) pump(term *tmux.Attachment) {
	buf := make([]byte, 64<<10)
	for {
		n, err := term.Read(buf)
		if n > 0 {
			gap := time.NewTimer(frameGap)
			left := make(chan struct{})
			frame := &wire.AttachData{AttachID: a.id, Bytes: append([]byte(nil), buf[:n]...)}
			a.drawing.Lock()
			a.l.out.push(laneAttach, frame, func() { close(left) })
			a.drawing.Unlock()
			goOn := await(left, a.over) && a.rest(gap)
			gap.Stop()
			if !goOn {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// rest waits until the next frame may be sent. It returns false when the relay is over.
func (a *attach) rest(gap *time.Timer) bool {
	select {
	case <-gap.C:
	case <-a.typed:
	case <-a.over:
		return false
	}
	return true
}

// await waits for c. It returns false when over was closed first.
func await[T any](c <-chan T, over <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-over:
		return false
	}
}

func (w *Worker) attachByID(id string) *attach {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.attaches[id]
}

func (w *Worker) attachInput(f *wire.AttachInput) {
	a := w.attachByID(f.AttachID)
	if a == nil {
		return // it has ended, and attach_closed was sent
	}
	a.l.out.delayLogs()
	a.input.do(func() {
		if !await(a.ready, a.over) {
			return
		}
		term := a.terminal()
		if term == nil {
			return
		}
		if _, err := term.Write(f.Bytes); err != nil {
			a.s.log.Debug("input did not reach the session", "error", err)
		}
		for range echoFrames {
			select {
			case a.typed <- struct{}{}:
			default:
			}
		}
	})
}

func (w *Worker) attachResize(f *wire.AttachResize) {
	if a := w.attachByID(f.AttachID); a != nil {
		a.s.sizing.do(func() { w.resizeSession(w.ctx, a.s, f.Cols, f.Rows) })
	}
}

func (w *Worker) attachClose(f *wire.AttachClose) {
	if a := w.attachByID(f.AttachID); a != nil {
		w.closeAttach(a, "")
	}
}

// closeAttach ends a relay. A reason that is not empty is sent to the orchestrator. After the session's last
// relay has ended, the session gets its initial size again.
func (w *Worker) closeAttach(a *attach, reason string) {
	a.mu.Lock()
	term, shut := a.term, a.shut
	a.shut = true
	a.mu.Unlock()
	if shut {
		return
	}
	close(a.over)
	a.l.attached.Add(-1)
	w.mu.Lock()
	delete(w.attaches, a.id)
	last := true
	for _, other := range w.attaches {
		last = last && other.s != a.s
	}
	w.mu.Unlock()
	if reason != "" {
		a.l.out.push(laneControl, &wire.AttachClosed{AttachID: a.id, Reason: reason}, nil)
	}
	a.s.sizing.do(func() {
		if term != nil {
			_ = term.Close()
		}
		if last && w.ctx.Err() == nil {
			w.resetSize(w.ctx, a.s)
		}
	})
}

// detachSession ends the relays of a session that has ended.
func (w *Worker) detachSession(s *session, reason string) {
	for _, a := range w.attachesWhere(func(a *attach) bool { return a.s == s }) {
		w.closeAttach(a, reason)
	}
}

// detachAll ends the relays of a connection that dropped.
func (w *Worker) detachAll(l *link) {
	for _, a := range w.attachesWhere(func(a *attach) bool { return a.l == l }) {
		w.closeAttach(a, "")
	}
}

func (w *Worker) attachesWhere(want func(*attach) bool) []*attach {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []*attach
	for _, a := range w.attaches {
		if want(a) {
			found = append(found, a)
		}
	}
	return found
}
