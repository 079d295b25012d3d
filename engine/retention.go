package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"svc"
	"svc/hub"
	"svc/store"
)

const day = 24 * time.Hour

// retentionLoop removes data that is older than its retention: at the start, then daily. What cannot be removed is
// tried again the next time.
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
	err = e.Store.Write(ctx, func(tx *store.Tx) (err error) { n, err = tx.ForgetSnoozes(ctx, now); return err })
	e.purged(ctx, "snoozes of the inbox", n, err)

	n, err = e.forgetNotifications(ctx, now.Add(-notificationLife))
	e.purged(ctx, "notifications", n, err)

	before := now.Add(-time.Duration(e.RelayDays) * day).Std()
	alive := func(runID string) bool {
		open, err := e.Store.RunOpen(ctx, runID)
		return open || err != nil
	}
	logs, err := e.Hub.Relay.Purge(before, alive)
	e.purged(ctx, "relayed logs", int64(logs), err)
	screens, err := e.Hub.Panes.Purge(before, alive)
	e.purged(ctx, "last screens", int64(screens), err)
	kept, err := e.purgeCheckpoints(ctx, svc.TimeOf(before))
	e.purged(ctx, "checkpoints of removed workspaces", int64(kept), err)
	if err := e.measureRelay(ctx); err != nil && ctx.Err() == nil {
		e.Log.Warn("the bytes stored for each host could not be measured; trying again tomorrow", "error", err)
	}
}

// RelayGone reports whether the database shows that retention removes a file of the hub's folder (file is its path
// there): its run is over or its workspace was removed. The caller has already checked that the file is older than
// the retention. On an error of the database it returns false.
func (e *Engine) RelayGone(ctx context.Context, file string) bool {
	folder, rest, _ := strings.Cut(file, "/")
	workspaceID, _, _ := strings.Cut(rest, "/")
	switch {
	case folder == hub.CheckpointsFolder && svc.IsID(workspaceID):
		gone, err := e.checkpointsGone(ctx, workspaceID, e.now().Add(-time.Duration(e.RelayDays)*day))
		return err == nil && gone
	case svc.IsID(folder):
		open, err := e.Store.RunOpen(ctx, folder)
		return err == nil && !open
	}
	return false
}

// measureRelay counts how many bytes are stored for each host. The files are the truth; the sums since the last
// measurement are estimates. Files of a run or workspace that no longer exists are not counted: retention removes
// them.
func (e *Engine) measureRelay(ctx context.Context) error {
	return e.Hub.Quota.Measure(func() (map[string]int64, error) {
		used := map[string]int64{}
		found := map[string]map[int]int64{}
		count := func() error {
			runs, err := e.Store.RunHosts(ctx, slices.Collect(maps.Keys(found)))
			for _, r := range runs {
				for attempt, bytes := range found[r.ID] {
					used[r.HostOf(attempt)] += bytes
				}
			}
			clear(found)
			return err
		}
		err := e.Hub.Relay.Sizes(func(runID string, attempts map[int]int64) error {
			if found[runID] = attempts; len(found) < measureUnit {
				return nil
			}
			return count()
		})
		if err == nil {
			err = count()
		}
		if err != nil {
			return nil, err
		}
		workspaces, err := e.Hub.Checkpoints.Workspaces()
		for _, id := range workspaces {
			if w, err := e.Store.Workspace(ctx, id); err == nil {
				used[w.HostID] += e.Hub.Checkpoints.Size(id)
			}
		}
		return used, err
	})
}

// measureUnit is how many runs are looked up at a time.
const measureUnit = 500

// forgetUnit limits how many keys one unit of work deletes: other writers wait for it.
const forgetUnit = 500

// forgetResults deletes the stored results of idempotency keys that are older than the given time.
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

// notificationLife is how long the outbox keeps entries. It is longer than an inbox entry counts as new, so no entry
// is notified twice.
const notificationLife = 3 * day

// forgetNotifications deletes entries that were put into the outbox before the given time.
func (e *Engine) forgetNotifications(ctx context.Context, before svc.Time) (forgotten int64, err error) {
	for {
		var n int64
		err := e.Store.Write(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.ForgetNotifications(ctx, before, forgetUnit)
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
