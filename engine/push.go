package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"svc"
	"svc/hub"
	"svc/place"
	"svc/store"
	"svc/wire"
)

// sweepPoll is how often the database is searched for dispatches that nobody
// pushed, whatever became of the wake-up.
const sweepPoll = time.Second

// push sends a claimed run down its host's own connection, for which the push
// was reserved. When that cannot be done now, the sweep does it: the attempt is
// that host's for good. Many runs are pushed with one map, so that each project's
// slug is read once.
func (e *Engine) push(ctx context.Context, r svc.Run, p *pushed, slugs map[string]string) {
	if err := e.tryPush(ctx, r, p, slugs); err != nil {
		e.pushes.drop(p)
		if ctx.Err() == nil {
			e.Log.Error("a run cannot be pushed; trying again", "run_id", r.ID, "error", err)
		}
	}
}

func (e *Engine) tryPush(ctx context.Context, r svc.Run, p *pushed, slugs map[string]string) error {
	link, ok := e.Hub.Uplinks.Of(*r.HostID)
	if !ok || !link.Ready() || !e.pushes.room(link.HostID) {
		e.pushes.drop(p)
		return nil
	}
	if _, known := slugs[r.ProjectID]; !known {
		project, err := e.Store.Project(ctx, r.ProjectID)
		if err != nil {
			return err
		}
		slugs[r.ProjectID] = project.Slug
	}
	dispatch := wire.RunDispatch{RunID: r.ID, TaskID: r.TaskID, Provider: r.Provider, SessionName: r.SessionName, Attempt: r.Attempt,
		Cwd: r.Cwd, Prompt: r.Prompt, Args: r.Args, Model: r.Model, Env: r.Env, SignalToken: e.runToken(&r), ProjectSlug: slugs[r.ProjectID]}
	var err error
	if dispatch.Workspace, err = e.dispatchedWorkspace(ctx, &r); err != nil {
		return err
	}
	switch {
	case link.Has(wire.CapConversation):
		dispatch.Conversation = dispatchedConversation(&r)
	case r.Resumes: // the worker that could was replaced by an older one, which would begin another conversation
		e.pushes.drop(p)
		e.unsendable(ctx, r, "the run cannot be sent to its host: the worker there is too old to go on with a conversation")
		return nil
	}
	if field, size, err := oversize(dispatch, wire.MaxFrame); err == nil && field != "" {
		e.pushes.drop(p)
		e.unsendable(ctx, r, fmt.Sprintf("the run cannot be sent to a host: it takes %d bytes, of which most are %s; at most %d are allowed", size, field, wire.MaxFrame))
		return nil
	}
	frame, err := wire.Encode(dispatch)
	if err != nil {
		return err
	}
	e.pushes.send(p, r.Attempt, link, len(frame), func(written func()) {
		e.Hub.Uplinks.Given(link, r.ID)
		_ = link.SendEncoded(frame, written)
	})
	return nil
}

// sweepLoop pushes what the database says must be pushed.
func (e *Engine) sweepLoop(ctx context.Context) error {
	poll := time.NewTicker(sweepPoll)
	defer poll.Stop()
	for {
		select {
		case <-e.pushes.wake.c:
		case <-poll.C:
		case <-ctx.Done():
			return nil
		}
		if err := e.sweep(ctx); err != nil && ctx.Err() == nil {
			e.Log.Error("claimed runs cannot be looked up; trying again", "error", err)
		}
	}
}

// sweep finds every dispatch that its host has not confirmed and pushes those
// that are not on their way: the claim's answer was lost, the host was away, we
// were, the link had no room, or the answer did not come in time. They are all
// one case, and always go to the host that has the attempt.
func (e *Engine) sweep(ctx context.Context) error {
	began := time.Now()
	e.pushes.keepLinks(func(l *hub.Uplink) bool {
		own, ok := e.Hub.Uplinks.Of(l.HostID)
		return ok && own == l
	})
	for _, hostID := range e.pushes.uninformed() {
		if err := e.inform(ctx, hostID); err != nil {
			return err
		}
	}
	hosts, err := e.Store.UnconfirmedHosts(ctx)
	if err != nil {
		return err
	}
	open := map[string]bool{}
	slugs := map[string]string{} // of projects
	for hostID := range hosts {
		link, ok := e.Hub.Uplinks.Of(hostID)
		if !ok || !link.Ready() {
			continue
		}
		runs, err := e.Store.UnconfirmedRuns(ctx, hostID, place.MostUnconfirmed)
		if err != nil {
			return err
		}
		for _, i := range runs {
			open[i.RunID] = true
			if err := e.pushUnconfirmed(ctx, link, i, slugs); err != nil {
				return err
			}
		}
	}
	e.pushes.forget(began.Add(-e.AckTimeout), open)
	return nil
}

