package storetest

import (
	"fmt"
	"slices"
	"testing"

	"svc"
	"svc/store"
)

func queuesOfRuns(t *testing.T, w *world) { queueUp(t, w, 60) }

func queuesOfFewRuns(t *testing.T, w *world) { queueUp(t, w, 30) }

// queueUp inserts n pending runs, and expects each in its queue.
func queueUp(t *testing.T, w *world, n int) {
	if got, _, err := w.RunQueues(w.ctx); err != nil || len(got) != 0 {
		t.Errorf("queues without runs: %+v (%v)", got, err)
	}
	h, task := w.host("h"), w.item(w.project("p"), nil)
	type demand struct {
		provider, pinned, refused string
	}
	want := map[demand][]string{}
	var overdue []string
	for i := range n {
		d := demand{provider: []string{"a", "a b", "ä"}[i%3]}
		r := w.run(task, func(r *svc.Run) {
			r.Provider, r.PendingSince = d.provider, svc.Time(100-i/2)
			if i%2 == 0 {
				d.pinned, r.PinnedHostID = h.ID, &h.ID
			}
			if i%5 == 0 {
				d.refused, r.Refused = fmt.Sprint([]string{h.ID}), []string{h.ID}
			}
			if i%7 == 0 {
				r.NextDispatchAt = ptr(svc.Time(500))
			}
			if i%11 == 0 {
				r.Status = svc.RunStopped
			}
		})
		if r.Status != svc.RunPending {
			continue
		}
		if r.NextDispatchAt == nil {
			want[d] = append([]string{fmt.Sprintf("%03d %s", r.PendingSince, r.ID)}, want[d]...)
			if r.PendingSince <= 85 {
				overdue = append(overdue, r.ID)
			}
		}
	}
	queues, _, err := w.RunQueues(w.ctx)
	w.must(err)
	for now, want := range map[svc.Time]svc.Time{0: 500, 499: 500, 500: 0} {
		if at, any, err := w.NextDispatch(w.ctx, queues, now); at != want || any != (want > 0) || err != nil {
			t.Errorf("after %d the next back-off ends at %d (%v)", now, at, err)
		}
	}
	for _, q := range queues {
		d := demand{q.Provider, q.PinnedHostID, ""}
		if q.Refused != nil {
			d.refused = fmt.Sprint(q.Refused)
		}
		all, err := w.QueuedRuns(w.ctx, q, 499, 100)
		got := mapped(all, func(r store.QueuedRun) string { return fmt.Sprintf("%03d %s", r.PendingSince, r.ID) })
		slices.Sort(want[d])
		same(t, err, got, want[d])
		if few, err := w.QueuedRuns(w.ctx, q, 499, 1); err != nil || len(few) != 1 || few[0] != all[0] {
			t.Errorf("the first of a queue is %v (%v)", few, err)
		}
		if later, err := w.QueuedRuns(w.ctx, q, 500, 100); err != nil || len(later) < len(all) {
			t.Errorf("after its back-off a run is not in its queue (%v)", err)
		}
		delete(want, d)
	}
	if len(want) > 0 {
		t.Errorf("queues that were not found: %v", want)
	}
	late, err := w.OverdueRuns(w.ctx, task.ProjectID, 85, 100)
	w.must(err)
	slices.Sort(late)
	slices.Sort(overdue)
	if !slices.Equal(late, overdue) {
		t.Errorf("overdue are %v, want %v", late, overdue)
	}
}

// runsFromAhead tests PendingAfter: it returns runs that were queued by a clock
// that was ahead, if that delays them.
func runsFromAhead(t *testing.T, w *world) {
	task, other := w.item(w.project("p"), nil), w.item(w.project("q"), nil)
	waits := func(r *svc.Run) { r.Wait = true }
	since := func(at svc.Time) func(*svc.Run) { return func(r *svc.Run) { r.PendingSince = at } }
	backOff := func(at svc.Time) func(*svc.Run) { return func(r *svc.Run) { r.NextDispatchAt = &at } }
	w.run(task, since(100), backOff(200))
	w.run(task, since(101), waits)
	w.run(task, since(101), func(r *svc.Run) { r.Status = svc.RunStopped })
	w.run(other, since(101), backOff(200))
	want := []string{w.run(task, since(101)).ID, w.run(task, since(101), waits, backOff(200)).ID, w.run(task, since(101), backOff(200)).ID}
	got, err := w.PendingAfter(w.ctx, task.ProjectID, 100, 10)
	slices.Sort(got)
	slices.Sort(want)
	same(t, err, got, want)
	if few, err := w.PendingAfter(w.ctx, task.ProjectID, 100, 2); err != nil || len(few) != 2 {
		t.Errorf("two of them are %v (%v)", few, err)
	}
}

