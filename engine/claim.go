package engine

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
	"svc/place"
	"svc/store"
)

const (
	claimPoll = time.Second // a wake-up may be lost, and timers may depend on another clock
	// claimUnit is the number of claims in one unit of work. claimUnits is how many units are queued before the
	// waiting runs are read again. Other writers wait for a unit, so it is small. Each unit writes each of its hosts
	// once, so it is not too small.
	claimUnit  = 100
	claimUnits = 10
	// claimKeeps is the maximum size in bytes of a run's dispatch that a pass keeps in memory after the claim.
	claimKeeps = 16 << 10
)

// claimLoop places pending runs: at once when something has changed, otherwise at each poll.
func (e *Engine) claimLoop(ctx context.Context) error {
	poll := time.NewTicker(claimPoll)
	defer poll.Stop()
	backOff := time.NewTimer(0)
	defer backOff.Stop()
	for {
		again, next, err := e.claimPass(ctx, e.admitted.Swap(false))
		if err != nil && ctx.Err() == nil {
			e.served.interrupt()
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
		}
		if rest := e.placed.rest(); rest > 0 {
			select {
			case <-time.After(rest):
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return e.served.keep(context.WithoutCancel(ctx), e.Store)
		}
	}
}

// claimPass places as many runs as possible, then ends the runs that waited too long. It decides on a snapshot,
// without the writer; each unit of work checks its facts again. again means that another pass should follow at once;
// next is the time until the next back-off ends. admitted means that a run was just admitted, so the pass will most
// likely place one.
func (e *Engine) claimPass(ctx context.Context, admitted bool) (again bool, next time.Duration, err error) {
	next = claimPoll
	now := e.now()
	e.served.extend(now)
	waiting, fleet, err := e.readQueuesAndFleet(ctx, admitted)
	if err != nil || len(waiting.queues) == 0 {
		return false, next, err
	}
	kept, err := e.served.keepSometimes(ctx, e.Store)
	if err == nil && kept {
		err = e.rewind(ctx, waiting, now)
	}
	if err != nil {
		return false, next, err
	}
	placed, most, err := e.placeRuns(ctx, waiting, fleet, now)
	if err != nil {
		return false, next, err
	}
	ended, err := e.endOverdue(ctx, waiting, now)
	if err != nil {
		return false, next, err
	}
	return placed == most || ended == claimUnit, e.untilNext(ctx, waiting, now), nil
}

// untilNext returns how long the claimer may sleep: until the next back-off or not_before ends, at most claimPoll.
func (e *Engine) untilNext(ctx context.Context, waiting waitingRuns, now svc.Time) time.Duration {
	at, any, err := e.Store.NextDispatch(ctx, waiting.queues, now)
	if err != nil || !any {
		return claimPoll // the next pass reports what is wrong with the database
	}
	return min(claimPoll, max(at.Sub(e.now()), time.Millisecond))
}

// waitingRuns are the queues of a pass, and their projects by id.
type waitingRuns struct {
	queues   []store.RunQueue
	projects map[string]place.Project
}

// readQueuesAndFleet reads the queues and the hosts. Just after an admission it reads both at the same time.
// Otherwise it reads the hosts only if a run is waiting.
func (e *Engine) readQueuesAndFleet(ctx context.Context, admitted bool) (waiting waitingRuns, fleet *place.Fleet, err error) {
	readFleet := func() (err error) {
		fleet, err = e.fleetOfPass(ctx, &e.placed)
		return err
	}
	var g errgroup.Group
	if admitted {
		g.Go(readFleet)
	}
	waiting, err = e.readQueues(ctx)
	if !admitted && err == nil && len(waiting.queues) > 0 {
		err = readFleet()
	}
	return waiting, fleet, errors.Join(err, g.Wait())
}

// readQueues reads the queues of pending runs. It records which projects are full: that time does not count towards
// the dispatch timeout of their runs.
func (e *Engine) readQueues(ctx context.Context) (w waitingRuns, err error) {
	queues, projects, err := e.Store.RunQueues(ctx)
	if err != nil {
		return w, err
	}
	w = waitingRuns{queues: queues, projects: seenByPlacement(projects)}
	e.full.note(w.projects, e.now())
	return w, nil
}

// seenByPlacement converts projects to the form that placement uses.
func seenByPlacement(found map[string]store.QueueProject) map[string]place.Project {
	out := make(map[string]place.Project, len(found))
	for id, p := range found {
		seen := place.Project{Turn: p.Turn, Isolated: p.Isolated}
		if p.MaxRuns != nil {
			seen.Limited, seen.Free = true, *p.MaxRuns-p.ActiveRuns
		}
		out[id] = seen
	}
	return out
}

// placeRuns claims waiting runs for hosts. It returns how many it placed, and the most that it places in one pass.
func (e *Engine) placeRuns(ctx context.Context, waiting waitingRuns, fleet *place.Fleet, now svc.Time) (placed, most int, err error) {
	most = claimUnit * claimUnits
	queues := make([]place.Queue, 0, len(waiting.queues))
	for _, q := range waiting.queues {
		demand := place.Demand{Provider: q.Provider, PinnedHostID: q.PinnedHostID, Refused: q.Refused, Labels: q.Labels, Workspace: waiting.projects[q.ProjectID].Isolated}
		room := min(fleet.Room(demand, waiting.projects[q.ProjectID]), most)
		if room == 0 {
			continue
		}
		runs, err := e.Store.QueuedRuns(ctx, q, now, room)
		if err != nil {
			return 0, most, err
		}
		queue := place.Queue{ProjectID: q.ProjectID, Demand: demand, Runs: make([]place.Waiting, len(runs))}
		for i, r := range runs {
			queue.Runs[i] = place.Waiting(r)
		}
		queues = append(queues, queue)
	}
	claims := fleet.Place(queues, waiting.projects, most, now)
	e.placed.note(fleet)
	if fleet.Crowded() {
		e.pushes.crowded.Store(true) // the next confirmation wakes the claimer
	}
	var units []*claimUnitOfWork
	for begin := 0; begin < len(claims); begin += claimUnit {
		u := &claimUnitOfWork{e: e, claims: claims[begin:min(begin+claimUnit, len(claims))]}
		u.reserve()
		u.wait = e.Store.QueueRepeatable(ctx, func(tx *store.Tx) error { return u.run(ctx, tx) }, u.rows()...)
		units = append(units, u)
	}
	for _, u := range units {
		if unitErr := u.wait(); unitErr != nil {
			// The unit may be durable despite the error. Then the sweep finds the runs that it claimed.
			u.release()
			err = unitErr
			continue
		}
		placed += len(u.claimed)
		u.follow(ctx)
		runtime.Gosched() // lets the frames be written before the next unit is handled
	}
	return placed, most, err
}

// claimUnitOfWork is a batch of claims that are committed together.
type claimUnitOfWork struct {
	e      *Engine
	claims []place.Claim
	pushes map[string]*pushed // reservations, by run id
	wait   func() error

	projects map[string]*store.ProjectRoom // of the runs' projects, by id
	claimed  []svc.Run
	again    []string // claimed runs that had a host before
	moved    bool     // a run changed instead of being claimed: the next pass places it
	large    []string // claimed runs whose prompts are not kept in memory: the sweep reads and pushes them when there is room
}

// reserve prevents the sweep from pushing the runs before their claim is durable and they are pushed here.
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

// rows returns the rows that the claims depend on. The unit locks them.
func (u *claimUnitOfWork) rows() []store.Row {
	rows := make([]store.Row, 0, 2*len(u.claims))
	for _, c := range u.claims {
		rows = append(rows, store.HostRow(c.HostID), store.RunRow(c.RunID))
	}
	return rows
}

// run commits those claims whose facts still hold.
func (u *claimUnitOfWork) run(ctx context.Context, tx *store.Tx) error {
	u.claimed, u.again, u.moved, u.large, u.projects = nil, nil, false, nil, map[string]*store.ProjectRoom{}
	var ids []string
	for _, c := range u.claims {
		if !slices.Contains(ids, c.HostID) {
			ids = append(ids, c.HostID)
		}
	}
	hosts, err := tx.Capacities(ctx, ids)
	if err != nil {
		return err
	}
	for _, c := range u.claims {
		h := hosts[c.HostID]
		if h == nil || !h.Fits || h.Limited && h.Free <= 0 {
			continue
		}
		if err := u.claim(ctx, tx, c, h); err != nil {
			return err
		}
	}
	var given []string
	last := map[string]int{}
	for i, r := range u.claimed {
		last[r.ProjectID] = i
		if !slices.Contains(given, *r.HostID) {
			given = append(given, *r.HostID)
		}
	}
	for i, r := range u.claimed {
		if last[r.ProjectID] == i { // in the order of each project's last claim
			if err := tx.TakeTurn(ctx, r.ProjectID); err != nil {
				return err
			}
		}
	}
	if err := u.moveFollowers(ctx, tx); err != nil {
		return err
	}
	return tx.DispatchedTo(ctx, given)
}

// project returns the room in a run's project as it is now, read once per unit.
func (u *claimUnitOfWork) project(ctx context.Context, tx *store.Tx, id string) (*store.ProjectRoom, error) {
	if p := u.projects[id]; p != nil {
		return p, nil
	}
	p, err := tx.ProjectRoom(ctx, id)
	u.projects[id] = &p
	return &p, err
}

// claim assigns a run to a host. Once committed, no other host can get this attempt.
func (u *claimUnitOfWork) claim(ctx context.Context, tx *store.Tx, c place.Claim, h *store.Capacity) error {
	r, err := tx.LockRun(ctx, c.RunID)
	if err != nil {
		return err
	}
	t, ok := svc.Next(r.Status, svc.OnClaim)
	if !ok { // it was stopped since it was read
		return nil
	}
	project, err := u.project(ctx, tx, r.ProjectID)
	if err != nil {
		return err
	}
	var use store.WorkspaceUse
	if r.WorkspaceID != nil {
		if use, err = tx.WorkspaceUse(ctx, *r.WorkspaceID, r.ID); err != nil {
			return err
		}
	}
	before, err := predecessor(ctx, tx.Reader, r)
	if err != nil {
		return err
	}
	gate := place.Gate{NotBefore: r.NotBefore, BackOff: r.NextDispatchAt, Busy: use.RunID != "", Follows: before.ID != "" && !before.Over(), Project: place.Project{Limited: project.Limited, Free: project.Free}}
	if r.Blocked || len(gate.Holds(tx.Now)) > 0 { // since it was read, it was requeued, patched or blocked, or its workspace came into use
		return nil
	}
	if r.Attempt == 1 && before.ID != "" && r.Follow(before) {
		u.moved = true
		return tx.UpdateRun(ctx, &r) // the next pass places it
	}
	project.Free--
	now, host := tx.Now, c.HostID // not &c.HostID: the run is cached, and would keep the claim and its fleet in memory
	r.Status, r.HostID, r.DispatchedAt, r.Acked, r.NextDispatchAt = t.To, &host, &now, false, nil
	if r.PastHosts != nil {
		u.again = append(u.again, r.ID)
	} else {
		r.PastHosts = []string{} // from here on PastHosts is complete: it records which host had which attempt
	}
	if project.Source.Isolation != svc.IsolationNone || r.WorkspaceID != nil {
		if err := giveWorkspace(ctx, tx, &r, project.Source, c.HostID); err != nil {
			return err
		}
	}
	if !r.Resumes && u.e.mints(c.Host, r.Provider) {
		r.Conversation = svc.MintConversation()
	}
	if err := tx.UpdateRun(ctx, &r); err != nil {
		return err
	}
	h.Free--
	payload := r.EventPayload()
	payload["host_name"] = h.Name
	tx.Emit(t.Topic, payload)
	if weight(&r) > claimKeeps {
		r.Prompt, r.Args, r.Env = "", nil, nil
		u.large = append(u.large, r.ID)
	}
	u.claimed = append(u.claimed, r)
	return nil
}

// follow pushes the claimed runs, once their claims are durable.
func (u *claimUnitOfWork) follow(ctx context.Context) {
	for _, id := range u.large {
		u.e.pushes.drop(u.pushes[id])
		delete(u.pushes, id)
	}
	slugs := make(map[string]string, len(u.projects))
	for id, p := range u.projects {
		slugs[id] = p.Slug
	}
	for _, r := range u.claimed {
		u.e.runs.put(r)
		if p := u.pushes[r.ID]; p != nil {
			u.e.push(ctx, r, p, slugs)
			delete(u.pushes, r.ID)
		}
	}
	u.release() // reservations of runs that were not claimed
	if u.moved {
		u.e.claims.up()
	}
	if len(u.large) > 0 {
		u.e.pushes.wake.up()
	}
}

// weight returns the approximate size in bytes of a run's dispatch.
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

// endOverdue ends the waits that were too long when the pass began. It comes after the placement, so that it ends no
// run that a host could take.
func (e *Engine) endOverdue(ctx context.Context, waiting waitingRuns, began svc.Time) (ended int, err error) {
	before, any := e.served.since(began, e.DispatchTimeout)
	if !any {
		return 0, nil
	}
	var overdue []string
	for id, p := range waiting.projects {
		if len(overdue) >= claimUnit || p.Limited && e.full.until(id, e.readyAt) > before {
			continue
		}
		ids, err := e.Store.OverdueRuns(ctx, id, before, claimUnit-len(overdue))
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
			return nil // the clock was set, or the process was frozen: the next pass has a current view
		}
		for _, id := range overdue {
			r, err := tx.LockRun(ctx, id)
			if err != nil {
				return err
			}
			if r.Status != svc.RunPending || r.Wait || waitsFrom(&r) > before || r.Blocked {
				continue // since it was read, it was placed, stopped, requeued, patched or blocked
			}
			if held, err := heldByRuns(ctx, tx, &r, before); err != nil {
				return err
			} else if held {
				continue
			}
			at, err := tx.PendingAtLeastSince(ctx, &r)
			if err != nil {
				return err
			}
			if at > before { // it was admitted by an orchestrator whose clock was behind
				r.PendingSince = at
				if err := tx.UpdateRun(ctx, &r); err != nil {
					return err
				}
				tx.Emit(svc.TopicRunUpdated, r.EventPayload())
				continue
			}
			if err := e.timeOut(ctx, tx, &r); err != nil {
				return err
			}
			failed = append(failed, r)
		}
		return nil
	}, store.RunRows(overdue...)...)
	if err != nil {
		return 0, err
	}
	for _, r := range failed {
		e.attemptOver(ctx, r, "")
	}
	return len(overdue), nil
}

