package engine

import (
	"context"
	"time"

	"svc"
	"svc/wire"
)

// screenPatience is how long to wait for a host that was asked for a last screen.
const screenPatience = 3 * time.Second

// FetchScreen fetches the screen at the end of a run's session, if its host has it. An orchestrator that has just
// taken over may have an older screen, or none.
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

// hasFinal reports whether the screen at the end of a run's newest session is stored here.
func (e *Engine) hasFinal(r svc.Run) bool {
	s, has, err := e.Hub.Panes.Latest(r.ID)
	return err == nil && has && s.Final && s.Attempt == r.Attempt
}

// screen stores the screen of a session that is running, or any screen from a peer without the capability for final
// screens.
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

// finalScreen stores the screen at the end of a session. It acknowledges the screen when it is on disk, or when it is
// not needed. Without an acknowledgement, the worker keeps the screen and sends it again.
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
