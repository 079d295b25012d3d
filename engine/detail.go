package engine

import (
	"context"
	"slices"

	"svc"
	"svc/place"
	"svc/store"
)

// RunDetail returns a run with the reasons for its current state.
func (e *Engine) RunDetail(ctx context.Context, id string) (svc.RunDetail, error) {
	var d svc.RunDetail
	err := e.Store.View(ctx, func(r store.Reader) (err error) {
		if d.Run, err = r.Run(ctx, id); err != nil {
			return err
		}
		if d.Evidence, err = r.TakenSignals(ctx, id); err != nil {
			return err
		}
		if d.Status == svc.RunPending {
			d.Waiting, err = e.waiting(ctx, r, d.Run)
		}
		return err
	})
	if err != nil {
		return d, err
	}
	e.lookAt(&d.Run)
	if e.Standby {
		d.Lease, err = e.leaseOf(ctx, id)
		return d, err
	}
	if lease, held := e.Hub.Attach.Holder(id); held {
		d.Lease = &lease
	}
	return d, nil
}

// waiting returns what holds a pending run back and, for each host, why the run is not on it, as placement sees it.
func (e *Engine) waiting(ctx context.Context, r store.Reader, run svc.Run) (*svc.Waiting, error) {
	fleet, err := e.fleet(ctx, r)
	if err != nil {
		return nil, err
	}
	line, err := e.readLine(ctx, r)
	if err != nil {
		return nil, err
	}
	gate := line.gate(run.ID)
	if run.Blocked {
		unmet, err := r.UnmetNeeds(ctx, run.TaskID)
		if err != nil {
			return nil, err
		}
		for _, u := range unmet {
			gate.Unmet = append(gate.Unmet, place.Unmet(u))
		}
	}
	demand := place.Demand{Provider: run.Provider, PinnedHostID: value(run.PinnedHostID), Refused: run.Refused, Labels: run.HostLabels, Workspace: gate.Project.Isolated}
	w := &svc.Waiting{Why: gate.Holds(e.now()), Hosts: []svc.HostWithheld{}, HostsTotal: len(fleet.Hosts)}
	if e.Standby { // only the leader can tell which of them could take it
		return w, nil
	}
	w.Hosts = fleet.Explain(demand)
	w.Hosts = w.Hosts[:min(len(w.Hosts), svc.MostWithheld)]
	if i := slices.Index(line.order, run.ID); i >= 0 && len(w.Why) == 0 {
		position := i + 1
		w.Position = &position
	}
	if !run.Wait && !svc.Held(run.NotBefore) && len(gate.Unmet) == 0 && !gate.Project.Full() && !gate.Busy && !gate.Follows {
		from := waitsFrom(&run)
		if run.WorkspaceID != nil {
			use, err := r.WorkspaceUse(ctx, *run.WorkspaceID, run.ID)
			if err != nil {
				return nil, err
			}
			from = max(from, use.Since)
		}
		before, err := predecessor(ctx, r, run)
		if err != nil {
			return nil, err
		}
		from = max(from, value(before.SessionEndedAt))
		if gate.Project.Limited {
			from = max(from, e.full.until(run.ProjectID, e.readyAt))
		}
		at := e.served.deadline(from, e.DispatchTimeout)
		w.TimesOutAt = &at
	}
	if run.NextDispatchAt != nil && *run.NextDispatchAt > run.PendingSince {
		w.NotBefore = run.NextDispatchAt
	}
	return w, nil
}
