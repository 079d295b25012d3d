package storetest

import (
	"strings"
	"testing"

	"svc"
	"svc/store"
)

func numbersOfItems(t *testing.T, w *world) {
	p, other := w.project("p"), w.project("other")
	first, second := w.item(p, nil), w.item(p, nil)
	elsewhere := w.item(other, nil)
	if first.Number != 1 || second.Number != 2 || elsewhere.Number != 1 {
		t.Errorf("the numbers are %d, %d and %d; want 1, 2 and 1 in the other project", first.Number, second.Number, elsewhere.Number)
	}
	w.write(func(tx *store.Tx) error { _, err := tx.DeleteSubtree(w.ctx, second.ID); return err })
	third := w.item(p, nil)
	if third.Number != 3 {
		t.Errorf("after a deletion the next number is %d, want 3: none is given twice", third.Number)
	}
	for _, ref := range []string{third.ID, third.Ref(), strings.ToLower(third.Ref())} {
		got, err := w.WorkItem(w.ctx, ref)
		same(t, err, got, third)
	}
	for _, ref := range []string{second.Ref(), p.Slug + "-4", "nowhere-1", p.Slug + "-03", p.Slug, "", "-1"} {
		_, err := w.WorkItem(w.ctx, ref)
		w.wantCode("the item "+ref, err, svc.CodeNotFound)
	}
}

func namesOfRunsAndItems(t *testing.T, w *world) {
	p := w.project("p")
	item := w.item(p, nil)
	older := w.run(item, func(r *svc.Run) { r.CreatedAt, r.Status = 1, svc.RunExited })
	newer := w.run(item, func(r *svc.Run) { r.CreatedAt, r.Status, r.NeedsInput = 2, svc.RunRunning, true })
	item.Title = "renamed"
	w.write(func(tx *store.Tx) error { return tx.UpdateWorkItem(w.ctx, &item) })

	item.NewestRun = &svc.RunBrief{ID: newer.ID, Status: svc.RunRunning, NeedsInput: true}
	items, err := w.WorkItems(w.ctx, svc.WorkItemFilter{}, svc.Page{Limit: 10})
	same(t, err, items.Items, []svc.WorkItem{item})

	older.TaskTitle, newer.TaskTitle = "renamed", "renamed"
	runs, err := w.Runs(w.ctx, svc.RunFilter{}, svc.Page{Limit: 10})
	same(t, err, runs.Items, []svc.Run{newer, older})
	w.write(func(tx *store.Tx) error {
		locked, err := tx.LockRun(w.ctx, newer.ID)
		w.must(err)
		w.must(tx.NameRun(w.ctx, &locked))
		same(t, nil, locked, newer)
		return nil
	})
}
