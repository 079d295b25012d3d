package engine

import (
	"context"
	"slices"

	"svc"
	"svc/store"
)

// RunDetail reads a run with why it is where it is.
func (e *Engine) RunDetail(ctx context.Context, id string) (svc.RunDetail, error) {
	var d svc.RunDetail
	var hosts []svc.Host
	err := e.Store.View(ctx, func(r store.Reader) (err error) {
		if d.Run, err = r.Run(ctx, id); err != nil {
			return err
		}
		if d.Evidence, err = r.TakenSignals(ctx, id); err != nil {
			return err
		}
		if d.Status == svc.RunPending {
			hosts, err = r.AllHosts(ctx)
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
		d.Waiting = e.waiting(d.Run, hosts)
	}
	return d, nil
}

// waiting says of every host why a pending run is not on it.
func (e *Engine) waiting(r svc.Run, hosts []svc.Host) *svc.Waiting {
	w := &svc.Waiting{TimesOutAt: r.PendingSince.Add(e.DispatchTimeout), Hosts: []svc.HostWithheld{}}
	if r.NextDispatchAt != nil && *r.NextDispatchAt > r.PendingSince {
		w.NotBefore = r.NextDispatchAt
		w.TimesOutAt = r.NextDispatchAt.Add(e.DispatchTimeout)
	}
	ready := e.Hub.Uplinks.Ready()
	someoneHas := slices.ContainsFunc(hosts, func(h svc.Host) bool {
		return h.Dispatchable() && h.Providers[r.Provider].Available && (r.PinnedHostID == nil || *r.PinnedHostID == h.ID)
	})
	for _, h := range hosts {
		e.hosts.overlay(&h)
		w.Hosts = append(w.Hosts, svc.HostWithheld{HostID: h.ID, Name: h.Name, Why: withheld(r, h, ready[h.ID], someoneHas)})
	}
	return w
}

// withheld is the first reason, in the order in which an operator would mend
// them.
func withheld(r svc.Run, h svc.Host, ready, someoneHas bool) string {
	switch {
	case r.PinnedHostID != nil && *r.PinnedHostID != h.ID:
		return "other_host_pinned"
	case h.Status == svc.HostRegistered:
		return "never_seen"
	case h.Status == svc.HostOffline:
		return "offline"
	case h.Status == svc.HostDisabled:
		return "disabled"
	case h.InstanceSuspect:
		return "suspect"
	case h.Refusing != nil:
		return h.Refusing.Code
	case !ready:
		return "not_connected"
	case slices.Contains(r.Refused, h.ID):
		return "refused"
	case h.MaxRuns != nil && h.ActiveRuns >= *h.MaxRuns:
		return "full"
	case someoneHas && !h.Providers[r.Provider].Available:
		return "provider_missing"
	default:
		return "about_to_take_it"
	}
}
