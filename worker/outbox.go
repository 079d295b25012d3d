package worker

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"svc/wire"
)

// writeTimeout bounds the writing of one frame. A peer that reads nothing for this long is treated as gone.
const writeTimeout = 15 * time.Second

// lane is one queue of an outbox. A lower lane waits until the higher ones are empty. The higher lanes carry
// little data, so frames that a person waits for are never queued behind a flood of output.
type lane int

const (
	laneControl lane = iota // heartbeats, acknowledgements, results: never dropped
	laneAttach              // terminal output: the terminal is read again only after it was written
	laneLog                 // log chunks: bounded by each run's window
	lanes
)

// Log chunks are delayed after a key, so that neither side is busy with them while the key's echo is on its
// way.
const (
	keyLead  = 20 * time.Millisecond  // how long a key delays log chunks
	mostHeld = 100 * time.Millisecond // the longest delay without a break, however fast keys arrive
	heldPart = 5                      // after a delay, logs are not delayed again for 1/heldPart of its length
	typingOn = 2 * time.Second        // for how long after a key more keys are expected
)

// outbox holds the frames that one connection still has to write. It is discarded with the connection. Whatever
// must survive is requested again by the peer, is kept in the spool, or is kept by its sender until sent was
// called.
type outbox struct {
	wake chan struct{} // holds one token when there may be something to write

	mu     sync.Mutex // guards the fields below
	queues [lanes][]outgoing
	// screens has the newest snapshot of each run; order lists the runs, the longest waiting first.
	screens map[string]outgoing
	order   []string
	// logsHeld is when the delay of logs began, logsFrom when it ends.
	logsHeld, logsFrom time.Time
}

// outgoing is a frame and the function that is called after it was written. sent may be nil; it must not block.
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

// show queues a snapshot. It replaces an older one of the same run that was not written yet.
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

// delayLogs delays logs for a moment because a key has arrived.
func (o *outbox) delayLogs() {
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

// typing reports whether a key has arrived recently.
func (o *outbox) typing() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.logsFrom) < typingOn
}

// next returns the frame to write first. Without one, held is how long logs are still delayed; 0 means that
// nothing is queued.
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

// write writes frames until ctx ends, or a write fails or times out.
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

// rest waits until there may be something to write; if held is not 0, at most that long.
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
