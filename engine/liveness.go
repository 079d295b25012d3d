package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"svc"
	"svc/store"
	"svc/wire"
)

// seenFlush is the maximum time between two writes of the heartbeats.
const seenFlush = 5 * time.Second

// beat handles a heartbeat. Most heartbeats change only a time in memory.
func (e *Engine) beat(ctx context.Context, hostID, instance string) error {
	beatAt := e.watch.look()
	if e.hosts.recordUnchanged(hostID, instance, beatAt, e.now()) {
		return nil
	}
	_, err := e.changeHostAtBeat(ctx, hostID, beatAt, func(tx *store.Tx, h *svc.Host) (bool, error) {
		for _, t := range h.Beat(instance, tx.Now, e.hosts.fresh(h.ID, beatAt, e.OfflineAfter)) {
			p := h.EventPayload()
			if t == svc.TopicWorkerSuspect || t == svc.TopicWorkerReinstalled {
				p["instance_id"], p["suspect_instance_id"] = h.InstanceID, h.SuspectInstanceID
			}
			tx.Emit(t, p)
		}
		return true, nil
	})
	if svc.CodeOf(err) == svc.CodeNotFound {
		return svc.Errorf(svc.CodeHostNotFound, "there is no host %s", hostID)
	}
	return err
}

// suspect records that two worker instances report for one host.
func (e *Engine) suspect(ctx context.Context, hostID, instance string) error {
	_, err := e.changeHost(ctx, hostID, func(tx *store.Tx, h *svc.Host) (bool, error) {
		if h.InstanceSuspect {
			return false, nil
		}
		h.InstanceSuspect, h.SuspectInstanceID = true, &instance
		p := h.EventPayload()
		p["instance_id"], p["suspect_instance_id"] = h.InstanceID, h.SuspectInstanceID
		tx.Emit(svc.TopicWorkerSuspect, p)
		return true, nil
	})
	return err
}

// livenessLoop declares hosts offline, gives up the runs of offline hosts, and writes heartbeats to the database.
func (e *Engine) livenessLoop(ctx context.Context) error {
	tick := time.NewTicker(max(min(e.OfflineAfter/20, time.Second), 20*time.Millisecond))
	defer tick.Stop()
	flushed := e.watch.look()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			return e.hosts.flush(last, e.Store)
		}
		if err := e.checkHosts(ctx); err != nil && ctx.Err() == nil {
			e.Log.Error("hosts cannot be checked; trying again", "error", err)
		}
		if err := e.journalLinks(ctx); err != nil && ctx.Err() == nil {
			e.Log.Error("connections cannot be journaled; trying again", "error", err)
		}
		if now := e.watch.look(); now.Sub(flushed) >= seenFlush {
			flushed = now
			if err := e.hosts.flush(ctx, e.Store); err != nil && ctx.Err() == nil {
				e.Log.Error("heartbeats cannot be written; trying again", "error", err)
			}
		}
	}
}

// checkHosts looks for silent hosts. It first probes the database with an empty write. While the database blocks
// heartbeats, a host is not silent; and an orchestrator that cannot write decides nothing.
func (e *Engine) checkHosts(ctx context.Context) (err error) {
	began := e.watch.look()
	defer func() { e.watch.probed(began, err) }()
	err = e.Store.Write(ctx, func(*store.Tx) error { return nil })
	e.watch.probed(began, err)
	if err != nil {
		return err
	}
	now, since, ok := e.watch.watched()
	if !ok {
		return nil
	}
	for ids := range slices.Chunk(e.hosts.silent(now, since, e.OfflineAfter, svc.HostOnline), hostsUnit) {
		if err := e.hostsOffline(ctx, ids); err != nil {
			return err
		}
	}
	return e.giveUp(ctx)
}

// hostsUnit and giveUpUnit limit the size of a unit of work: other writers wait for it, and each run is read with its
// prompt.
const (
	hostsUnit  = 100
	giveUpUnit = 25
)

// hostsOffline declares those hosts offline that are still silent when the unit of work runs. If a row is not online,
// the entry in memory is corrected from it.
func (e *Engine) hostsOffline(ctx context.Context, ids []string) error {
	var rows []svc.Host
	err := e.Store.Write(ctx, func(tx *store.Tx) error {
		now, since, ok := e.watch.watched()
		if !ok {
			return nil
		}
		silent := e.hosts.silent(now, since, e.OfflineAfter, svc.HostOnline)
		for _, id := range ids {
			if !slices.Contains(silent, id) {
				continue
			}
			h, err := tx.LockHost(ctx, id)
			if svc.CodeOf(err) == svc.CodeNotFound {
				continue
			}
			if err != nil {
				return err
			}
			if h.Status != svc.HostOnline {
				rows = append(rows, h)
				continue
			}
			e.hosts.overlay(&h)
			h.Status, h.OfflineSince = svc.HostOffline, &tx.Now
			tx.Emit(svc.TopicWorkerOffline, h.EventPayload())
			if err := tx.UpdateHost(ctx, &h); err != nil {
				return err
			}
			rows = append(rows, h)
		}
		return nil
	}, store.HostRows(ids...)...)
	if err != nil {
		e.hosts.unsure(ids...)
		return err
	}
	for _, h := range rows {
		e.hosts.written(h, e.watch.look(), time.Time{})
	}
	e.claims.up()
	return nil
}

