package engine

import (
	"context"
	"time"

	"svc"
	"svc/place"
	"svc/store"
)

const (
	claimPoll = time.Second // wake-ups may be lost, and timers need no other clock
	// claimUnit is the claims of one unit of work, and claimUnits how many are
	// queued before the waiting runs are read anew. Other writers stand behind a
	// unit, so it is small; each notes the hosts it gave runs to once, so it is
	// not too small.
	claimUnit  = 100
	claimUnits = 10
	// claimKeeps bounds what a pass keeps of each run that it claims.
	claimKeeps = 16 << 10
)

// claimLoop places pending runs: at once when something changed, and slowly by
// itself.
func (e *Engine) claimLoop(ctx context.Context) error {
	poll := time.NewTicker(claimPoll)
	defer poll.Stop()
	backOff := time.NewTimer(0)
	defer backOff.Stop()
	for {
		again, next, err := e.claimPass(ctx)
		if err != nil && ctx.Err() == nil {
			e.Log.Error("runs cannot be placed; trying again", "error", err)
		}
		if again && err == nil && ctx.Err() == nil {
			continue
		}
		backOff.Reset(next)
		select {
		case <-e.claims.c:
		case <-poll.C:
		case <-backOff.C:
		case <-ctx.Done():
			return e.served.keep(context.WithoutCancel(ctx), e.Store)
		}
	}
}

// claimPass places what can be placed, then ends what waited too long. What to
// do is decided on what readers see, without the writer; each unit of work
// checks again what it rests on. It says whether to go on at once, and after
// how long the next back-off ends.
func (e *Engine) claimPass(ctx context.Context) (again bool, next time.Duration, err error) {
	next = claimPoll
	now := e.now()
	e.served.extend(now)
	queues, err := e.Store.RunQueues(ctx)
	if err != nil || len(queues) == 0 {
		return false, next, err
	}
	if err := e.served.keepSometimes(ctx, e.Store); err != nil {
		return false, next, err
	}
	placed, most, err := e.placeRuns(ctx, queues, now)
	if err != nil {
		return false, next, err
	}
	ended, err := e.endOverdue(ctx, queues, now)
	if err != nil {
		return false, next, err
	}
	at, any, err := e.Store.NextDispatch(ctx, now)
	if any {
		next = min(next, max(at.Sub(e.now()), time.Millisecond))
	}
	return placed == most || ended == claimUnit, next, err
}

// placeRuns gives waiting runs to hosts. It says how many it placed, and how
// many it would have placed at most.
func (e *Engine) placeRuns(ctx context.Context, waiting []store.RunQueue, now svc.Time) (placed, most int, err error) {
	most = claimUnit * claimUnits
	fleet, err := e.fleet(ctx, e.Store.Reader)
	if err != nil {
		return 0, most, err
	}
	queues := make([]place.Queue, 0, len(waiting))
	for _, q := range waiting {
		demand := place.Demand{Provider: q.Provider, PinnedHostID: q.PinnedHostID, Refused: q.Refused}
		room := min(fleet.Room(demand), most)
		if room == 0 {
			continue
		}
		runs, err := e.Store.QueuedRuns(ctx, q, now, room)
		if err != nil {
			return 0, most, err
		}
		queue := place.Queue{Demand: demand, Runs: make([]place.Waiting, len(runs))}
		for i, r := range runs {
			queue.Runs[i] = place.Waiting{ID: r.ID, PendingSince: r.PendingSince}
		}
		queues = append(queues, queue)
	}
	claims := fleet.Place(queues, most, now)
	if fleet.Crowded() {
		e.pushes.crowded.Store(true) // the next confirmation wakes us
	}
	var units []*claimUnitOfWork
	for begin := 0; begin < len(claims); begin += claimUnit {
		u := &claimUnitOfWork{e: e, claims: claims[begin:min(begin+claimUnit, len(claims))]}
		u.reserve()
		u.wait = e.Store.Queue(ctx, func(tx *store.Tx) error { return u.run(ctx, tx) })
		units = append(units, u)
	}
	for _, u := range units {
		if unitErr := u.wait(); unitErr != nil {
			// It may be durable all the same: then the sweep finds what it claimed.
			u.release()
			err = unitErr
			continue
		}
		placed += len(u.claimed)
		u.follow(ctx)
	}
	return placed, most, err
}

// fleet is every host as placement sees it now.
func (e *Engine) fleet(ctx context.Context, r store.Reader) (*place.Fleet, error) {
	hosts, err := r.AllHosts(ctx)
	if err != nil {
		return nil, err
	}
	unconfirmed, err := r.UnconfirmedHosts(ctx)
	if err != nil {
		return nil, err
	}
	connected := e.Hub.Uplinks.Ready()
	fleet := &place.Fleet{Hosts: make([]place.Host, len(hosts))}
	for i, h := range hosts {
		e.hosts.overlay(&h)
		fleet.Hosts[i] = place.Host{Host: h, Connected: connected[h.ID], Unconfirmed: unconfirmed[h.ID]}
	}
	return fleet, nil
}

// claimUnitOfWork is claims that are committed together.
type claimUnitOfWork struct {
	e      *Engine
	claims []place.Claim
	pushes map[string]*pushed // reserved, by run id
	wait   func() error

	claimed []svc.Run
	large   bool // some have prompts that are not kept here: the sweep reads them when there is room
}

