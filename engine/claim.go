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
	"svc/wire"
)

const (
	claimPoll = time.Second // wake-ups may be lost, and timers need no other clock
	// claimUnit is the claims of one unit of work, and claimUnits how many are
	// queued before the waiting runs are read anew. Other writers wait for a
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
			return e.served.keep(context.WithoutCancel(ctx), e.Store)
		}
	}
}

// claimPass places what can be placed, then ends what waited too long. What to
// do is decided on what readers see, without the writer; each unit of work
// checks again what it rests on. It says whether to go on at once, and after
// how long the next back-off ends. admitted: it will most likely find a run.
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

// untilNext is how long the claimer may sleep: until the next back-off or
// not_before ends, and never long.
func (e *Engine) untilNext(ctx context.Context, waiting waitingRuns, now svc.Time) time.Duration {
	at, any, err := e.Store.NextDispatch(ctx, waiting.queues, now)
	if err != nil || !any {
		return claimPoll // what is wrong with the database is told by the next pass
	}
	return min(claimPoll, max(at.Sub(e.now()), time.Millisecond))
}

// waitingRuns is the queues of a pass, and their projects by id.
type waitingRuns struct {
	queues   []store.RunQueue
	projects map[string]place.Project
}

// readQueuesAndFleet reads both at the same time for a run that was just
// admitted, else the hosts only if a run waits for one.
func (e *Engine) readQueuesAndFleet(ctx context.Context, admitted bool) (waiting waitingRuns, fleet *place.Fleet, err error) {
	readFleet := func() (err error) {
		fleet, err = e.fleet(ctx, e.Store.Reader)
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

// readQueues finds what waits. A project that is full is noted: its runs are not
// held responsible for that time.
func (e *Engine) readQueues(ctx context.Context) (w waitingRuns, err error) {
	queues, projects, err := e.Store.RunQueues(ctx)
	if err != nil {
		return w, err
	}
	w = waitingRuns{queues: queues, projects: seenByPlacement(projects)}
	e.full.note(w.projects, e.now())
	return w, nil
}

// seenByPlacement is projects as placement sees them.
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

// placeRuns gives waiting runs to hosts. It says how many it placed, and how
// many it would have placed at most.
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
	if fleet.Crowded() {
		e.pushes.crowded.Store(true) // the next confirmation wakes us
	}
	var units []*claimUnitOfWork
	for begin := 0; begin < len(claims); begin += claimUnit {
		u := &claimUnitOfWork{e: e, fleet: fleet, claims: claims[begin:min(begin+claimUnit, len(claims))]}
		u.reserve()
		u.wait = e.Store.QueueRepeatable(ctx, func(tx *store.Tx) error { return u.run(ctx, tx) }, u.rows()...)
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
		runtime.Gosched() // the frames are written before we go on reading
	}
	return placed, most, err
}

// fleet is every host as placement sees it now.
func (e *Engine) fleet(ctx context.Context, r store.Reader) (*place.Fleet, error) {
	hosts, err := r.Fleet(ctx)
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
		fleet.Hosts[i] = place.Host{Host: h, Connected: connected[h.ID], Workspaces: e.makesWorkspaces(h.ID), Unconfirmed: unconfirmed[h.ID]}
	}
	return fleet, nil
}

// makesWorkspaces says whether a host can make working copies.
func (e *Engine) makesWorkspaces(hostID string) bool {
	link, ok := e.Hub.Uplinks.Of(hostID)
	return ok && link.Has(wire.CapWorkspace)
}

// claimUnitOfWork is claims that are committed together.
type claimUnitOfWork struct {
	e      *Engine
	fleet  *place.Fleet // that the claims were made on
	claims []place.Claim
	pushes map[string]*pushed // reserved, by run id
	wait   func() error

	projects map[string]*store.ProjectRoom // of the runs' projects, by id
	claimed  []svc.Run
	again    []string // the claimed ones that a host had before
	moved    bool     // a run is to be placed anew
	large    []string // their prompts are not kept here: the sweep reads them when there is room
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

// rows is what the claims rest on: nobody else changes it meanwhile.
func (u *claimUnitOfWork) rows() []store.Row {
	rows := make([]store.Row, 0, 2*len(u.claims))
	for _, c := range u.claims {
		rows = append(rows, store.HostRow(c.HostID), store.RunRow(c.RunID))
	}
	return rows
}

// run commits the claims whose facts still hold.
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
		if last[r.ProjectID] == i { // in the order of their last ones
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

// project is a run's project as it is now.
func (u *claimUnitOfWork) project(ctx context.Context, tx *store.Tx, id string) (*store.ProjectRoom, error) {
	if p := u.projects[id]; p != nil {
		return p, nil
	}
	p, err := tx.ProjectRoom(ctx, id)
	u.projects[id] = &p
	return &p, err
}

// claim gives a run to a host: from here on nobody else may have this attempt.
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
	if r.Blocked || len(gate.Holds(tx.Now)) > 0 { // it was requeued, patched or blocked, or its workspace taken, since
		return nil
	}
	if r.Attempt == 1 && before.ID != "" && r.Follow(before) {
		u.moved = true
		return tx.UpdateRun(ctx, &r) // the next pass places it
	}
	project.Free--
	now := tx.Now
	r.Status, r.HostID, r.DispatchedAt, r.Acked, r.NextDispatchAt = t.To, &c.HostID, &now, false, nil
	if r.PastHosts != nil {
		u.again = append(u.again, r.ID)
	} else {
		r.PastHosts = []string{} // from here on it is known who was given which attempt
	}
	if project.Source.Isolation != svc.IsolationNone || r.WorkspaceID != nil {
		if err := giveWorkspace(ctx, tx, &r, project.Source, c.HostID); err != nil {
			return err
		}
	}
	if !r.Resumes && u.mints(c.HostID, r.Provider) {
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

// follow pushes what was claimed, once it is durable.
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
	u.release() // what was not claimed after all
	if u.moved {
		u.e.claims.up()
	}
	if len(u.large) > 0 {
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
			return nil // the clock was set, or nobody placed runs meanwhile: the next pass knows
		}
		for _, id := range overdue {
			r, err := tx.LockRun(ctx, id)
			if err != nil {
				return err
			}
			if r.Status != svc.RunPending || r.Wait || waitsFrom(&r) > before || r.Blocked {
				continue // it was placed, stopped, requeued, patched or blocked since it was read
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
			if at > before { // it was admitted by a clock that was behind
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

// heldByRuns says whether at any moment since a time another run was in the workspace that a run goes on in, or the one that it
// continues was not over.
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

// waitsFrom is since when a run waits for a host: the wait that we imposed is
// not held against it.
func waitsFrom(r *svc.Run) svc.Time {
	return max(r.PendingSince, value(r.NextDispatchAt), value(r.NotBefore), value(r.UnblockedAt))
}

// timeOut ends a wait that was too long, and says whether any host ever fitted.
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
