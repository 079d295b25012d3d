package hub

import (
	"context"
	"sync"
	"time"

	"svc"
	"svc/safetext"
)

const (
	frameEvery  = 100 * time.Millisecond // at most ten data frames in a second
	echoFrames  = 2                      // data frames that each input frees from that: a key's echo may come in two parts
	maxData     = 1 << 20                // bytes of output in one data frame
	maxUnread   = 8 << 20                // bytes a client may be behind while it does not read
	maxUnsent   = 4 * maxUnread          // and at all, however fast it reads
	maxMistakes = 10                     // malformed frames in a row
)

// Attachment is one client of a run's terminal. One goroutine calls Next,
// another one Handle.
type Attachment struct {
	hub     *Attachments
	who     Person
	joined  svc.Time
	session *session // never changes; its content is guarded by Attachments.mu
	wake    chan struct{}
	cut     chan struct{}

	// order keeps the frames of this client's relays in order: open before
	// input, close last. It is taken before Attachments.mu, and held while
	// frames are queued, which never waits.
	order sync.Mutex
	left  bool // guarded by order
	link  Link // the uplink of the last relay; guarded by order

	mistakes int            // only Handle uses it
	keys     safetext.Input // of what the client types; guarded by order

	mu         sync.Mutex // guards what follows; the innermost lock
	control    [][]byte   // frames to be sent before any data
	data       []byte     // output to be sent
	unsent     int        // bytes in both
	writing    bool       // Next gave a frame and was not called again
	nextData   time.Time  // no data frame before
	echo       int        // data frames that may go before nextData all the same
	rows, cols int        // the size the client was told; 0: none
	end        error      // why it ends, after the data
	isCut      bool
	relayID    string           // attach_id at the worker; empty: none is open
	drawing    *safetext.Filter // of that relay's output
	openedAt   time.Time
	failures   int       // relays that broke one after the other
	retryAt    time.Time // when the next one is opened; zero: not planned
	listStale  bool      // the list of watchers may have changed
	listSent   []byte    // the frame with the list that the client has; nil: none
	listAfter  time.Time // no list before
}

// Next is the next frame for the client. The list of watchers comes first, if the
// client asked for it: the newest one, at most ten times a second. Lease, error and
// resize frames come before output, which is merged so that there are at most ten
// data frames a second, the first after an idle 100 ms at once and the echo of the
// client's own input too, and no byte is lost or out of order.
// It ends with the reason for which the socket is to be closed.
func (a *Attachment) Next(ctx context.Context) ([]byte, error) {
	a.mu.Lock()
	a.writing = false
	a.mu.Unlock()
	for {
		now := time.Now()
		if list := a.nextList(now); list != nil {
			return list, nil
		}
		frame, wait, err := a.ready(now)
		if frame != nil || err != nil {
			return frame, err
		}
		if wait == 0 {
			a.open() // the time for another try has come
			continue
		}
		if list := a.listWait(now); list >= 0 && (wait < 0 || list < wait) {
			wait = list
		}
		if err := a.sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// ready is the frame that may go now, or how long there will be none: 0 when
// the relay is to be opened again, negative when nothing is planned.
func (a *Attachment) ready(now time.Time) (frame []byte, wait time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.isCut:
		return nil, 0, a.end
	case len(a.control) > 0:
		frame, a.control = a.control[0], a.control[1:]
		if len(a.control) == 0 {
			a.control = nil
		}
		a.unsent -= len(frame)
		a.writing = true
		return frame, 0, nil
	case len(a.data) > 0 && (a.echo > 0 || !now.Before(a.nextData)):
		if now.Before(a.nextData) {
			a.echo--
		}
		a.nextData = now.Add(frameEvery)
		a.writing = true
		return dataFrame(a.take()), 0, nil
	case len(a.data) == 0 && a.end != nil:
		return nil, 0, a.end
	case len(a.data) > 0:
		return nil, a.nextData.Sub(now), nil
	case a.retryAt.IsZero():
		return nil, -1, nil
	default:
		if wait = a.retryAt.Sub(now); wait <= 0 {
			a.retryAt = time.Time{}
			wait = 0
		}
		return nil, wait, nil
	}
}

// take cuts the output for one frame.
func (a *Attachment) take() []byte {
	b := a.data
	if len(b) > maxData {
		b = b[:maxData]
	}
	a.data = a.data[len(b):]
	if len(a.data) == 0 {
		a.data = nil
	}
	a.unsent -= len(b)
	return b
}

func (a *Attachment) sleep(ctx context.Context, wait time.Duration) error {
	var due <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-a.wake:
	case <-due:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Cut is closed when the client is cut off at once, even in the middle of a
// write: whoever writes to it must stop. Why says the reason.
func (a *Attachment) Cut() <-chan struct{} { return a.cut }

// Why is the reason for which the server ends the attachment; nil while it
// does not.
func (a *Attachment) Why() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.end
}

// typed lets the echo of an input go out at once.
func (a *Attachment) typed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.echo = echoFrames
}

// End lets the client have what it was sent, then ends it for this reason. The
// first reason stays.
func (a *Attachment) End(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		a.end = why
	}
	poke(a.wake)
}

// cutOff ends the client at once.
func (a *Attachment) cutOff(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cutLocked(why)
}

func (a *Attachment) cutLocked(why error) {
	if a.isCut {
		return
	}
	a.isCut = true
	if a.end == nil {
		a.end = why
	}
	a.control, a.data, a.unsent = nil, nil, 0
	close(a.cut)
	poke(a.wake)
}

func (a *Attachment) pushControl(frame []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		a.control = append(a.control, frame)
		a.grew(len(frame))
	}
}

func (a *Attachment) pushData(b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		before := len(a.data)
		a.data = a.drawing.Append(a.data, b)
		a.grew(len(a.data) - before)
	}
}

func (a *Attachment) pushSize(rows, cols int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end != nil || a.rows == rows && a.cols == cols {
		return
	}
	a.rows, a.cols = rows, cols
	f := frame(sizeFrame{"resize", rows, cols})
	a.control = append(a.control, f)
	a.grew(len(f))
}

// grew counts what was added. A client that does not read is cut off; one that
// merely waits for its next ten-in-a-second gets more room.
func (a *Attachment) grew(n int) {
	a.unsent += n
	if a.unsent > maxUnread && a.writing || a.unsent > maxUnsent {
		a.cutLocked(ErrSlow)
		return
	}
	poke(a.wake)
}