// reserve keeps the sweep away from runs until their claim is durable and they
// are pushed.
func (u *claimUnitOfWork) reserve() {
	u.pushes = make(map[string]*pushed, len(u.claims))
	for _, c := range u.claims {
		u.pushes[c.RunID] = u.e.pushes.reserveClaim(c.RunID, c.HostID)
	}
}

func (u *claimUnitOfWork) release() {
	for _, p := range u.pushes {
		u.e.pushes.drop(p)
	}
}

// run commits the claims whose facts still hold.
func (u *claimUnitOfWork) run(ctx context.Context, tx *store.Tx) error {
	hosts := map[string]*store.Capacity{}
	for _, c := range u.claims {
		h := hosts[c.HostID]
		if h == nil {
			capacity, err := tx.Capacity(ctx, c.HostID)
			if err != nil {
				return err
			}
			h = &capacity
			hosts[c.HostID] = h
		}
		if !h.Fits || h.Limited && h.Free <= 0 {
			continue
		}
		if err := u.claim(ctx, tx, c, h); err != nil {
			return err
		}
	}
	given := map[string]bool{}
	for _, r := range u.claimed {
		if id := *r.HostID; !given[id] {
			given[id] = true
			if err := tx.DispatchedTo(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// claim gives a run to a host: from here on nobody else may have this attempt.
func (u *claimUnitOfWork) claim(ctx context.Context, tx *store.Tx, c place.Claim, h *store.Capacity) error {
	r, err := tx.LockRun(ctx, c.RunID)
	if err != nil {
		return err
	}
	t, ok := svc.Next(r.Status, svc.OnClaim)
	if !ok || r.NextDispatchAt != nil && *r.NextDispatchAt > tx.Now { // it was stopped or requeued since it was read
		return nil
	}
	now := tx.Now
	r.Status, r.HostID, r.DispatchedAt, r.Acked, r.NextDispatchAt = t.To, &c.HostID, &now, false, nil
	if err := tx.UpdateRun(ctx, &r); err != nil {
		return err
	}
	h.Free--
	payload := r.EventPayload()
	payload["host_name"] = h.Name
	tx.Emit(t.Topic, payload)
	if weight(&r) > claimKeeps {
		r.Prompt, r.Args, r.Env = "", nil, nil
		u.large = true
		u.e.pushes.drop(u.pushes[r.ID])
		delete(u.pushes, r.ID)
	}
	u.claimed = append(u.claimed, r)
	return nil
}

// follow pushes what was claimed, once it is durable.
func (u *claimUnitOfWork) follow(ctx context.Context) {
	projects := map[string]svc.Project{}
	for _, r := range u.claimed {
		u.e.runs.put(r)
		if p := u.pushes[r.ID]; p != nil {
			u.e.push(ctx, r, p, projects)
			delete(u.pushes, r.ID)
		}
	}
	u.release() // what was not claimed after all
	if u.large {
		u.e.pushes.wake.up()
	}
}

// weight is about how many bytes a run's dispatch has.
func weight(r *svc.Run) int {
	n := len(r.Prompt)
	for _, a := range r.Args {
		n += len(a)
	}
	for k, v := range r.Env {
		n += len(k) + len(v)
	}
	return n
}

// endOverdue ends waits that were too long when the pass began. It comes after
// the placement, so that nothing is ended that a host could take.
func (e *Engine) endOverdue(ctx context.Context, queues []store.RunQueue, began svc.Time) (ended int, err error) {
	before, any := e.served.since(began, e.DispatchTimeout)
	if !any {
		return 0, nil
	}
	var overdue []string
	for _, q := range queues {
		if q.Oldest > before || len(overdue) >= claimUnit {
			continue
		}
		ids, err := e.Store.OverdueRuns(ctx, q, before, claimUnit-len(overdue))
		if err != nil {
			return 0, err
		}
		overdue = append(overdue, ids...)
	}
	if len(overdue) == 0 {
		return 0, nil
	}
	var failed []svc.Run
	err = e.Store.Write(ctx, func(tx *store.Tx) error {
		if tx.Now.Sub(began).Abs() > servedPause {
			return nil // the clock was set, or nobody placed runs meanwhile: the next pass knows
		}
		for _, id := range overdue {
			r, err := tx.LockRun(ctx, id)
			if err != nil {
				return err
			}
			if r.Status != svc.RunPending || waitsFrom(&r) > before {
				continue // it was placed, stopped or requeued since it was read
			}
			if err := e.timeOut(ctx, tx, &r); err != nil {
				return err
			}
			failed = append(failed, r)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, r := range failed {
		e.attemptOver(ctx, r, "")
	}
	return len(overdue), nil
}

// waitsFrom is since when a run waits for a host: the wait that we imposed is
// not held against it.
func waitsFrom(r *svc.Run) svc.Time { return max(r.PendingSince, value(r.NextDispatchAt)) }

// timeOut ends a wait that was too long, and says whether any host ever fitted.
func (e *Engine) timeOut(ctx context.Context, tx *store.Tx, r *svc.Run) error {
	why := svc.ReasonNoEligibleHost
	fitted, err := tx.AnyFitted(ctx, r.PinnedHostID, r.PendingSince)
	if err != nil {
		return err
	}
	if fitted {
		why = svc.ReasonDispatchTimeout
	}
	verdict, ok := r.Fail(svc.OnDispatchTimeout, why, tx.Now)
	if !ok {
		return nil
	}
	r.SessionEndedAt = r.EndedAt // nothing was ever started
	return e.journalEnd(ctx, tx, r, verdict, map[string]any{"failure_reason": why})
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
