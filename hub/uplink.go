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

// Bounds of what waits to be sent to one worker. A worker that does not read
// for so long is cut off; it comes back and is told again.
const (
	uplinkQueueFrames = 4096
	uplinkQueueBytes  = 16 << 20
	uplinkWrite       = 15 * time.Second
)

// Why a frame was not queued.
var (
	ErrNotConnected = errors.New("host is not connected")
	ErrTooLarge     = fmt.Errorf("a frame may have %d bytes at most", wire.MaxFrame)
)

// Uplink is one worker's connection.
type Uplink struct {
	HostID     string
	InstanceID string
	BootID     string // empty: a peer that does not say

	foreign bool // guarded by Uplinks: another process is the host's own

	conn wire.Conn
	caps []string
	wake chan struct{}

	mu     sync.Mutex // guards the rest
	queue  []outgoing
	bytes  int
	closed error // why; nil while it is open
	ending bool  // nothing is added; what is queued is still sent
	ready  bool  // a heartbeat came on this connection
	// refusing: the last heartbeat said that the host takes no new runs.
	refusing bool
}

// outgoing is a frame that waits to be sent.
type outgoing struct {
	frame   []byte
	written func() // told when it is on its way; nil: nobody wants to know
}

// NewUplink makes an uplink of an open connection. Nothing is sent before Run.
func NewUplink(conn wire.Conn) *Uplink {
	return &Uplink{conn: conn, wake: make(chan struct{}, 1)}
}

// Identify says whose connection it is and what the worker announced. It is
// called once, before the uplink is added to the registry.
func (u *Uplink) Identify(hostID, instanceID, bootID string, caps []string) {
	u.HostID, u.InstanceID, u.BootID, u.caps = hostID, instanceID, bootID, caps
}

// Identified reports whether it is known whose connection it is.
func (u *Uplink) Identified() bool { return u.HostID != "" }

// Has reports whether the worker announced a capability.
func (u *Uplink) Has(capability string) bool { return slices.Contains(u.caps, capability) }

// ListsSessions reports whether the worker lists its sessions in its heartbeats and
// ends them when it is told to.
func (u *Uplink) ListsSessions() bool { return u.Has(wire.CapInventory) && u.Has(wire.CapStop) }

// Send queues a frame. It never waits; a queue that is full ends the
// connection. A frame that the worker would close the connection over is not
// queued at all.
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

// SendEncoded is Send of a frame that is encoded already. written is called
// when the frame was handed to the connection; it must not wait.
func (u *Uplink) SendEncoded(b []byte, written func()) error {
	if len(b) > wire.MaxFrame {
		return fmt.Errorf("%d bytes: %w", len(b), ErrTooLarge)
	}
	err := u.enqueue(outgoing{b, written})
	poke(u.wake)
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

// Run sends what is queued until ctx ends, the worker stops reading, or the
// connection breaks. It closes the connection.
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

// Why Run ends by itself.
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

// Close stops taking frames and drops those that wait; Run then ends.
func (u *Uplink) Close() {
	u.mu.Lock()
	if u.closed == nil {
		u.closed = errOver
	}
	u.mu.Unlock()
	poke(u.wake)
}

// Finish stops taking frames; Run ends when it has sent those that wait, such
// as the word that says why.
func (u *Uplink) Finish() {
	u.mu.Lock()
	u.ending = true
	u.mu.Unlock()
	poke(u.wake)
}

// Ready reports whether a heartbeat came on this connection: new runs are pushed
// only then.
func (u *Uplink) Ready() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ready
}

// Refuses notes what a heartbeat said about new runs.
func (u *Uplink) Refuses(refusing bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refusing = refusing
}

// takesRuns reports whether new runs may be given to the worker.
func (u *Uplink) takesRuns() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ready && !u.refusing
}

// MarkReady notes a heartbeat. It is true for the first one.
func (u *Uplink) MarkReady() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	first := !u.ready
	u.ready = true
	return first
}
