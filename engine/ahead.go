package engine

import (
	"context"

	"svc"
	"svc/store"
)

// rewind corrects runs that became pending in the future: the orchestrator that queued them had a clock that was
// ahead. Their wait begins now. Without this correction they would not time out, and their back-off would not end,
// before that time.
func (e *Engine) rewind(ctx context.Context, waiting waitingRuns, now svc.Time) error {
	for project := range waiting.projects {
		ids, err := e.Store.PendingAfter(ctx, project, now.Add(servedPause), claimUnit)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			continue
		}
		err = e.Store.Write(ctx, func(tx *store.Tx) error {
			for _, id := range ids {
				r, err := tx.LockRun(ctx, id)
				if err != nil {
					return err
				}
				ahead := r.PendingSince.Sub(tx.Now)
				if r.Status != svc.RunPending || ahead <= servedPause {
					continue // it was changed since it was read, or our clock was set
				}
				r.PendingSince = tx.Now
				if r.NextDispatchAt != nil {
					next := r.NextDispatchAt.Add(-ahead)
					r.NextDispatchAt = &next
				}
				if err := tx.UpdateRun(ctx, &r); err != nil {
					return err
				}
				tx.Emit(svc.TopicRunUpdated, r.EventPayload())
			}
			return nil
		}, store.RunRows(ids...)...)
		if err != nil {
			return err
		}
		e.claims.up()
	}
	return nil
}
