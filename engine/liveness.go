package engine

import (
	"context"
	"errors"
	"maps"
	"time"

	"svc"
	"svc/hub"
	"svc/store"
	"svc/wire"
)

// seenFlush is how often heartbeats are written at the latest.
const seenFlush = 5 * time.Second

// beat takes a heartbeat. Most change nothing but a time in memory.
func (e *Engine) beat(ctx context.Context, hostID, instance string) error {
	if e.hosts.quiet(hostID, instance, e.now()) {
		return nil
	}
	_, err := e.changeHost(ctx, hostID, func(tx *store.Tx, h *svc.Host) (bool, error) {
		for _, t := range h.Beat(instance, tx.Now, e.OfflineAfter) {
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

// suspect notes that two processes speak for one host.
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

// livenessLoop declares hosts offline, gives up what they took with them, and
// writes the heartbeats down.
func (e *Engine) livenessLoop(ctx context.Context) error {
	tick := time.NewTicker(max(min(e.OfflineAfter/20, time.Second), 20*time.Millisecond))
	defer tick.Stop()
	flushed := e.Now()
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
		e.repush(ctx)
		if now := e.Now(); now.Sub(flushed) >= seenFlush {
			flushed = now
			if err := e.hosts.flush(ctx, e.Store); err != nil && ctx.Err() == nil {
				e.Log.Error("heartbeats cannot be written; trying again", "error", err)
			}
		}
	}
}

// checkHosts looks for silence. Silence from before this process was ready is
// our own: a restart never declares a healthy fleet dead.
func (e *Engine) checkHosts(ctx context.Context) error {
	since := e.now().Add(-e.OfflineAfter)
	if since < e.readyAt {
		return nil
	}
	var errs []error // of one host, which keeps nobody from looking at the others
	for _, id := range e.hosts.silent(since, svc.HostOnline) {
		errs = append(errs, e.hostOffline(ctx, id))
	}
	silent := e.hosts.silent(since, svc.HostOffline, svc.HostDisabled)
	if len(silent) == 0 {
		return errors.Join(errs...)
	}
	busy, err := e.Store.BusyHosts(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, id := range silent {
		if busy[id] {
			errs = append(errs, e.giveUp(ctx, id))
		}
	}
	return errors.Join(errs...)
}

func (e *Engine) hostOffline(ctx context.Context, hostID string) error {
	_, err := e.changeHost(ctx, hostID, func(tx *store.Tx, h *svc.Host) (bool, error) {
		if h.Status != svc.HostOnline || svc.Fresh(h.LastSeenAt, tx.Now, e.OfflineAfter) {
			return false, nil
		}
		now := tx.Now
		h.Status, h.OfflineSince = svc.HostOffline, &now
		tx.Emit(svc.TopicWorkerOffline, h.EventPayload())
		return true, nil
	})
	return err
}

// giveUp looks at what a silent host has: a dispatch that it never confirmed
// may be given a new attempt, and with lost_after set its runs end.
func (e *Engine) giveUp(ctx context.Context, hostID string) error {
	runs, err := e.Store.OpenRuns(ctx, hostID)
	if err != nil || len(runs) == 0 {
		return err
	}
	h, err := e.Host(ctx, hostID)
	if err != nil {
		return err
	}
	lost := e.LostAfter > 0 && e.now().Sub(e.awaySince(h)) >= e.LostAfter
	for _, r := range runs {
		unknown := r.Status == svc.RunSpawning && !r.Acked && r.RestartPolicy != svc.RestartNever && r.Attempt <= r.MaxRestarts
		if !unknown && !(lost && r.Status.Active()) {
			continue
		}
		if err := e.giveUpRun(ctx, r.ID, r.Attempt, lost); err != nil {
			return err
		}
	}
	return nil
}

// awaySince is when a silent host went away.
func (e *Engine) awaySince(h svc.Host) svc.Time {
	if h.OfflineSince != nil {
		return *h.OfflineSince
	}
	return max(value(h.LastSeenAt).Add(e.OfflineAfter), e.readyAt)
}

func (e *Engine) giveUpRun(ctx context.Context, id string, attempt int, lost bool) error {
	var r svc.Run
	changed := false
	e.prepareEnd(ctx, id)
	err := e.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if r, err = tx.LockRun(ctx, id); err != nil || r.Attempt != attempt {
			return err
		}
		if r.Status == svc.RunSpawning && !r.Acked && !lost {
			e.requeue(tx, &r, "the host went away without confirming the run")
			changed = true
			return tx.UpdateRun(ctx, &r)
		}
		verdict, ok := r.Fail(svc.OnHostLost, svc.ReasonHostLost, tx.Now)
		if !ok || !lost {
			return nil
		}
		changed = true
		e.emitOutput(tx, &r)
		return e.journalEnd(ctx, tx, &r, verdict, map[string]any{"failure_reason": svc.ReasonHostLost})
	})
	if err == nil && changed {
		e.attemptOver(ctx, r, "the host was away too long")
	}
	return err
}

// inventory compares the sessions that a worker holds with what it should
// hold: those of attempts that are over are told to end.
func (e *Engine) inventory(ctx context.Context, link *hub.Uplink, held []wire.LiveRun) {
	for _, s := range held {
		r, err := e.live(ctx, s.RunID)
		switch {
		case svc.CodeOf(err) == svc.CodeNotFound:
			// not ours to judge: the worker reports what no record knows
		case err != nil:
			e.Log.Error("a session cannot be looked up", "run_id", s.RunID, "error", err)
		case s.Attempt < r.Attempt:
			e.order(link, s.RunID, s.Attempt, reasonSuperseded)
		case s.Attempt == r.Attempt && !r.Status.Active() && r.SessionEndedAt == nil:
			e.order(link, s.RunID, s.Attempt, "run is "+string(r.Status))
		}
	}
}

// reasonSuperseded tells a worker that it holds a dead incarnation.
const reasonSuperseded = "superseded"

// reported keeps what a worker found of its providers.
func (e *Engine) reported(ctx context.Context, hostID string, providers map[string]svc.ProviderReport) error {
	if providers == nil {
		providers = map[string]svc.ProviderReport{}
	}
	_, err := e.changeHost(ctx, hostID, func(tx *store.Tx, h *svc.Host) (bool, error) {
		now := tx.Now
		h.ProvidersAt = &now
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

// orphan journals a session that should not have been there.
func (e *Engine) orphan(ctx context.Context, hostID string, f *wire.Orphan) error {
	if f.Action != "stopped" && f.Action != "none" {
		return &wire.FrameError{Code: wire.CodeMalformed, Message: "orphan: action must be stopped or none"}
	}
	return e.Store.Write(ctx, func(tx *store.Tx) error {
		p := map[string]any{"host_id": hostID, "session_name": f.SessionName, "action": f.Action}
		if f.RunID != "" {
			p["run_id"], p["attempt"] = f.RunID, f.Attempt
			if r, err := tx.Run(ctx, f.RunID); err == nil {
				p["task_id"], p["project_id"] = r.TaskID, r.ProjectID
			} else if svc.CodeOf(err) != svc.CodeNotFound {
				return err
			}
		}
		tx.Emit(svc.TopicRunOrphan, p)
		return nil
	})
}
