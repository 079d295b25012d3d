package engine

import (
	"context"

	"svc"
	"svc/store"
	"svc/wire"
)

// An end that is reported with the run's own token is only a claim, because agents have that token. The end is
// recorded, but the session counts as alive, can be stopped and uses a slot of its host until the host confirms the
// end: by a report of its own, or by an inventory without the session.

// judgeClaims orders the end of sessions that are still alive after their end was claimed. The recorded end stays,
// and the session counts as alive again. A session that is also in the next inventory is journaled as an orphan.
func (c *uplinkConn) judgeClaims(ctx context.Context, held []wire.LiveRun) {
	outlived := map[attemptKey]int{}
	for _, s := range held {
		r, err := c.e.live(ctx, s.RunID)
		if err != nil || !r.EndClaimed || s.Attempt != r.Attempt || mayReport(c.link.HostID, &r, s.Attempt) != nil {
			continue
		}
		k := attemptKey{s.RunID, s.Attempt}
		outlived[k] = c.absent.outlived[k] + 1
		if err := c.e.sessionLives(ctx, k, outlived[k] == 2); err != nil && ctx.Err() == nil {
			c.e.Log.Error("a session that is alive after its reported end cannot be recorded; trying again with the next inventory", "run_id", k.runID, "error", err)
			delete(outlived, k)
		}
		if r.SessionEndedAt != nil { // otherwise judgeSession has ordered it already
			c.e.order(c.link, k.runID, k.attempt, "run is "+string(r.Status))
		}
	}
	c.absent.outlived = outlived
}

// sessionLives records that the session of an attempt whose end was claimed is alive.
func (e *Engine) sessionLives(ctx context.Context, k attemptKey, orphan bool) error {
	var r svc.Run
	err := e.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if r, err = tx.LockRun(ctx, k.runID); err != nil || !r.EndClaimed || r.Attempt != k.attempt {
			return err
		}
		if orphan {
			p := r.EventPayload()
			p["session_name"], p["action"] = r.SessionName, "stopped"
			tx.Emit(svc.TopicRunOrphan, p)
		}
		if r.SessionEndedAt == nil {
			return nil
		}
		r.SessionEndedAt = nil
		return tx.UpdateRun(ctx, &r)
	})
	if err == nil {
		e.runs.put(r)
	}
	return err
}

// confirms reports whether a signal is the host's own confirmation of the end of a session that still counts as
// alive: its end was only claimed, or the run was stopped before its host failed to start it. The signal does not
// change the run's status. But without the confirmation the session would be ordered to end for ever, and would use a
// slot of its host.
func (in *ingestion) confirms(r *svc.Run, outcome svc.Outcome) bool {
	s := in.signal
	failed := s.Kind == svc.SignalFailed && s.Source == svc.FromWrapper
	if !failed && s.Kind != svc.SignalFinished || s.Claim || s.Attempt != r.Attempt || r.Status.Active() {
		return false
	}
	return r.EndClaimed || r.SessionEndedAt == nil && (failed || outcome == svc.Duplicate)
}

// confirm records the confirmation. The result of the attempt stays as it was reported.
func (in *ingestion) confirm(ctx context.Context, r svc.Run) error {
	r.EndClaimed = false
	if r.SessionEndedAt == nil {
		r.SessionEndedAt = &in.tx.Now
		p := r.EventPayload()
		p["reason"] = "its host confirmed the end"
		in.tx.Emit(svc.TopicRunSessionEnded, p)
	}
	in.noteLength(&r)
	in.before, in.moved = r, true
	err := in.tx.UpdateRun(ctx, &r)
	in.after = r
	return err
}
