package hub

import (
	"context"
	"errors"
	"testing"

	"svc/wire"
)

// recordedConn is a connection that records the reason of its close.
type recordedConn struct {
	broken error // the error of a write
	reason string
}

func (c *recordedConn) Read(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
func (c *recordedConn) Write(context.Context, []byte) error      { return c.broken }
func (c *recordedConn) Close(reason string) error                { c.reason = reason; return nil }

// The reason "worker does not read" is used only when the queue of the worker has overflowed.
func TestAConnectionIsClosedWithTheTrueReason(t *testing.T) {
	t.Parallel()
	send := func(u *Uplink) error { return u.Send(wire.HeartbeatAck{}) }
	for name, c := range map[string]struct {
		conn recordedConn
		do   func(*Uplink)
		want string
	}{
		"the queue overflows": {want: "worker does not read", do: func(u *Uplink) {
			for send(u) == nil {
				continue
			}
		}},
		"a write breaks":     {conn: recordedConn{broken: errors.New("reset by peer")}, want: "connection is over", do: func(u *Uplink) { _ = send(u); u.Finish() }},
		"it ends in order":   {want: "connection is over", do: (*Uplink).Finish},
		"somebody closes it": {want: "connection is over", do: (*Uplink).Close},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := c.conn
			u := NewUplink(&conn)
			c.do(u)
			if err := u.Run(t.Context()); err == nil || conn.reason != c.want {
				t.Errorf("closed with %q (%v), want %q", conn.reason, err, c.want)
			}
		})
	}
}
