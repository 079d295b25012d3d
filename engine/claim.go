package engine

import (
	"context"
	"slices"
	"time"

	"svc"
	"svc/store"
)

const (
	claimPoll  = time.Second // wake-ups may be lost; timers need no other clock
	claimBatch = 200         // claims of one transaction
)

// claimLoop places pending runs: at once when something changed, and slowly by
// itself.
func (e *Engine) claimLoop(ctx context.Context) error {
	poll := time.NewTicker(claimPoll)
	defer poll.Stop()
	var due *time.Timer
	for {
		again, next, err := e.claimPass(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			e.Log.Error("runs cannot be placed; trying again", "error", err)
		}
		if again {
			continue
		}
		if due != nil {
			due.Stop()
		}
		due = time.NewTimer(next)
		select {
		case <-e.claims.c:
		case <-poll.C:
		case <-due.C:
		case <-ctx.Done():
			due.Stop()
			return nil
		}
	}
}

// placement is one pass over the pending runs, in one transaction.
type placement struct {
	e       *Engine
	tx      *store.Tx
	ready   map[string]bool // hosts whose uplink may be given runs
	hosts   []svc.Host
	given   map[string]bool // hosts that were given a run in this pass
	claimed []svc.Run
	failed  []svc.Run
	next    time.Duration // until something is due
}