// turnsOfProjects tests TakeTurn: a project whose run was placed comes after all
// others, and keeps its number if its runs are placed again and again.
func turnsOfProjects(t *testing.T, w *world) {
	a, b := w.project("a"), w.project("b")
	turns := func() (int64, int64) {
		found, err := w.QueueProjects(w.ctx, []string{a.ID, b.ID})
		w.must(err)
		return found[a.ID].Turn, found[b.ID].Turn
	}
	take := func(p svc.Project) { w.write(func(tx *store.Tx) error { return tx.TakeTurn(w.ctx, p.ID) }) }
	take(a)
	if a, b := turns(); a <= b {
		t.Errorf("after a run of the first, the turns are %d and %d", a, b)
	}
	before, _ := turns()
	take(a)
	if after, _ := turns(); after != before {
		t.Errorf("the last in line went from turn %d to %d", before, after)
	}
	take(b)
	if a, b := turns(); b <= a {
		t.Errorf("after a run of the second, the turns are %d and %d", a, b)
	}
	take(a)
	if a, b := turns(); a <= b {
		t.Errorf("after the first's next run, the turns are %d and %d", a, b)
	}
}

func refusedByMany(t *testing.T, w *world) {
	task := w.item(w.project("p"), nil)
	many := make([]string, 200)
	for i := range many {
		many[i] = svc.NewID()
	}
	for range 2 {
		w.run(task, func(r *svc.Run) { r.Refused = many })
	}
	queues, _, err := w.RunQueues(w.ctx)
	w.must(err)
	if len(queues) != 2 {
		t.Fatalf("%d queues, want one for each", len(queues))
	}
	for _, q := range queues {
		same(t, nil, q.Refused, many)
		runs, err := w.QueuedRuns(w.ctx, q, 1<<40, 10)
		if err != nil || len(runs) != 1 {
			t.Errorf("such a queue has %d runs (%v)", len(runs), err)
		}
	}
}

func unconfirmedDispatches(t *testing.T, w *world) {
	a, b, task := w.host("a"), w.host("b"), w.item(w.project("p"), nil)
	given := func(h svc.Host, at svc.Time, change ...func(*svc.Run)) svc.Run {
		return w.run(task, append([]func(*svc.Run){func(r *svc.Run) {
			r.Status, r.HostID, r.DispatchedAt = svc.RunSpawning, &h.ID, &at
		}}, change...)...)
	}
	second, first := given(a, 20), given(a, 10)
	given(a, 5, func(r *svc.Run) { r.Acked = true })
	given(a, 5, func(r *svc.Run) { r.Status = svc.RunRunning })
	ending := given(a, 5, func(r *svc.Run) { r.Status = svc.RunStopped })
	ended := given(a, 5, func(r *svc.Run) { r.Status, r.SessionEndedAt = svc.RunExited, ptr(svc.Time(9)) })
	given(b, 1)
	for id, want := range map[string]bool{first.ID: true, ending.ID: true, ended.ID: false, svc.NewRunID(): false} {
		if open, err := w.RunOpen(w.ctx, id); open != want || err != nil {
			t.Errorf("a run is open: %v (%v), want %v", open, err, want)
		}
	}
	counts, err := w.UnconfirmedHosts(w.ctx)
	same(t, err, counts, map[string]int{a.ID: 2, b.ID: 1})
	got, err := w.UnconfirmedRuns(w.ctx, []string{a.ID, svc.NewID()})
	same(t, err, got, map[string][]store.Incarnation{a.ID: {{RunID: first.ID, Attempt: 1, Status: svc.RunSpawning}, {RunID: second.ID, Attempt: 1, Status: svc.RunSpawning}}})
	orders, err := w.EndingRuns(w.ctx, []string{b.ID, a.ID})
	same(t, err, orders, map[string][]store.Incarnation{a.ID: {{RunID: ending.ID, Attempt: 1, Status: svc.RunStopped}}})
}

