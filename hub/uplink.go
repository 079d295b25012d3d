package hub

import (
	"context"
	"errors"
	"fmt"
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
	caps map[string]bool
	wake chan struct{}

	mu     sync.Mutex // guards the rest
	queue  [][]byte
	bytes  int
	closed bool
	ending bool // nothing is added; what is queued is still sent
	ready  bool // a heartbeat came on this connection
	// refusing: the last heartbeat said that the host takes no new runs.
	refusing bool
}

// NewUplink makes an uplink of an open connection. Nothing is sent before Run.
func NewUplink(conn wire.Conn) *Uplink {
	return &Uplink{conn: conn, wake: make(chan struct{}, 1)}
}

// Identify says whose connection it is and what the worker announced. It is
// called once, before the uplink is added to the registry.
func (u *Uplink) Identify(hostID, instanceID, bootID string, caps []string) {
	u.HostID, u.InstanceID, u.BootID = hostID, instanceID, bootID
	u.caps = map[string]bool{}
	for _, c := range caps {
		u.caps[c] = true
	}
}

// Identified says whether it is known whose connection it is.
func (u *Uplink) Identified() bool { return u.HostID != "" }

// Has says whether the worker announced a capability.
func (u *Uplink) Has(capability string) bool { return u.caps[capability] }

// Send queues a frame. It never waits; a queue that is full ends the
// connection. A frame that the worker would close the connection over is not
// queued at all.
func (u *Uplink) Send(f wire.Frame) error {
	b, err := wire.Encode(f)
	if err != nil {
		return err
	}
	if len(b) > wire.MaxFrame {
		return fmt.Errorf("send %s frame of %d bytes: %w", f.Type(), len(b), ErrTooLarge)
	}
	u.mu.Lock()
	if u.closed || u.ending {
		u.mu.Unlock()
		return ErrNotConnected
	}
	full := len(u.queue) >= uplinkQueueFrames || u.bytes+len(b) > uplinkQueueBytes
	if full {
		u.closed = true
	} else {
		u.queue = append(u.queue, b)
		u.bytes += len(b)
	}
	u.mu.Unlock()
	poke(u.wake)
	if full {
		return ErrNotConnected
	}
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
			b, more, err := u.next()
			if err != nil {
				reason = err.Error()
				return err
			}
			if !more {
				break
			}
			if err := u.write(ctx, b); err != nil {
				return err
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

func (u *Uplink) next() (b []byte, more bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return nil, false, errNotRead
	}
	if len(u.queue) == 0 {
		u.queue = nil
		if u.ending {
			return nil, false, errOver
		}
		return nil, false, nil
	}
	b = u.queue[0]
	u.queue[0] = nil
	u.queue = u.queue[1:]
	u.bytes -= len(b)
	return b, true, nil
}

// Close stops taking frames and drops those that wait; Run then ends.
func (u *Uplink) Close() {
	u.mu.Lock()
	u.closed = true
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

// Ready says whether a heartbeat came on this connection: new runs are pushed
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

// takesRuns says whether new runs may be given to the worker.
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