// pushUnconfirmed pushes an attempt that its host has not confirmed, unless
// that is under way. The run is read after the push was reserved: an answer
// that comes from then on is seen by the push, one from before by the read.
func (e *Engine) pushUnconfirmed(ctx context.Context, link *hub.Uplink, i store.Incarnation, slugs map[string]string) error {
	if !e.pushes.room(link.HostID) {
		return nil
	}
	p := e.pushes.reserve(i.RunID, i.Attempt, link, time.Now().Add(-e.AckTimeout))
	if p == nil {
		return nil
	}
	r, err := e.Store.Run(ctx, i.RunID)
	if err != nil {
		e.pushes.drop(p)
		return err
	}
	if r.Status != svc.RunSpawning || r.Acked || r.Attempt != i.Attempt || value(r.HostID) != link.HostID {
		e.pushes.drop(p)
		return nil
	}
	e.runs.put(r)
	e.push(ctx, r, p, slugs)
	return nil
}

// hostReady begins to tell a host that just connected what it may have missed:
// runs it was given and never confirmed, and sessions that must end.
func (e *Engine) hostReady(hostID string) {
	e.pushes.inform(hostID)
	e.Hub.Attach.HostBack(hostID)
	e.claims.up()
}

// inform tells a host which sessions must end. It is tried again until it was
// done.
func (e *Engine) inform(ctx context.Context, hostID string) error {
	link, ok := e.Hub.Uplinks.Of(hostID)
	if ok && link.Ready() {
		runs, err := e.Store.EndingRuns(ctx, hostID)
		if err != nil {
			return err
		}
		for _, r := range runs {
			e.order(link, r.RunID, r.Attempt, "run is "+string(r.Status))
		}
	}
	e.pushes.informed(hostID)
	return nil
}

// order tells a worker to end a session, if it can be told.
func (e *Engine) order(link *hub.Uplink, runID string, attempt int, reason string) {
	if link.Has(wire.CapStop) {
		_ = link.Send(wire.RunStop{RunID: runID, Attempt: attempt, Reason: reason})
	}
}

// endSession orders the end of a run's session at the host that has it.
func (e *Engine) endSession(hostID, runID string, attempt int, reason string) {
	if link, ok := e.Hub.Uplinks.Of(hostID); ok {
		e.order(link, runID, attempt, reason)
	}
}

// acked takes a worker's answer to a dispatch. What it gives waits until the
// answer is durable.
func (e *Engine) acked(ctx context.Context, link *hub.Uplink, f *wire.RunDispatchAck) (wait func() error) {
	if !f.Accepted {
		err := e.refused(ctx, link, f)
		return func() error { return err }
	}
	var given bool
	var over *svc.Run
	done := e.Store.QueueRepeatable(ctx, func(tx *store.Tx) (err error) {
		over = nil
		if given, err = tx.MarkAcked(ctx, f.RunID, f.Attempt, link.HostID); err != nil || given {
			return err
		}
		r, err := tx.Run(ctx, f.RunID)
		if svc.CodeOf(err) == svc.CodeNotFound {
			return nil
		}
		if err == nil && r.Attempt == f.Attempt && mayReport(link.HostID, &r, f.Attempt) == nil && !r.Status.Active() && r.SessionOpen() {
			over = &r
		}
		return err
	}, store.RunRow(f.RunID))
	return func() error {
		err := done()
		if err == nil && given { // anyone else's answer leaves the push unanswered
			took := e.pushes.answered(f.RunID, f.Attempt)
			if o := e.observer.Load(); o != nil && took > 0 {
				o.Acknowledged(took)
			}
			if e.pushes.crowded.Swap(false) {
				e.claims.up()
			}
		}
		if err == nil && over != nil {
			e.order(link, over.ID, over.Attempt, "run is "+string(over.Status))
		}
		return err
	}
}

// refused takes a nack: nothing was started, so another host may have the same
// attempt. A nack of a host that does not have it changes nothing.
func (e *Engine) refused(ctx context.Context, link *hub.Uplink, f *wire.RunDispatchAck) error {
	push, counts := e.pushes.refuse(f.RunID, f.Attempt, link)
	if !counts {
		return nil
	}
	var r svc.Run
	taken, hostID := false, link.HostID
	err := e.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if r, err = tx.LockRun(ctx, f.RunID); err != nil {
			return err
		}
		t, ok := svc.Next(r.Status, svc.OnNack)
		has := mayReport(hostID, &r, f.Attempt) == nil
		if !ok || !has || r.Attempt != f.Attempt || r.Acked {
			return nil
		}
		r.Status, r.HostID, r.DispatchedAt = t.To, nil, nil
		if !slices.Contains(r.Refused, hostID) {
			r.Refused = append(r.Refused, hostID)
		}
		reason := f.Reason
		if reason == "" {
			reason = "the host refused the run"
		}
		payload := r.EventPayload()
		payload["reason"], payload["refused_by"] = reason, hostID
		tx.Emit(t.Topic, payload)
		taken = true
		return tx.UpdateRun(ctx, &r)
	}, store.RunRow(f.RunID))
	e.pushes.refused(push, err == nil && taken)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return nil
	}
	if err == nil && taken {
		e.runs.put(r)
		e.claims.up()
	}
	return err
}