func hostsThatFitted(t *testing.T, w *world) {
	h := w.host("h")
	fitted := func(since svc.Time) bool {
		t.Helper()
		any, err := w.AnyFitted(w.ctx, nil, nil, since)
		w.must(err)
		named, err := w.AnyFitted(w.ctx, &h.ID, nil, since)
		w.must(err)
		other, err := w.AnyFitted(w.ctx, ptr(svc.NewID()), nil, since)
		w.must(err)
		if any != named || other {
			t.Errorf("any host fitted: %v, the named one: %v, one that is not there: %v", any, named, other)
		}
		return any
	}
	if fitted(0) {
		t.Error("a host that was never online fitted")
	}
	var at svc.Time
	change := func(f func(*svc.Host)) {
		w.write(func(tx *store.Tx) error {
			f(&h)
			at = tx.Now
			return tx.UpdateHost(w.ctx, &h)
		})
	}
	for what, gone := range map[string]func(*svc.Host){
		"offline":  func(h *svc.Host) { h.Status = svc.HostOffline },
		"disabled": func(h *svc.Host) { h.Status = svc.HostDisabled },
		"suspect":  func(h *svc.Host) { h.InstanceSuspect = true },
	} {
		change(func(h *svc.Host) { h.Status, h.InstanceSuspect = svc.HostOnline, false })
		if !fitted(1 << 50) {
			t.Error("an online host does not fit")
		}
		change(gone)
		if fitted(at) || !fitted(at-1) {
			t.Errorf("%s since %d: fitted after it %v, before it %v", what, at, fitted(at), fitted(at-1))
		}
	}
	change(func(h *svc.Host) { h.Status, h.InstanceSuspect = svc.HostOnline, false })
	w.write(func(tx *store.Tx) error {
		at = tx.Now
		return tx.DeleteHost(w.ctx, h.ID)
	})
	if fitted(at) || !fitted(at-1) {
		t.Error("a deleted host fitted until it was deleted, not longer and not shorter")
	}
}

func capacityOfHosts(t *testing.T, w *world) {
	h, task := w.host("h"), w.item(w.project("p"), nil)
	want := func(want store.Capacity) {
		t.Helper()
		w.write(func(tx *store.Tx) error {
			found, err := tx.Capacities(w.ctx, []string{h.ID})
			var got store.Capacity // zero for a deleted host
			if c := found[h.ID]; c != nil {
				got = *c
			}
			same(t, err, got, want)
			return nil
		}, store.HostRow(h.ID))
	}
	want(store.Capacity{Name: "h"})
	h.Status, h.MaxRuns = svc.HostOnline, ptr(2)
	w.write(func(tx *store.Tx) error { return tx.UpdateHost(w.ctx, &h) })
	w.run(task, func(r *svc.Run) { r.Status, r.HostID = svc.RunStopped, &h.ID })
	want(store.Capacity{Name: "h", Fits: true, Limited: true, Free: 1})
	h.MaxRuns = nil
	w.write(func(tx *store.Tx) error { return tx.UpdateHost(w.ctx, &h) })
	want(store.Capacity{Name: "h", Fits: true})
	w.write(func(tx *store.Tx) error { return tx.DeleteHost(w.ctx, h.ID) })
	want(store.Capacity{})
}

func serviceTimes(t *testing.T, w *world) {
	for _, times := range [][]store.ServiceTime{
		{{Began: 1, Until: 2}}, {{Began: 1, Until: 5}}, {{Began: 1, Until: 5}, {Began: 9, Until: 9}}, {{Began: 9, Until: 12}},
		{{Began: 3, Until: 4}}, {{Began: 3, Until: 4}},
	} {
		w.write(func(tx *store.Tx) error { return tx.KeepServiceTimes(w.ctx, times) })
		got, err := w.ServiceTimes(w.ctx)
		same(t, err, got, times)
	}
}
