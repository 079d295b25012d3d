package engine

import (
	"context"

	"svc/wire"
)

// screen takes the screen of a session that goes on, or whatever a plain peer
// sends.
func (c *uplinkConn) screen(ctx context.Context, f *wire.Snapshot) error {
	r, attempt, err := c.runOf(ctx, f.RunID, f.Attempt)
	if err != nil || attempt != r.Attempt {
		return err
	}
	c.e.Hub.Panes.Put(f.RunID, r.Attempt, f.Capture, f.Timestamp)
	if r.SessionEndedAt != nil {
		return c.e.Hub.Panes.Keep(f.RunID)
	}
	return nil
}

// finalScreen takes the screen at the end of a session. It is acknowledged when
// it is on disk, or when nobody will ask for it; without an answer the worker
// keeps it and sends it again.
func (c *uplinkConn) finalScreen(ctx context.Context, f *wire.Snapshot) error {
	r, attempt, err := c.runOf(ctx, f.RunID, f.Attempt)
	if err == nil && attempt == r.Attempt {
		err = c.e.Hub.Panes.PutFinal(f.RunID, f.Attempt, f.Capture, f.Timestamp)
	}
	if err == nil || unwanted(err) {
		_ = c.link.Send(wire.ScreenAck{RunID: f.RunID, Attempt: f.Attempt})
	}
	return err
}