// claimPass places what it can. It says whether to go on at once, and after
// how long something is due.
func (e *Engine) claimPass(ctx context.Context) (again bool, next time.Duration, err error) {
	p := placement{e: e, ready: e.Hub.Uplinks.Ready(), next: time.Minute}
	waiting, err := e.Store.WaitingRuns(ctx)
	if err != nil || len(waiting) == 0 {
		return false, p.next, err
	}
	err = e.Store.Write(ctx, func(tx *store.Tx) error {
		p.tx, p.claimed, p.failed, p.given = tx, nil, nil, map[string]bool{}
		if p.hosts, err = tx.AllHosts(ctx); err != nil {
			return err
		}
		for _, w := range waiting {
			if err := p.place(ctx, w); err != nil {
				return err
			}
			if again = len(p.claimed)+len(p.failed) >= claimBatch; again {
				break
			}
		}
		for id := range p.given {
			if err := tx.DispatchedTo(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, claimPoll, err
	}
	projects := map[string]svc.Project{}
	for _, r := range p.claimed {
		e.runs.put(r)
		e.push(ctx, r, projects)
	}
	for _, r := range p.failed {
		e.attemptOver(ctx, r, "")
	}
	return again, p.next, nil
}

// place decides about one pending run: give it to a host, let it wait, or end
// its waiting.
func (p *placement) place(ctx context.Context, w store.Waiting) error {
	fitting := p.fitting(w)
	newly := len(fitting) > 0 && !w.Matched
	w.Matched = w.Matched || newly
	since := w.PendingSince
	if w.NextDispatchAt != nil && *w.NextDispatchAt > since {
		since = *w.NextDispatchAt // the wait that we imposed is not held against it
	}
	if since <= p.tx.Now {
		if host := p.choose(w, fitting); host != nil {
			return p.claim(ctx, w, host)
		}
	}
	if newly { // a claim notes it in the same write
		if err := p.tx.MarkMatched(ctx, w.ID); err != nil {
			return err
		}
	}
	if since > p.tx.Now {
		p.within(since.Sub(p.tx.Now))
		return nil
	}
	deadline := since.Add(p.e.DispatchTimeout)
	if deadline > p.tx.Now {
		p.within(deadline.Sub(p.tx.Now))
		return nil
	}
	return p.timeOut(ctx, w)
}

func (p *placement) within(d time.Duration) {
	p.next = max(min(p.next, d), 5*time.Millisecond)
}

// fitting is every host that the run may go to, busy or not.
func (p *placement) fitting(w store.Waiting) []*svc.Host {
	var out []*svc.Host
	for i := range p.hosts {
		h := &p.hosts[i]
		if h.Dispatchable() && (w.PinnedHostID == nil || *w.PinnedHostID == h.ID) {
			out = append(out, h)
		}
	}
	return out
}

// choose takes, among the hosts that can take a run now, those that report the
// provider first, then the least busy, then the longest idle. When no fitting
// host has the provider, one is taken anyway: the run then fails at once and
// says what is missing, instead of waiting for the timeout.
func (p *placement) choose(w store.Waiting, fitting []*svc.Host) *svc.Host {
	has := func(h *svc.Host) bool { return h.Providers[w.Provider].Available }
	someoneHas := slices.ContainsFunc(fitting, has)
	var best *svc.Host
	for _, h := range fitting {
		full := h.MaxRuns != nil && h.ActiveRuns >= *h.MaxRuns
		if full || !p.ready[h.ID] || slices.Contains(w.Refused, h.ID) || someoneHas && !has(h) {
			continue
		}
		if best == nil || lessBusy(h, best) {
			best = h
		}
	}
	return best
}

func lessBusy(a, b *svc.Host) bool {
	if a.ActiveRuns != b.ActiveRuns {
		return a.ActiveRuns < b.ActiveRuns
	}
	return value(a.LastDispatchAt) < value(b.LastDispatchAt)
}

// claim gives the run to the host: from here on nobody else may have this
// attempt.
func (p *placement) claim(ctx context.Context, w store.Waiting, h *svc.Host) error {
	r, err := p.tx.LockRun(ctx, w.ID)
	if err != nil {
		return err
	}
	t, ok := svc.Next(r.Status, svc.OnClaim)
	if !ok { // it was stopped since it was read
		return nil
	}
	now, id := p.tx.Now, h.ID
	r.Status, r.HostID, r.DispatchedAt, r.Acked, r.NextDispatchAt, r.Matched = t.To, &id, &now, false, nil, true
	if err := p.tx.UpdateRun(ctx, &r); err != nil {
		return err
	}
	p.given[id] = true
	h.ActiveRuns++
	h.LastDispatchAt = &now
	payload := r.EventPayload()
	payload["host_name"] = h.Name
	p.tx.Emit(t.Topic, payload)
	p.claimed = append(p.claimed, r)
	return nil
}

// timeOut ends a wait that was too long, and says whether any host ever fitted.
func (p *placement) timeOut(ctx context.Context, w store.Waiting) error {
	r, err := p.tx.LockRun(ctx, w.ID)
	if err != nil {
		return err
	}
	why := svc.ReasonNoEligibleHost
	if w.Matched {
		why = svc.ReasonDispatchTimeout
	}
	verdict, ok := r.Fail(svc.OnDispatchTimeout, why, p.tx.Now)
	if !ok {
		return nil
	}
	r.SessionEndedAt = r.EndedAt // nothing was ever started
	if err := p.e.journalEnd(ctx, p.tx, &r, verdict, map[string]any{"failure_reason": why}); err != nil {
		return err
	}
	p.failed = append(p.failed, r)
	return nil
}

// journalEnd writes the end of an attempt and, when the policy asks for it,
// the beginning of the next.
func (e *Engine) journalEnd(ctx context.Context, tx *store.Tx, r *svc.Run, v svc.Verdict, more map[string]any) error {
	payload := r.EventPayload()
	for k, x := range more {
		payload[k] = x
	}
	tx.Emit(v.Topic, payload)
	if r.MayRestart() {
		e.requeue(tx, r, "restart policy "+string(r.RestartPolicy))
	}
	return tx.UpdateRun(ctx, r)
}

// requeue begins the next attempt.
func (e *Engine) requeue(tx *store.Tx, r *svc.Run, reason string) {
	next := tx.Now.Add(svc.RestartDelay(r.Attempt, jitter()))
	r.Requeue(tx.Now, next)
	payload := r.EventPayload()
	payload["reason"], payload["next_dispatch_at"] = reason, next
	tx.Emit(svc.TopicRunRequeued, payload)
}
