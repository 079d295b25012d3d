package storetest

import (
	"slices"
	"testing"

	"svc"
	"svc/store"
)

func runsThatContinue(t *testing.T, w *world) {
	h, task := w.host("h"), w.item(w.project("p"), nil)
	first := w.run(task, func(r *svc.Run) { r.PendingSince = 1 })
	second := w.run(task, func(r *svc.Run) { r.ContinuesRunID, r.PendingSince, r.CreatedAt = &first.ID, 2, 2 })
	queued := func() (ids []string) {
		queues, _, err := w.RunQueues(w.ctx)
		w.must(err)
		for _, q := range queues {
			runs, err := w.QueuedRuns(w.ctx, q, 1000, 10)
			w.must(err)
			for _, r := range runs {
				ids = append(ids, r.ID)
			}
		}
		return ids
	}
	follows := func() bool {
		pending, err := w.PendingRuns(w.ctx)
		w.must(err)
		return pending[slices.IndexFunc(pending, func(p store.PendingRun) bool { return p.ID == second.ID })].Follows
	}
	overdue := func(before svc.Time) []string {
		ids, err := w.OverdueRuns(w.ctx, task.ProjectID, before, 10)
		w.must(err)
		return ids
	}
	change := func(f func(*svc.Run)) {
		w.write(func(tx *store.Tx) error {
			r, err := tx.LockRun(w.ctx, first.ID)
			if err != nil {
				return err
			}
			f(&r)
			return tx.UpdateRun(w.ctx, &r)
		})
	}
	same(t, nil, queued(), []string{first.ID})
	same(t, nil, overdue(100), []string{first.ID})
	followers, err := w.Followers(w.ctx, []string{svc.NewRunID(), first.ID})
	same(t, err, followers, []string{second.ID})
	if !follows() {
		t.Error("it does not wait for a pending one")
	}
	for _, status := range []svc.RunStatus{svc.RunRunning, svc.RunExited} { // with a session that may be alive
		change(func(r *svc.Run) { r.Status, r.HostID = status, &h.ID })
		if got := queued(); len(got) > 0 || !follows() || len(overdue(100)) > 0 {
			t.Errorf("while the other is %s: queued %v", status, got)
		}
	}
	change(func(r *svc.Run) { r.SessionEndedAt = ptr(svc.Time(50)) })
	same(t, nil, queued(), []string{second.ID})
	same(t, nil, overdue(100), []string{second.ID})
	if got := overdue(49); len(got) > 0 || follows() {
		t.Errorf("the time before the other was over counts: %v", got)
	}
	w.write(func(tx *store.Tx) error {
		r, err := tx.LockRun(w.ctx, second.ID)
		if err != nil {
			return err
		}
		r.Status = svc.RunStopped
		return tx.UpdateRun(w.ctx, &r)
	})
	if followers, err := w.Followers(w.ctx, []string{first.ID}); err != nil || len(followers) > 0 {
		t.Errorf("one that does not wait follows: %v (%v)", followers, err)
	}
	workspace := svc.NewWorkspaceID()
	if id, err := w.NewestRunIn(w.ctx, workspace); err != nil || id != "" {
		t.Errorf("in a workspace without runs: %q (%v)", id, err)
	}
	in := func(at svc.Time, before *string) svc.Run {
		return w.run(task, func(r *svc.Run) { r.WorkspaceID, r.CreatedAt, r.ContinuesRunID = &workspace, at, before })
	}
	in(7, nil)
	newest := in(9, nil)
	in(8, nil)
	for range 4 { // each run continues the one before, and was created in the same millisecond
		id, err := w.NewestRunIn(w.ctx, workspace)
		same(t, err, id, newest.ID)
		newest = in(9, &newest.ID)
	}
}