// giveUp handles the runs of silent hosts: a dispatch that was never confirmed may get a new attempt, and runs end
// when lost_after is set and has passed.
func (e *Engine) giveUp(ctx context.Context) error {
	now, since, ok := e.watch.watched()
	if !ok {
		return nil
	}
	silent := e.hosts.silent(now, since, e.OfflineAfter, svc.HostOffline, svc.HostDisabled)
	var lost []string
	for _, id := range silent {
		if e.LostAfter > 0 && e.hosts.goneFor(id, now, since, e.OfflineAfter) >= e.LostAfter {
			lost = append(lost, id)
		}
	}
	if err := e.giveUpRuns(ctx, silent, e.Store.UnconfirmedRestarts, func(tx *store.Tx, r *svc.Run) (bool, error) {
		if r.Status != svc.RunSpawning || r.Acked || !r.MayRequeue() {
			return false, nil
		}
		e.requeue(tx, r, "the host went away without confirming the run")
		return true, tx.UpdateRun(ctx, r)
	}); err != nil {
		return err
	}
	return e.giveUpRuns(ctx, lost, e.Store.ActiveRunsOf, func(tx *store.Tx, r *svc.Run) (bool, error) {
		verdict, ok := r.Fail(svc.OnHostLost, svc.ReasonHostLost, tx.Now)
		if !ok {
			return false, nil
		}
		e.emitOutput(tx, r)
		return true, e.journalEnd(ctx, tx, r, verdict, map[string]any{"failure_reason": svc.ReasonHostLost})
	})
}

// giveUpRuns applies a decision to the runs that find returns, in units of limited size, until none are left.
func (e *Engine) giveUpRuns(ctx context.Context, hostIDs []string, find func(ctx context.Context, hostIDs []string, limit int) ([]string, error),
	decide func(tx *store.Tx, r *svc.Run) (bool, error)) error {
	for hosts := range slices.Chunk(hostIDs, hostsUnit) {
		for {
			ids, err := find(ctx, hosts, giveUpUnit)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				break
			}
			for _, id := range ids {
				e.prepareEnd(ctx, id)
			}
			var over []svc.Run
			err = e.Store.Write(ctx, func(tx *store.Tx) error {
				now, since, ok := e.watch.watched()
				if !ok {
					return nil
				}
				still := e.hosts.silent(now, since, e.OfflineAfter, svc.HostOffline, svc.HostDisabled)
				for _, id := range ids {
					r, err := tx.LockRun(ctx, id)
					if err != nil {
						return err
					}
					if r.HostID == nil || !slices.Contains(hosts, *r.HostID) || !slices.Contains(still, *r.HostID) {
						continue // the run is on another host, or its host is back
					}
					changed, err := decide(tx, &r)
					if err != nil {
						return err
					}
					if changed {
						over = append(over, r)
					}
				}
				return nil
			}, store.RunRows(ids...)...)
			if err != nil {
				return err
			}
			for _, r := range over {
				e.attemptOver(ctx, r, "the host was away too long")
			}
			if len(over) < len(ids) {
				break // others changed some of them meanwhile; the next pass tries again
			}
		}
	}
	return nil
}

// reasonSuperseded is the reason sent with the order to end a session whose run is at a later attempt.
const reasonSuperseded = "superseded"

// reported stores what a worker reports about its providers.
func (e *Engine) reported(ctx context.Context, hostID string, f *wire.Providers) error {
	providers := f.Providers
	if providers == nil {
		providers = map[string]svc.ProviderReport{}
	}
	_, err := e.changeHost(ctx, hostID, func(tx *store.Tx, h *svc.Host) (bool, error) {
		now := tx.Now
		h.ProvidersAt = &now
		if f.CatalogHash != "" && f.CatalogHash != h.CatalogHash {
			if h.CatalogHash != "" { // otherwise this is the first known hash
				p := h.EventPayload()
				p["catalog_hash"], p["previous_hash"] = f.CatalogHash, h.CatalogHash
				tx.Emit(svc.TopicWorkerCatalog, p)
			}
			h.CatalogHash = f.CatalogHash
		}
		if maps.Equal(h.Providers, providers) {
			return true, nil
		}
		h.Providers = providers
		p := h.EventPayload()
		p["providers"] = providers
		tx.Emit(svc.TopicWorkerProviders, p)
		return true, nil
	})
	return err
}

// orphan journals a session for which the worker has no run.
func (e *Engine) orphan(ctx context.Context, hostID string, f *wire.Orphan) error {
	if f.Action != "stopped" && f.Action != "none" {
		return &wire.FrameError{Code: wire.CodeMalformed, Message: "orphan: action must be stopped or none"}
	}
	return e.Store.Write(ctx, func(tx *store.Tx) error {
		p := map[string]any{"host_id": hostID, "session_name": f.SessionName, "action": f.Action}
		if f.RunID != "" {
			p["run_id"], p["attempt"] = f.RunID, f.Attempt
			if r, err := tx.Run(ctx, f.RunID); err == nil {
				if err := mayReport(hostID, &r, f.Attempt); err != nil {
					return err
				}
				p["task_id"], p["project_id"] = r.TaskID, r.ProjectID
			} else if svc.CodeOf(err) != svc.CodeNotFound {
				return err
			}
		}
		tx.Emit(svc.TopicRunOrphan, p)
		return nil
	})
}
