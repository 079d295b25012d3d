package engine

import (
	"context"
	"slices"
	"time"

	"svc"
	"svc/store"
)

const (
	claimPoll = time.Second // wake-ups may be lost; timers need no other clock
	// claimUnit is the claims of one unit of work, and claimUnits how many are
	// queued before the waiting runs are read anew. Other writers stand behind a
	// unit, so it is small; each notes the hosts it gave runs to once, so it is
	// not too small.
	claimUnit  = 100
	claimUnits = 10
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

// claimPass is one pass over the pending runs. It is several units of work that
// are queued at once; rest and next belong to the unit that is being run.
type claimPass struct {
	ready map[string]bool // hosts whose uplink may be given runs
	rest  []store.Waiting // runs that no unit has come to
	next  time.Duration   // until something is due

	hosts  []svc.Host // as the unit with that serial left them
	serial int64
}

// placement is one unit of work of a pass.
type placement struct {
	e       *Engine
	pass    *claimPass
	tx      *store.Tx
	given   map[string]bool // hosts that were given a run in this unit
	claimed []svc.Run
	failed  []svc.Run
}

// claimPass places what it can. It says whether to go on at once, and after
// how long something is due.
func (e *Engine) claimPass(ctx context.Context) (again bool, next time.Duration, err error) {
	pass := &claimPass{ready: e.Hub.Uplinks.Ready(), next: time.Minute}
	if pass.rest, err = e.Store.WaitingRuns(ctx); err != nil {
		return false, claimPoll, err
	}
	units := make([]*placement, min(claimUnits, (len(pass.rest)+claimUnit-1)/claimUnit))
	waits := make([]func() error, len(units))
	for i := range units {
		units[i] = &placement{e: e, pass: pass, given: map[string]bool{}}
		waits[i] = e.Store.Queue(ctx, func(tx *store.Tx) error { return units[i].run(ctx, tx) })
	}
	placed := 0
	for i, p := range units {
		if unitErr := waits[i](); unitErr != nil {
			err = unitErr
			continue
		}
		placed += len(p.claimed) + len(p.failed)
		p.follow(ctx)
	}
	if err != nil {
		return false, claimPoll, err
	}
	return placed > 0 && len(pass.rest) > 0, pass.next, nil
}

// run places runs until it has changed enough for one unit.
func (p *placement) run(ctx context.Context, tx *store.Tx) (err error) {
	if len(p.pass.rest) == 0 {
		return nil
	}
	p.tx = tx
	if p.pass.hosts == nil || p.pass.serial+1 != tx.Serial {
		if p.pass.hosts, err = tx.AllHosts(ctx); err != nil {
			return err
		}
	}
	p.pass.serial = tx.Serial
	defer func() {
		if err != nil {
			p.pass.hosts = nil // what it did is undone
		}
	}()
	for len(p.pass.rest) > 0 && len(p.claimed)+len(p.failed) < claimUnit {
		if err := p.place(ctx, p.pass.rest[0]); err != nil {
			return err
		}
		p.pass.rest = p.pass.rest[1:]
	}
	for id := range p.given {
		if err := tx.DispatchedTo(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// follow does what follows from a unit once it is durable.
func (p *placement) follow(ctx context.Context) {
	projects := map[string]svc.Project{}
	for _, r := range p.claimed {
		p.e.runs.put(r)
		p.e.push(ctx, r, false, projects)
	}
	for _, r := range p.failed {
		p.e.attemptOver(ctx, r, "")
	}
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
	p.pass.next = max(min(p.pass.next, d), 5*time.Millisecond)
}

// fitting is every host that the run may go to, busy or not.
func (p *placement) fitting(w store.Waiting) []*svc.Host {
	var out []*svc.Host
	for i := range p.pass.hosts {
		h := &p.pass.hosts[i]
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
		if full || !p.pass.ready[h.ID] || slices.Contains(w.Refused, h.ID) || someoneHas && !has(h) {
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
