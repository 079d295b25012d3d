package worker

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"svc/wire"
)

// writeTimeout is how long one frame may take to leave. A peer that does not
// read for this long is as good as gone.
const writeTimeout = 15 * time.Second

// lane is one queue of an outbox. A lower lane waits for the higher ones,
// which are all slow by nature: what a person waits for is never queued behind a
// flood of output.
type lane int

const (
	laneControl lane = iota // heartbeats, acknowledgements, results: never dropped
	laneAttach              // terminal output: its reader waits until it has left
	laneLog                 // log chunks: bounded by each run's window
	lanes
)

// Logs give way to keys, so that neither side is busy with them while an echo is on its way.
const (
	keyLead  = 20 * time.Millisecond  // for how long after a key
	mostHeld = 100 * time.Millisecond // and at most in a row, however fast someone types
	heldPart = 5                      // logs that were held have the way for this part of the time
	typingOn = 2 * time.Second        // after a key, more of them are likely
)

// outbox is what one connection still has to write. It dies with the
// connection: whatever must survive one is asked for again by the peer, kept in
// the spool, or kept by its sender until sent was called.
type outbox struct {
	wake chan struct{} // holds one token when there may be something to write

	mu     sync.Mutex // guards the fields below
	queues [lanes][]outgoing
	// screens has the newest snapshot of each run; order is who waits longest.
	screens map[string]outgoing
	order   []string
	// logsHeld is when logs began to give way, logsFrom when they go on.
	logsHeld, logsFrom time.Time
}

// outgoing is a frame and who wants to know that it was written. sent may be
// nil; it must not block.
type outgoing struct {
	frame wire.Frame
	sent  func()
}

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), screens: map[string]outgoing{}}
}

func (o *outbox) push(l lane, frame wire.Frame, sent func()) {
	o.mu.Lock()
	o.queues[l] = append(o.queues[l], outgoing{frame, sent})
	o.mu.Unlock()
	o.wakeUp()
}

// show queues a snapshot in the place of an older one of the same run that has
// not left yet.
func (o *outbox) show(s *wire.Snapshot, sent func()) {
	o.mu.Lock()
	if _, waiting := o.screens[s.RunID]; !waiting {
		o.order = append(o.order, s.RunID)
	}
	o.screens[s.RunID] = outgoing{s, sent}
	o.mu.Unlock()
	o.wakeUp()
}

func (o *outbox) wakeUp() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// giveWay holds logs back for a moment: a key has come.
func (o *outbox) giveWay() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	switch since := now.Sub(o.logsFrom); {
	case since < 0:
		o.logsFrom = now.Add(min(keyLead, mostHeld-now.Sub(o.logsHeld)))
	case since >= o.logsFrom.Sub(o.logsHeld)/heldPart:
		o.logsHeld, o.logsFrom = now, now.Add(keyLead)
	}
}

// typing reports whether a key has come of late.
func (o *outbox) typing() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.logsFrom) < typingOn
}

// next takes the frame that should leave first. Without one, held is how long
// logs give way; 0 means that nothing waits.
func (o *outbox) next() (out outgoing, held time.Duration, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for l := laneControl; l < laneLog; l++ {
		if out, ok := o.pop(l); ok {
			return out, 0, true
		}
	}
	if len(o.order) > 0 {
		run := o.order[0]
		out := o.screens[run]
		o.order = o.order[1:]
		delete(o.screens, run)
		return out, 0, true
	}
	if held = time.Until(o.logsFrom); held > 0 && len(o.queues[laneLog]) > 0 {
		return outgoing{}, held, false
	}
	out, ok = o.pop(laneLog)
	return out, 0, ok
}

func (o *outbox) pop(l lane) (outgoing, bool) {
	q := o.queues[l]
	if len(q) == 0 {
		return outgoing{}, false
	}
	out := q[0]
	q[0] = outgoing{}
	o.queues[l] = q[1:]
	return out, true
}

// write sends frames until ctx ends or a write does not succeed in time.
func (o *outbox) write(ctx context.Context, conn wire.Conn) error {
	var buf bytes.Buffer
	for {
		out, held, ok := o.next()
		if !ok {
			if err := o.rest(ctx, held); err != nil {
				return err
			}
			continue
		}
		if err := writeFrame(ctx, conn, &buf, out.frame); err != nil {
			return err
		}
		if out.sent != nil {
			out.sent()
		}
	}
}

// rest waits until there may be something to write, no longer than held when
// that is not 0.
func (o *outbox) rest(ctx context.Context, held time.Duration) error {
	var over <-chan time.Time
	if held > 0 {
		timer := time.NewTimer(held)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-o.wake:
	case <-over:
	}
	return nil
}

func writeFrame(ctx context.Context, conn wire.Conn, buf *bytes.Buffer, frame wire.Frame) error {
	buf.Reset()
	if err := wire.EncodeTo(buf, frame); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := conn.Write(ctx, buf.Bytes()); err != nil {
		return fmt.Errorf("write %s frame: %w", frame.Type(), err)
	}
	return nil
}
