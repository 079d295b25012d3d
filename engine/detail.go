package engine

import (
	"context"

	"svc"
	"svc/place"
	"svc/store"
)

// RunDetail reads a run with why it is where it is.
func (e *Engine) RunDetail(ctx context.Context, id string) (svc.RunDetail, error) {
	var d svc.RunDetail
	var fleet *place.Fleet
	err := e.Store.View(ctx, func(r store.Reader) (err error) {
		if d.Run, err = r.Run(ctx, id); err != nil {
			return err
		}
		if d.Evidence, err = r.TakenSignals(ctx, id); err != nil {
			return err
		}
		if d.Status == svc.RunPending {
			fleet, err = e.fleet(ctx, r)
		}
		return err
	})
	if err != nil {
		return d, err
	}
	e.lookAt(&d.Run)
	if lease, held := e.Hub.Attach.Holder(id); held {
		d.Lease = &lease
	}
	if d.Status == svc.RunPending {
		d.Waiting = e.waiting(d.Run, fleet)
	}
	return d, nil
}

// waiting says of every host why a pending run is not on it, as placement sees
// it.
func (e *Engine) waiting(r svc.Run, fleet *place.Fleet) *svc.Waiting {
	demand := place.Demand{Provider: r.Provider, PinnedHostID: value(r.PinnedHostID), Refused: r.Refused}
	w := &svc.Waiting{TimesOutAt: e.served.deadline(waitsFrom(&r), e.DispatchTimeout), Hosts: fleet.Explain(demand)}
	if r.NextDispatchAt != nil && *r.NextDispatchAt > r.PendingSince {
		w.NotBefore = r.NextDispatchAt
	}
	return w
}
