package hub

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc/wire"
)

// The limits of the send queue to one worker. A worker that does not read for that long is disconnected; it connects
// again and is sent everything anew.
const (
	uplinkQueueFrames = 4096
	uplinkQueueBytes  = 16 << 20
	uplinkWrite       = 15 * time.Second
)

// The reasons why a frame was not queued.
var (
	ErrNotConnected = errors.New("host is not connected")
	ErrTooLarge     = fmt.Errorf("a frame may have %d bytes at most", wire.MaxFrame)
)

// Uplink is one worker's connection.
type Uplink struct {
	HostID     string
	InstanceID string
	BootID     string // empty: the peer does not send one

	foreign bool // guarded by Uplinks: the connection is not the host's own

	conn wire.Conn
	caps []string
	wake chan struct{}

	mu     sync.Mutex // guards the fields below
	queue  []outgoing
	bytes  int
	closed error // why it was closed; nil while it is open
	ending bool  // no frames are added any more; queued frames are still sent
	ready  bool  // a heartbeat was received on this connection
	// refusing: the last heartbeat reported that the host takes no new runs.
	refusing bool
}

// outgoing is a frame in the send queue.
type outgoing struct {
	frame   []byte
	written func() // called when the frame was passed to the connection; may be nil
}

// NewUplink returns an uplink on an open connection. Nothing is sent before Run.
func NewUplink(conn wire.Conn) *Uplink {
	return &Uplink{conn: conn, wake: make(chan struct{}, 1)}
}

// Identify sets the host and the instance of the connection and the announced capabilities. It is called once, before
// the uplink is added to the registry.
func (u *Uplink) Identify(hostID, instanceID, bootID string, caps []string) {
	u.HostID, u.InstanceID, u.BootID, u.caps = hostID, instanceID, bootID, caps
}

// Identified reports whether Identify was called.
func (u *Uplink) Identified() bool { return u.HostID != "" }

// Has reports whether the worker announced a capability.
func (u *Uplink) Has(capability string) bool { return slices.Contains(u.caps, capability) }

// ListsSessions reports whether the worker lists its sessions in its heartbeats and ends them on request.
func (u *Uplink) ListsSessions() bool { return u.Has(wire.CapInventory) && u.Has(wire.CapStop) }

// Send queues a frame and never blocks. When the queue is full, the connection is closed. A frame that is too large
// for the worker is not queued.
func (u *Uplink) Send(f wire.Frame) error {
	b, err := wire.Encode(f)
	if err != nil {
		return err
	}
	if err := u.SendEncoded(b, nil); err != nil {
		return fmt.Errorf("send %s frame: %w", f.Type(), err)
	}
	return nil
}

// SendEncoded is Send for an encoded frame. written is called after the frame was passed to the connection; it must
// not block.
func (u *Uplink) SendEncoded(b []byte, written func()) error {
	if len(b) > wire.MaxFrame {
		return fmt.Errorf("%d bytes: %w", len(b), ErrTooLarge)
	}
	err := u.enqueue(outgoing{b, written})
	wakeUp(u.wake)
	return err
}

func (u *Uplink) enqueue(o outgoing) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed != nil || u.ending {
		return ErrNotConnected
	}
	if len(u.queue) >= uplinkQueueFrames || u.bytes+len(o.frame) > uplinkQueueBytes {
		u.closed = errNotRead
		return ErrNotConnected
	}
	u.queue = append(u.queue, o)
	u.bytes += len(o.frame)
	return nil
}

// Run sends the queued frames until ctx ends, the worker stops reading, or the connection breaks. Then it closes the
// connection.
func (u *Uplink) Run(ctx context.Context) error {
	reason := errOver.Error()
	defer func() {
		u.Close()
		_ = u.conn.Close(reason)
	}()
	for {
		select {
		case <-u.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
		for {
			o, more, err := u.next()
			if err != nil {
				reason = err.Error()
				return err
			}
			if !more {
				break
			}
			if err := u.write(ctx, o.frame); err != nil {
				return err
			}
			if o.written != nil {
				o.written()
			}
		}
	}
}

func (u *Uplink) write(ctx context.Context, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, uplinkWrite)
	defer cancel()
	return u.conn.Write(ctx, b)
}

// The reasons for which Run ends the connection.
var (
	errNotRead = errors.New("worker does not read")
	errOver    = errors.New("connection is over")
)

func (u *Uplink) next() (o outgoing, more bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed != nil {
		return o, false, u.closed
	}
	if len(u.queue) == 0 {
		u.queue = nil
		if u.ending {
			return o, false, errOver
		}
		return o, false, nil
	}
	o = u.queue[0]
	u.queue[0] = outgoing{}
	u.queue = u.queue[1:]
	u.bytes -= len(o.frame)
	return o, true, nil
}

// Close refuses further frames and drops the queued ones; Run then ends.
func (u *Uplink) Close() {
	u.mu.Lock()
	if u.closed == nil {
		u.closed = errOver
	}
	u.mu.Unlock()
	wakeUp(u.wake)
}

// Finish refuses further frames; Run ends after it has sent the queued ones, for example the frame with the reason.
func (u *Uplink) Finish() {
	u.mu.Lock()
	u.ending = true
	u.mu.Unlock()
	wakeUp(u.wake)
}

// Ready reports whether a heartbeat was received on this connection. New runs are sent only after that.
func (u *Uplink) Ready() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ready
}

// Refuses stores whether the last heartbeat refused new runs.
func (u *Uplink) Refuses(refusing bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refusing = refusing
}

// takesRuns reports whether new runs may be sent to the worker.
func (u *Uplink) takesRuns() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ready && !u.refusing
}

// MarkReady records a heartbeat. It returns true for the first one.
func (u *Uplink) MarkReady() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	first := !u.ready
	u.ready = true
	return first
}
