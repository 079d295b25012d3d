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
	echoFrames  = 2                      // data frames that each input exempts from that limit: the echo of a key may arrive in two parts
	maxData     = 1 << 20                // bytes of output in one data frame
	maxUnread   = 8 << 20                // unsent bytes allowed while the client does not read
	maxUnsent   = 4 * maxUnread          // unsent bytes allowed in any case
	maxMistakes = 10                     // malformed frames in a row
)

// Attachment is one client of a run's terminal. Next and Handle are each called by one goroutine.
type Attachment struct {
	hub     *Attachments
	who     Person
	joined  svc.Time
	session *session // the pointer never changes; the content is guarded by Attachments.mu
	wake    chan struct{}
	cut     chan struct{}

	// order keeps the frames of this client's relays in order: open before input, close last. Lock it before
	// Attachments.mu. It is held while frames are queued, which never blocks.
	order sync.Mutex
	left  bool // guarded by order
	link  Link // the uplink of the last relay; guarded by order

	mistakes int            // used by Handle only
	keys     safetext.Input // filters the client's input; guarded by order

	mu         sync.Mutex // guards the fields below; the innermost lock
	control    [][]byte   // frames to be sent before any data
	data       []byte     // output to be sent
	unsent     int        // bytes in both
	writing    bool       // Next has returned a frame and was not called again
	nextData   time.Time  // no data frame before this time
	echo       int        // data frames that may be sent before nextData
	rows, cols int        // the size that was last sent to the client; 0: none
	end        error      // why the attachment ends, after the queued data was sent
	isCut      bool
	relayID    string           // attach_id at the worker; empty: none is open
	filter     *safetext.Filter // filters the output of that relay
	openedAt   time.Time
	failures   int       // consecutive relays that broke
	retryAt    time.Time // when to open the next relay; zero: not planned
	listStale  bool      // the list of watchers may have changed
	listSent   []byte    // the last list frame that was sent; nil: none
	listAfter  time.Time // no list frame before this time
}

// Next returns the next frame for the client. The list of watchers comes first, if the client asked for it: the
// newest list, at most ten times a second. Lease, error and resize frames come before output. Output is merged so
// that there are at most ten data frames a second. The first data frame after 100 ms without any, and the echo of the
// client's own input, are not delayed. No byte is lost or reordered. At the end Next returns the reason for which the
// socket must be closed.
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
			a.open() // it is time for the next try
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

// ready returns the frame that can be sent now, or how long to wait for one: 0 when the relay must be opened again,
// negative when nothing is scheduled.
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

// take removes the output for one frame from the queue.
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

// Cut returns a channel that is closed when the client must be disconnected at once, even during a write. Why returns
// the reason.
func (a *Attachment) Cut() <-chan struct{} { return a.cut }

// Why returns the reason for which the server ends the attachment; nil when it does not.
func (a *Attachment) Why() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.end
}

// allowEcho lets the echo of an input be sent without delay.
func (a *Attachment) allowEcho() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.echo = echoFrames
}

// End ends the attachment after the queued frames were sent. When it is called several times, the first reason is
// kept.
func (a *Attachment) End(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		a.end = why
	}
	wakeUp(a.wake)
}

// cutOff disconnects the client at once.
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
	wakeUp(a.wake)
}

func (a *Attachment) pushControl(frame []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		a.control = append(a.control, frame)
		a.addUnsent(len(frame))
	}
}

func (a *Attachment) pushData(b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		before := len(a.data)
		a.data = a.filter.Append(a.data, b)
		a.addUnsent(len(a.data) - before)
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
	a.addUnsent(len(f))
}

// addUnsent counts the added bytes. A client that does not read is disconnected. A client whose output only waits for the
// limit of ten frames a second has a higher limit.
func (a *Attachment) addUnsent(n int) {
	a.unsent += n
	if a.unsent > maxUnread && a.writing || a.unsent > maxUnsent {
		a.cutLocked(ErrSlow)
		return
	}
	wakeUp(a.wake)
}
