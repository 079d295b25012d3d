package engine

import (
	"context"

	"svc"
	"svc/store"
)

// DeleteHost deletes a host. It refuses a host with active runs.
func (e *Engine) DeleteHost(ctx context.Context, idOrName string, match Match) error {
	var id string
	err := e.Store.Write(ctx, func(tx *store.Tx) error {
		h, err := tx.LockHost(ctx, idOrName)
		if err != nil {
			return err
		}
		if err := checkMatch(match, h.Version); err != nil {
			return err
		}
		if h.ActiveRuns > 0 {
			return svc.Errorf(svc.CodeActiveRuns, "%d runs of this host are active: stop them first; if the host never comes back, delete it with "+
				"force=true (svc host delete --force), which ends them as %s", h.ActiveRuns, svc.ReasonHostLost).With("active_runs", h.ActiveRuns)
		}
		id = h.ID
		tx.Emit(svc.TopicHostDeleted, h.EventPayload())
		return tx.DeleteHost(ctx, h.ID)
	}, store.HostRow(idOrName))
	if err == nil {
		e.hosts.forget(id)
		e.Hub.Uplinks.Forget(id)
	}
	return err
}

// ForceDeleteHost deletes a host that will not come back. First it ends the host's runs: active runs fail as
// host_lost, after which the restart policy applies; the open sessions of other runs count as ended. It uses several
// units of work. If it is interrupted, the host stays disabled, and the caller must repeat the request.
func (e *Engine) ForceDeleteHost(ctx context.Context, idOrName string, match Match) error {
	h, err := e.changeHost(ctx, idOrName, func(tx *store.Tx, h *svc.Host) (bool, error) { // from here on the host gets no runs
		if err := checkMatch(match, h.Version); err != nil || h.Status == svc.HostDisabled {
			return false, err
		}
		h.Status, h.OfflineSince = svc.HostDisabled, nil
		tx.Emit(svc.TopicHostUpdated, h.EventPayload())
		return true, nil
	})
	if err != nil {
		return err
	}
	for {
		ids, err := e.Store.OpenRunIDs(ctx, []string{h.ID}, giveUpUnit)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return e.DeleteHost(ctx, h.ID, nil)
		}
		if err := e.loseRuns(ctx, h.ID, ids); err != nil {
			return err
		}
	}
}

// loseRuns ends some runs of a host that is being deleted, in one unit of work. If its worker is connected, it is
// ordered to end the sessions.
func (e *Engine) loseRuns(ctx context.Context, hostID string, ids []string) error {
	for _, id := range ids {
		e.prepareEnd(ctx, id)
	}
	var over []svc.Run
	var attempts []int
	err := e.Store.Write(ctx, func(tx *store.Tx) error {
		for _, id := range ids {
			r, err := tx.LockRun(ctx, id)
			if err != nil {
				return err
			}
			if value(r.HostID) != hostID || !r.SessionOpen() {
				continue // it ended meanwhile
			}
			attempts = append(attempts, r.Attempt)
			if err := e.loseRun(ctx, tx, &r, hostID); err != nil {
				return err
			}
			over = append(over, r)
		}
		return nil
	}, store.RunRows(ids...)...)
	if err != nil {
		return err
	}
	for i, r := range over {
		e.endSession(hostID, r.ID, attempts[i], "the host was deleted")
		e.attemptOver(ctx, r, "")
	}
	return nil
}

// loseRun ends one run whose session can no longer be observed.
func (e *Engine) loseRun(ctx context.Context, tx *store.Tx, r *svc.Run, hostID string) error {
	verdict, active := r.Fail(svc.OnHostLost, svc.ReasonHostLost, tx.Now)
	r.SessionEndedAt = &tx.Now
	if !active {
		payload := r.EventPayload()
		payload["reason"] = svc.ReasonHostLost
		tx.Emit(svc.TopicRunSessionEnded, payload)
		return tx.UpdateRun(ctx, r)
	}
	e.emitOutput(tx, r)
	if value(r.PinnedHostID) == hostID { // no other host may take it
		payload := r.EventPayload()
		payload["failure_reason"] = svc.ReasonHostLost
		tx.Emit(verdict.Topic, payload)
		return tx.UpdateRun(ctx, r)
	}
	return e.journalEnd(ctx, tx, r, verdict, map[string]any{"failure_reason": svc.ReasonHostLost})
}
