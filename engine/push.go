package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"svc"
	"svc/hub"
	"svc/store"
	"svc/wire"
)

// pushBook knows which dispatches were pushed and what became of them, until
// the run itself tells.
type pushBook struct {
	mu      sync.Mutex // guards waiting
	waiting map[string]pushed
}

type pushed struct {
	run       svc.Run
	link      *hub.Uplink
	at        time.Time
	confirmed bool
	refused   bool
}

func newPushBook() *pushBook { return &pushBook{waiting: map[string]pushed{}} }

// push sends an attempt and notes it. It does nothing when that attempt went
// down that connection already, as a claim and the host's first heartbeat may
// both find it, unless it is to go again; nor when the host has refused it
// since it was read. send says whether it was sent; it must not wait.
func (b *pushBook) push(r svc.Run, link *hub.Uplink, at time.Time, again bool, send func() bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, has := b.waiting[r.ID]
	if has && p.run.Attempt == r.Attempt && p.link.HostID == link.HostID && (p.refused || p.link == link && !again) {
		return
	}
	if send() {
		b.waiting[r.ID] = pushed{run: r, link: link, at: at}
	}
}

// refuse takes a refusal before it is written down: from here on the host is
// not sent that attempt. It is false for the answer to an older push, when the
// attempt went down another connection of the host since: the answer to that
// one counts.
func (b *pushBook) refuse(runID string, attempt int, link *hub.Uplink) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, has := b.waiting[runID]
	if !has || p.run.Attempt != attempt || p.link.HostID != link.HostID {
		return true // of before this process began, or not the host's to refuse
	}
	if p.link != link {
		return false
	}
	p.refused = true
	b.waiting[runID] = p
	return true
}

// restore undoes a refusal that could not be written down.
func (b *pushBook) restore(runID string, attempt int, link *hub.Uplink) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, has := b.waiting[runID]; has && p.run.Attempt == attempt && p.link == link {
		p.refused = false
		b.waiting[runID] = p
	}
}

// confirmed notes that the host has the attempt: it is not pushed again.
func (b *pushBook) confirmed(runID string, attempt int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, has := b.waiting[runID]; has && p.run.Attempt == attempt {
		p.confirmed = true
		b.waiting[runID] = p
	}
}

// answered forgets a push of that attempt or an older one.
func (b *pushBook) answered(runID string, attempt int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, has := b.waiting[runID]; has && p.run.Attempt <= attempt {
		delete(b.waiting, runID)
	}
}

// overdue is what was pushed before a time and not answered. It is asked for
// again only when as much time has passed from now on.
func (b *pushBook) overdue(before, now time.Time) []svc.Run {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []svc.Run
	for id, p := range b.waiting {
		if !p.confirmed && !p.refused && p.at.Before(before) {
			out = append(out, p.run)
			p.at = now
			b.waiting[id] = p
		}
	}
	return out
}

// push sends a claimed run down its host's own connection. When there is none,
// it is sent when the host is back: the attempt is that host's for good. Many
// runs are pushed with one map, so that each project is read once. again says
// that the host did not answer the first time.
func (e *Engine) push(ctx context.Context, r svc.Run, again bool, projects map[string]svc.Project) {
	link, ok := e.Hub.Uplinks.Of(*r.HostID)
	if !ok || !link.Ready() {
		return
	}
	project, read := projects[r.ProjectID]
	if !read {
		var err error
		if project, err = e.Store.Project(ctx, r.ProjectID); err != nil {
			if ctx.Err() == nil {
				e.Log.Error("a run cannot be pushed; trying again", "run_id", r.ID, "error", err)
			}
			e.pushes.push(r, link, e.Now(), again, func() bool { return true }) // it will be overdue
			return
		}
		projects[r.ProjectID] = project
	}
	cwd := r.Cwd
	if cwd == "" {
		cwd = project.Cwd
	}
	dispatch := wire.RunDispatch{RunID: r.ID, TaskID: r.TaskID, Provider: r.Provider, SessionName: r.SessionName, Attempt: r.Attempt,
		Cwd: cwd, Prompt: r.Prompt, Args: r.Args, Model: r.Model, Env: r.Env, SignalToken: e.signalToken(r.ID), ProjectSlug: project.Slug}
	if field, size, err := oversize(dispatch, wire.MaxFrame); err == nil && field != "" {
		e.unsendable(ctx, r, field, size)
		return
	}
	e.pushes.push(r, link, e.Now(), again, func() bool {
		if e.wentOn(r) {
			return false
		}
		e.Hub.Uplinks.Given(link, r.ID)
		_ = link.Send(dispatch)
		return true
	})
}

// wentOn says whether a claimed run is known to be elsewhere since it was read.
func (e *Engine) wentOn(r svc.Run) bool {
	now, known := e.runs.get(r.ID)
	return known && now.Version > r.Version && (now.Attempt != r.Attempt || now.Status != r.Status || value(now.HostID) != value(r.HostID))
}

// repush sends again what was not answered in time, on the connection that the
// host has now.
func (e *Engine) repush(ctx context.Context) {
	projects := map[string]svc.Project{}
	now := e.Now()
	for _, old := range e.pushes.overdue(now.Add(-e.AckTimeout), now) {
		switch r, err := e.Store.Run(ctx, old.ID); {
		case err != nil:
			continue
		case r.Status == svc.RunSpawning && !r.Acked && r.Attempt == old.Attempt:
			e.push(ctx, r, true, projects)
		default:
			e.pushes.answered(old.ID, old.Attempt)
		}
	}
}

// hostReady tells a host that just connected everything it may have missed:
// runs it was given and never confirmed, and sessions that must end.
func (e *Engine) hostReady(ctx context.Context, hostID string) {
	link, ok := e.Hub.Uplinks.Of(hostID)
	if !ok || !link.Ready() {
		return
	}
	runs, err := e.Store.OpenRuns(ctx, hostID)
	if err != nil && ctx.Err() == nil {
		e.Log.Error("a host cannot be told what it missed", "host_id", hostID, "error", err)
	}
	projects := map[string]svc.Project{}
	for _, r := range runs {
		switch {
		case r.Status == svc.RunSpawning && !r.Acked:
			e.push(ctx, r, false, projects)
		case !r.Status.Active():
			e.order(link, r.ID, r.Attempt, "run is "+string(r.Status))
		}
	}
	e.Hub.Attach.HostBack(hostID)
	e.claims.up()
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
		if err == nil && r.Attempt == f.Attempt && value(r.HostID) == link.HostID && !r.Status.Active() && r.SessionOpen() {
			over = &r
		}
		return err
	})
	return func() error {
		err := done()
		if err == nil && given { // anyone else's answer leaves the push unanswered
			e.pushes.confirmed(f.RunID, f.Attempt)
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
	if !e.pushes.refuse(f.RunID, f.Attempt, link) {
		return nil
	}
	var r svc.Run
	taken, hostID := false, link.HostID
	err := e.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if r, err = tx.LockRun(ctx, f.RunID); err != nil {
			return err
		}
		t, ok := svc.Next(r.Status, svc.OnNack)
		if !ok || r.Attempt != f.Attempt || value(r.HostID) != hostID || r.Acked {
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
	})
	if err != nil || !taken {
		e.pushes.restore(f.RunID, f.Attempt, link)
	}
	if svc.CodeOf(err) == svc.CodeNotFound {
		return nil
	}
	if err == nil && taken {
		e.runs.put(r)
		e.claims.up()
	}
	return err
}
