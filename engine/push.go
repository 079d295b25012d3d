package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"svc"
	"svc/hub"
	"svc/store"
	"svc/wire"
)

// sweepPoll is how often the database is searched for dispatches that must be pushed, even without a wake-up.
const sweepPoll = time.Second

// push sends a claimed run on its host's own connection. The caller has reserved the push. If it cannot be sent now,
// the sweep sends it: the attempt stays with that host. slugs caches the slugs of projects, so that each is read once
// for many runs.
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
	case r.Resumes: // the worker that supported it was replaced by an older one, which would begin a new conversation
		e.pushes.drop(p)
		e.unsendable(ctx, r, "the run cannot be sent to its host: the worker there is too old to resume a conversation")
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

// sweepLoop pushes the dispatches that the database lists as unconfirmed.
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
		began := time.Now()
		if err := e.sweep(ctx); err != nil && ctx.Err() == nil {
			e.Log.Error("claimed runs cannot be looked up; trying again", "error", err)
		}
		select {
		case <-time.After(restAfter(time.Since(began))):
		case <-ctx.Done():
		}
	}
}

// sweep finds every dispatch that its host has not confirmed and pushes those that are not in progress. All reasons
// are handled alike: the result of the claim was lost, the host or this process was away, the connection had no room,
// or the acknowledgement is overdue. A dispatch always goes to the host that has the attempt.
func (e *Engine) sweep(ctx context.Context) error {
	began := time.Now()
	e.pushes.keepLinks(func(l *hub.Uplink) bool {
		own, ok := e.Hub.Uplinks.Of(l.HostID)
		return ok && own == l
	})
	if err := e.inform(ctx, e.pushes.takeUninformed()); err != nil {
		return err
	}
	hosts, err := e.Store.UnconfirmedHosts(ctx)
	if err != nil {
		return err
	}
	var ids []string
	links := map[string]*hub.Uplink{}
	for id := range hosts {
		if link, ok := e.Hub.Uplinks.Of(id); ok && link.Ready() {
			ids, links[id] = append(ids, id), link
		}
	}
	open := map[string]bool{}
	slugs := map[string]string{} // of projects
	runs, err := e.Store.UnconfirmedRuns(ctx, ids)
	if err != nil {
		return err
	}
	for id, unconfirmed := range runs {
		for _, i := range unconfirmed {
			open[i.RunID] = true
			if err := e.pushUnconfirmed(ctx, links[id], i, slugs); err != nil {
				return err
			}
		}
	}
	e.pushes.forget(began.Add(-e.AckTimeout), open)
	return nil
}

// pushUnconfirmed pushes an attempt that its host has not confirmed, unless a push is in progress. It reserves the
// push before it reads the run. So it cannot miss an acknowledgement: the read sees an earlier one, the reservation a
// later one.
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

// hostReady schedules everything that a newly connected host may have missed: dispatches that it never confirmed, and
// orders to end sessions.
func (e *Engine) hostReady(hostID string) {
	e.pushes.inform(hostID)
	e.Hub.Attach.HostBack(hostID)
	e.claims.up()
}

// inform orders hosts to end the sessions that must end. After an error it is tried again.
func (e *Engine) inform(ctx context.Context, hostIDs []string) error {
	runs, err := e.Store.EndingRuns(ctx, hostIDs)
	if err != nil {
		e.pushes.markUninformed(hostIDs)
		return err
	}
	for id, ending := range runs {
		link, ok := e.Hub.Uplinks.Of(id)
		if !ok || !link.Ready() { // it is informed when it is ready again
			continue
		}
		for _, r := range ending {
			e.order(link, r.RunID, r.Attempt, "run is "+string(r.Status))
		}
	}
	return nil
}

// order orders a worker to end a session, if the worker supports it.
func (e *Engine) order(link *hub.Uplink, runID string, attempt int, reason string) {
	if link.Has(wire.CapStop) {
		_ = link.Send(wire.RunStop{RunID: runID, Attempt: attempt, Reason: reason})
	}
}

// endSession orders the host of a run to end the run's session.
func (e *Engine) endSession(hostID, runID string, attempt int, reason string) {
	if link, ok := e.Hub.Uplinks.Of(hostID); ok {
		e.order(link, runID, attempt, reason)
	}
}

// acked handles a worker's answer to a dispatch. The returned function waits until the result is durable.
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
		if err == nil && given { // an acknowledgement by any other host does not count
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

// refused handles a nack. Nothing was started, so another host may get the same attempt. A nack from a host that does
// not have the attempt changes nothing.
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
