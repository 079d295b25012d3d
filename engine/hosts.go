package engine

import (
	"context"
	"maps"
	"time"

	"svc"
	"svc/store"
)

// CreateHost creates a host. A worker can only register as a host that exists.
func (e *Engine) CreateHost(ctx context.Context, n svc.NewHost) (svc.Host, error) {
	if err := n.Validate(); err != nil {
		return svc.Host{}, err
	}
	made := false
	h, err := once(ctx, e.Store.Write, func(tx *store.Tx) (svc.Host, error) {
		if err := hostNameFree(ctx, tx, n.Name); err != nil {
			return svc.Host{}, err
		}
		h := svc.Host{ID: svc.NewID(), Name: n.Name, Status: svc.HostRegistered, MaxRuns: n.MaxRuns, Labels: n.Labels,
			Providers: map[string]svc.ProviderReport{}, CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
		if h.Labels == nil {
			h.Labels = map[string]string{}
		}
		if err := tx.InsertHost(ctx, h); err != nil {
			return h, err
		}
		tx.Emit(svc.TopicHostCreated, h.EventPayload())
		made = true
		return h, nil
	})
	if err == nil && made {
		e.hosts.written(h, e.watch.look(), time.Time{})
	}
	return h, err
}

func hostNameFree(ctx context.Context, tx *store.Tx, name string) error {
	_, err := tx.HostByName(ctx, name)
	switch {
	case err == nil:
		return svc.Errorf(svc.CodeConflict, "there is a host named %q already", name).With("field", "name")
	case svc.CodeOf(err) == svc.CodeNotFound:
		return nil
	default:
		return err
	}
}

// Host reads a host by id or name.
func (e *Engine) Host(ctx context.Context, idOrName string) (svc.Host, error) {
	h, err := e.Store.Host(ctx, idOrName)
	if err == nil {
		e.hosts.overlay(&h)
	}
	return h, err
}

// Hosts returns a page of hosts, ordered by name.
func (e *Engine) Hosts(ctx context.Context, page svc.Page) (svc.List[svc.Host], error) {
	list, err := e.Store.Hosts(ctx, page)
	for i := range list.Items {
		e.hosts.overlay(&list.Items[i])
	}
	return list, err
}

// changeHost changes one host in a unit of work. change returns whether there is anything to write.
func (e *Engine) changeHost(ctx context.Context, idOrName string, change func(*store.Tx, *svc.Host) (bool, error)) (svc.Host, error) {
	return e.changeHostAtBeat(ctx, idOrName, time.Time{}, change)
}

// changeHostAtBeat is changeHost for a heartbeat that was received at a time of the monotonic clock.
func (e *Engine) changeHostAtBeat(ctx context.Context, idOrName string, beatAt time.Time,
	change func(*store.Tx, *svc.Host) (bool, error)) (svc.Host, error) {
	replayed, changed := true, ""
	h, err := once(ctx, e.Store.Write, func(tx *store.Tx) (svc.Host, error) {
		replayed = false
		h, err := tx.LockHost(ctx, idOrName)
		if err != nil {
			return h, err
		}
		e.hosts.overlay(&h)
		write, err := change(tx, &h)
		if err == nil && write {
			changed = h.ID
			err = tx.UpdateHost(ctx, &h)
		}
		return h, err
	}, store.HostRow(idOrName))
	if err != nil {
		e.hosts.unsure(changed)
	}
	if err != nil || replayed {
		return h, err
	}
	e.hosts.written(h, e.watch.look(), beatAt)
	e.claims.up()
	return h, nil
}

// UpdateHost changes the fields that the patch names. If the values are the same as before, there is no event and the
// version stays.
func (e *Engine) UpdateHost(ctx context.Context, idOrName string, patch svc.HostPatch, match Match) (svc.Host, error) {
	return e.changeHost(ctx, idOrName, func(tx *store.Tx, h *svc.Host) (bool, error) {
		if err := firstErr(patch.Validate, func() error { return checkMatch(match, h.Version) }); err != nil {
			return false, err
		}
		if patch.Name != nil && *patch.Name != h.Name {
			if err := hostNameFree(ctx, tx, *patch.Name); err != nil {
				return false, err
			}
		}
		before := *h
		assign(&h.Name, patch.Name)
		assign(&h.Labels, patch.Labels)
		if h.Labels == nil {
			h.Labels = map[string]string{}
		}
		if patch.MaxRuns != nil {
			h.MaxRuns = patch.MaxRuns.Max
		}
		if h.Name == before.Name && maps.Equal(h.Labels, before.Labels) && sameLimit(h.MaxRuns, before.MaxRuns) {
			return false, nil
		}
		tx.Emit(svc.TopicHostUpdated, h.EventPayload())
		return true, nil
	})
}

func sameLimit(a, b *int) bool { return (a == nil) == (b == nil) && value(a) == value(b) }

// DisableHost drains a host: it gets no new runs, and its active runs continue.
func (e *Engine) DisableHost(ctx context.Context, idOrName string) (svc.Host, error) {
	return e.changeHost(ctx, idOrName, func(tx *store.Tx, h *svc.Host) (bool, error) {
		if h.Status == svc.HostDisabled {
			return false, nil
		}
		h.Status, h.OfflineSince = svc.HostDisabled, nil
		tx.Emit(svc.TopicHostUpdated, h.EventPayload())
		return true, nil
	})
}

// EnableHost ends a drain. The new status depends only on the host's heartbeats. A host that is not disabled is not
// changed.
func (e *Engine) EnableHost(ctx context.Context, idOrName string) (svc.Host, error) {
	return e.changeHost(ctx, idOrName, func(tx *store.Tx, h *svc.Host) (bool, error) {
		if h.Status != svc.HostDisabled {
			return false, nil
		}
		if e.hosts.fresh(h.ID, e.watch.look(), e.OfflineAfter) {
			h.Status = svc.HostOnline
			tx.Emit(svc.TopicWorkerRegistered, h.EventPayload())
			return true, nil
		}
		now := tx.Now
		h.Status, h.OfflineSince = svc.HostOffline, &now
		tx.Emit(svc.TopicHostUpdated, h.EventPayload())
		return true, nil
	})
}

// acceptSuspect makes the suspect instance and the suspect key the host's own. It accepts nothing that came with
// another key while the worker with the pinned key is connected: the suspect is then another machine.
func (e *Engine) acceptSuspect(h *svc.Host) {
	if h.SuspectWorkerKey != nil && e.Hub.Uplinks.Connected(h.ID) {
		return
	}
	if h.SuspectInstanceID != nil {
		h.InstanceID = h.SuspectInstanceID
	}
	if h.SuspectWorkerKey != nil { // as the suspect sent it; without a key, the host has none
		h.WorkerKey = h.SuspectWorkerKey
		if *h.WorkerKey == "" {
			h.WorkerKey = nil
		}
	}
}

// ClearSuspect ends the suspicion: the suspect instance and the suspect key become the host's own.
func (e *Engine) ClearSuspect(ctx context.Context, idOrName string) (svc.Host, error) {
	h, err := e.changeHost(ctx, idOrName, func(tx *store.Tx, h *svc.Host) (bool, error) {
		if !h.InstanceSuspect {
			return false, nil
		}
		e.acceptSuspect(h)
		h.InstanceSuspect, h.SuspectInstanceID, h.SuspectWorkerKey = false, nil, nil
		tx.Emit(svc.TopicHostUpdated, h.EventPayload())
		return true, nil
	})
	if err == nil {
		e.Hub.Uplinks.CloseForeign(h.ID)
		e.hostReady(h.ID)
	}
	return h, err
}
