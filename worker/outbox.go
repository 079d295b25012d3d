package worker

import (
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
// which are all slow by nature: what a person waits for never stands behind a
// flood of output.
type lane int

const (
	laneControl lane = iota // heartbeats, acknowledgements, results: never dropped
	laneAttach              // terminal output: its reader waits until it has left
	laneLog                 // log chunks: bounded by each run's window
	lanes
)

// outbox is what one connection still has to write. It dies with the
// connection: whatever must survive one is asked for again by the peer, kept in
// the spool, or kept by who sent it until sent was called.
type outbox struct {
	wake chan struct{} // holds one token when there may be something to write

	mu     sync.Mutex // guards the fields below
	queues [lanes][]outgoing
	// screens has the newest snapshot of each run; order is who waits longest.
	screens map[string]outgoing
	order   []string
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
	o.stir()
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
	o.stir()
}

func (o *outbox) stir() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// next takes the frame that should leave first.
func (o *outbox) next() (outgoing, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for l := laneControl; l < laneLog; l++ {
		if out, ok := o.pop(l); ok {
			return out, true
		}
	}
	if len(o.order) > 0 {
		run := o.order[0]
		out := o.screens[run]
		o.order = o.order[1:]
		delete(o.screens, run)
		return out, true
	}
	return o.pop(laneLog)
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
	for {
		out, ok := o.next()
		if !ok {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-o.wake:
			}
			continue
		}
		if err := writeFrame(ctx, conn, out.frame); err != nil {
			return err
		}
		if out.sent != nil {
			out.sent()
		}
	}
}

func writeFrame(ctx context.Context, conn wire.Conn, frame wire.Frame) error {
	body, err := wire.Encode(frame)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := conn.Write(ctx, body); err != nil {
		return fmt.Errorf("write %s frame: %w", frame.Type(), err)
	}
	return nil
}
