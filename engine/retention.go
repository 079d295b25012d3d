package engine

import (
	"context"
	"time"

	"svc"
	"svc/store"
)

const day = 24 * time.Hour

// retentionLoop removes what is older than it is kept: at the start, then
// daily. It is best effort; what fails is tried again the next time.
func (e *Engine) retentionLoop(ctx context.Context) error {
	tick := time.NewTicker(day)
	defer tick.Stop()
	e.purge(ctx)
	for {
		select {
		case <-tick.C:
			e.purge(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

func (e *Engine) purge(ctx context.Context) {
	now := e.now()
	cutoff := now.Add(-time.Duration(e.EventsDays) * day)
	if e.EventsDays == 0 {
		cutoff = e.readyAt
	}
	n, err := e.Store.PurgeEvents(ctx, cutoff)
	e.purged(ctx, "events", n, err)
	n, err = e.forgetResults(ctx, now.Add(-keyLife))
	e.purged(ctx, "idempotency keys", n, err)

	before := now.Add(-time.Duration(e.RelayDays) * day).Std()
	alive := func(runID string) bool {
		open, err := e.Store.RunOpen(ctx, runID)
		return open || err != nil
	}
	logs, err := e.Hub.Relay.Purge(before, alive)
	e.purged(ctx, "relayed logs", int64(logs), err)
	screens, err := e.Hub.Panes.Purge(before, alive)
	e.purged(ctx, "last screens", int64(screens), err)
}

// forgetUnit bounds the keys that one unit of work forgets: everyone else's
// writes stand behind it.
const forgetUnit = 500

// forgetResults drops what idempotency keys answered before a time.
func (e *Engine) forgetResults(ctx context.Context, before svc.Time) (forgotten int64, err error) {
	for {
		var n int64
		err := e.Store.Write(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.ForgetResults(ctx, before, forgetUnit)
			return err
		})
		if forgotten += n; err != nil || n < forgetUnit {
			return forgotten, err
		}
	}
}

func (e *Engine) purged(ctx context.Context, what string, n int64, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil:
		e.Log.Warn("retention could not remove everything", "what", what, "error", err)
	case n > 0:
		e.Log.Info("retention removed what was too old", "what", what, "count", n)
	}
}