// heldByRuns reports whether, at any moment after since, another run used the workspace that the run continues in, or
// the run that it continues was not over.
func heldByRuns(ctx context.Context, tx *store.Tx, r *svc.Run, since svc.Time) (bool, error) {
	before, err := predecessor(ctx, tx.Reader, *r)
	if err != nil || before.ID != "" && (!before.Over() || value(before.SessionEndedAt) > since) {
		return true, err
	}
	if r.WorkspaceID == nil {
		return false, nil
	}
	use, err := tx.WorkspaceUse(ctx, *r.WorkspaceID, r.ID)
	return use.RunID != "" || use.Since > since, err
}

// waitsFrom returns since when a run waits only for a host. A wait that svc imposed does not count towards the
// dispatch timeout.
func waitsFrom(r *svc.Run) svc.Time {
	return max(r.PendingSince, value(r.NextDispatchAt), value(r.NotBefore), value(r.UnblockedAt))
}

// timeOut ends a wait that was too long. The failure reason depends on whether any host ever fitted.
func (e *Engine) timeOut(ctx context.Context, tx *store.Tx, r *svc.Run) error {
	why := svc.ReasonNoEligibleHost
	fitted, err := tx.AnyFitted(ctx, r.PinnedHostID, r.HostLabels, r.PendingSince)
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
	r.SessionEndedAt = r.EndedAt // no session was started
	return e.journalEnd(ctx, tx, r, verdict, map[string]any{"failure_reason": why})
}

// journalEnd writes the end of an attempt and, if the restart policy requires it, the beginning of the next.
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
