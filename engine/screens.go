package engine

import (
	"context"
	"time"

	"svc"
	"svc/wire"
)

// screenPatience is for how long a host is waited for that was asked for a last screen.
const screenPatience = 3 * time.Second

// FetchScreen sees to it that the screen at the end of a run's session is here, if its host has it. An orchestrator that has just taken over
// may have an older one, or none.
func (e *Engine) FetchScreen(ctx context.Context, r svc.Run) {
	link, connected := e.Hub.Uplinks.Of(r.HostOf(r.Attempt))
	if !connected || !link.Has(wire.CapScreenRead) || !e.attemptEnded(r, r.Attempt) || e.hasFinal(r) {
		return
	}
	isGone, done := e.screens.wait(attemptKey{r.ID, r.Attempt})
	defer done()
	if link.Send(wire.ScreenRead{RunID: r.ID, Attempt: r.Attempt}) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, screenPatience)
	defer cancel()
	tick := time.NewTicker(fetchPoll)
	defer tick.Stop()
	for !e.hasFinal(r) && !isGone() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// hasFinal says whether the screen at the end of a run's newest session is here.
func (e *Engine) hasFinal(r svc.Run) bool {
	s, has, err := e.Hub.Panes.Latest(r.ID)
	return err == nil && has && s.Final && s.Attempt == r.Attempt
}

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
