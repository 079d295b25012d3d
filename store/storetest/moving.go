package storetest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"svc"
	"svc/store"
)

// moved is the number of records in each list. While a list is read, each of them
// changes between two values that both pass the list's filter.
const moved = 12

var itemStatuses = []svc.ItemStatus{svc.ItemTodo, svc.ItemDoing, svc.ItemDone, svc.ItemCancelled}

// movingRecords reads lists with filters of several statuses, kinds and topics,
// and of a subtree, while a writer changes every record from one of the values to
// another. Each record passes the filter at every moment, so each list must have
// it exactly once.
func movingRecords(t *testing.T, w *world) {
	p := w.project("moving")
	roots := []svc.WorkItem{w.item(p, nil), w.item(p, nil)}
	var items []svc.WorkItem
	var runs []svc.Run
	for i := range moved {
		items = append(items, w.item(p, &roots[0], func(item *svc.WorkItem) { item.Kind = svc.KindSubtask }))
		runs = append(runs, w.run(items[i], func(r *svc.Run) { r.CreatedAt = svc.Time(i + 1) }))
	}
	wantItems, wantRuns := mapped(items, itemID), mapped(runs, runID)
	slices.Reverse(wantRuns) // newest first

	ctx, stop := context.WithCancel(w.ctx)
	var rounds atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			for i := range items {
				w.write(func(tx *store.Tx) error { return move(w.ctx, tx, &items[i], &runs[i]) })
			}
			rounds.Add(1)
		}
	})
	defer wg.Wait()
	defer stop()

	for lists := 0; lists < 150 || rounds.Load() < 3; lists++ {
		list, err := w.Runs(w.ctx, svc.RunFilter{Statuses: svc.RunStatuses}, svc.Page{Limit: 2 * moved})
		w.must(err)
		wantOnce(t, "runs of every status", mapped(list.Items, runID), wantRuns)
		for name, f := range map[string]svc.WorkItemFilter{
			"items of several statuses":        {ProjectID: p.ID, Statuses: itemStatuses, Parent: &svc.ParentChange{ID: &roots[0].ID}},
			"items of several kinds":           {ProjectID: p.ID, Kinds: []svc.Kind{svc.KindMilestone, svc.KindSubtask}},
			"items under a root, both of each": {Under: roots[0].ID, Statuses: itemStatuses, Kinds: []svc.Kind{svc.KindSubtask, svc.KindMilestone}},
		} {
			list, err := w.WorkItems(w.ctx, f, svc.Page{Limit: 2 * moved})
			w.must(err)
			wantOnce(t, name, mapped(list.Items, itemID), wantItems)
		}
		events, err := w.Events(w.ctx, svc.EventFilter{Topics: svc.Globs{"run.*", "work_item.*"}}, svc.Page{Limit: 10})
		w.must(err)
		for i := 1; i < len(events.Items); i++ {
			if events.Items[i].Seq != events.Items[i-1].Seq-1 {
				t.Fatalf("a page of the journal has seq %d behind %d", events.Items[i].Seq, events.Items[i-1].Seq)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// move sets the next status of an item and its run, and the other kind of the
// item.
func move(ctx context.Context, tx *store.Tx, item *svc.WorkItem, run *svc.Run) error {
	item.Status = next(itemStatuses, item.Status)
	item.Kind = next([]svc.Kind{svc.KindSubtask, svc.KindMilestone}, item.Kind)
	run.Status = next(svc.RunStatuses, run.Status)
	if err := tx.UpdateWorkItem(ctx, item); err != nil {
		return err
	}
	tx.Emit(svc.TopicItemUpdated, map[string]any{"task_id": item.ID})
	tx.Emit(svc.TopicRunSignal, map[string]any{"run_id": run.ID})
	return tx.UpdateRun(ctx, run)
}

func next[T comparable](all []T, v T) T { return all[(slices.Index(all, v)+1)%len(all)] }

func wantOnce(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		seen := map[string]int{}
		for _, id := range got {
			seen[id]++
		}
		for _, id := range want {
			if seen[id] != 1 {
				t.Errorf("%s while records move: %s is there %d times", what, id, seen[id])
			}
		}
		t.Errorf("%s while records move: %d records, want %d in their order", what, len(got), len(want))
	}
}
