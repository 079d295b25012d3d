package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc"
	"svc/store"
)

func (w *world) path(id string) string {
	w.t.Helper()
	item, err := w.WorkItem(w.ctx, id)
	w.must(err)
	return item.Path
}

func moveSubtree(t *testing.T, w *world) {
	p := w.project("p")
	a, b := w.item(p, nil), w.item(p, nil)
	child := w.item(p, &a)
	grand := w.item(p, &child)
	w.write(func(tx *store.Tx) error {
		if err := tx.MoveSubtree(w.ctx, a.ID, a.Path, b.Path+"/"+a.ID); err != nil {
			return err
		}
		a.ParentID, a.Path = &b.ID, b.Path+"/"+a.ID
		return tx.UpdateWorkItem(w.ctx, &a)
	})
	if got, want := w.path(grand.ID), strings.Join([]string{b.ID, a.ID, child.ID, grand.ID}, "/"); got != want {
		t.Errorf("the grandchild is at %s, want %s", got, want)
	}
	if got := w.path(b.ID); got != b.ID {
		t.Errorf("the new parent is at %s", got)
	}
	got, err := w.WorkItem(w.ctx, grand.ID)
	if err != nil || got.Version != 2 {
		t.Errorf("the grandchild has version %d (%v), want 2: its record changed", got.Version, err)
	}
}

func deleteSubtree(t *testing.T, w *world) {
	p := w.project("p")
	root, other := w.item(p, nil), w.item(p, nil)
	x := w.item(p, &root)
	y := w.item(p, &x)
	z := w.item(p, &root)
	early := w.item(p, &x)
	w.write(func(tx *store.Tx) error { // positions the item before all others
		low, err := tx.PositionBefore(w.ctx, p.ID, root.Position)
		if err != nil || low != "" {
			t.Errorf("before the first item stands %q (%v)", low, err)
		}
		early.Position = svc.RankBetween("", root.Position)
		return tx.UpdateWorkItem(w.ctx, &early)
	})
	if has, err := w.HasChildren(w.ctx, root.ID); err != nil || !has {
		t.Errorf("the root has children: %v (%v)", has, err)
	}
	var gone []string
	w.write(func(tx *store.Tx) (err error) { gone, err = tx.DeleteSubtree(w.ctx, z.ID); return err })
	same(t, nil, gone, []string{z.ID})
	w.write(func(tx *store.Tx) (err error) { gone, err = tx.DeleteSubtree(w.ctx, root.ID); return err })
	same(t, nil, gone, []string{root.ID, early.ID, x.ID, y.ID}) // the item, then by position; z was deleted before
	if has, err := w.HasChildren(w.ctx, root.ID); err != nil || has {
		t.Errorf("a deleted root has children: %v (%v)", has, err)
	}
	same(t, nil, ids(w, 10, w.items(svc.WorkItemFilter{}), itemID), []string{other.ID})
}

func activeRunBelow(t *testing.T, w *world) {
	p := w.project("p")
	root, other := w.item(p, nil), w.item(p, nil)
	leaf := w.item(p, ptr(w.item(p, &root)))
	find := func(id, want string) {
		t.Helper()
		if got, err := w.ActiveRunBelow(w.ctx, id); err != nil || got != want {
			t.Errorf("active run below %s: %q (%v), want %q", id, got, err, want)
		}
	}
	for _, s := range []svc.RunStatus{svc.RunExited, svc.RunFailed, svc.RunStopped} {
		w.run(leaf, func(r *svc.Run) { r.Status = s })
	}
	find(root.ID, "")
	for _, s := range []svc.RunStatus{svc.RunPending, svc.RunSpawning, svc.RunRunning} {
		r := w.run(leaf, func(r *svc.Run) { r.Status = s })
		find(root.ID, r.ID)
		find(leaf.ID, r.ID)
		find(other.ID, "")
		r.Status = svc.RunStopped
		w.write(func(tx *store.Tx) error { return tx.UpdateRun(w.ctx, &r) })
	}
}

func spreadPositions(t *testing.T, w *world) {
	p, other := w.project("p"), w.project("other")
	aside := w.item(other, nil)
	first := w.item(p, nil)
	order := []string{first.ID}
	high := ""
	for range 80 { // always directly after the first item, so that ranks become longer
		w.write(func(tx *store.Tx) error {
			item, err := addItem(w.ctx, tx, p, nil)
			if err != nil {
				return err
			}
			if high, err = tx.PositionAfter(w.ctx, p.ID, first.Position); err != nil {
				return err
			}
			if high != item.Position {
				item.Position = svc.RankBetween(first.Position, high)
			}
			order = slices.Insert(order, 1, item.ID)
			return tx.UpdateWorkItem(w.ctx, &item)
		})
	}
	w.write(func(tx *store.Tx) error { _, err := tx.DeleteSubtree(w.ctx, order[40]); return err })
	order = slices.Delete(order, 40, 41)
	same(t, nil, ids(w, 500, w.items(svc.WorkItemFilter{ProjectID: p.ID}), itemID), order)
	before := map[string]svc.WorkItem{}
	all(w, 500, w.items(svc.WorkItemFilter{ProjectID: p.ID}), func(i svc.WorkItem) { before[i.ID] = i })
	for _, around := range []string{first.Position, before[order[39]].Position, before[order[60]].Position} {
		var changed []string
		w.write(func(tx *store.Tx) (err error) { changed, err = tx.SpreadPositions(w.ctx, p.ID, around); return err })
		same(t, nil, ids(w, 500, w.items(svc.WorkItemFilter{ProjectID: p.ID}), itemID), order)
		if len(changed) == 0 || len(changed) > 16 {
			t.Errorf("a spread changed %d items", len(changed))
		}
		all(w, 500, w.items(svc.WorkItemFilter{ProjectID: p.ID}), func(i svc.WorkItem) {
			told := slices.Contains(changed, i.ID)
			if was := before[i.ID]; told != (i.Position != was.Position) || told != (i.Version != was.Version) {
				t.Errorf("item %s went from %q to %q, told: %v", i.ID, was.Position, i.Position, told)
			}
			if told && len(i.Position) > 16 {
				t.Errorf("a spread position is %q", i.Position)
			}
			before[i.ID] = i
		})
	}
	if got, err := w.WorkItem(w.ctx, aside.ID); err != nil || got.Position != aside.Position || got.Version != 1 {
		t.Errorf("an item of another project is at %q, version %d (%v)", got.Position, got.Version, err)
	}
}

func deepPaths(t *testing.T, w *world) {
	const levels = 300
	p := w.project("p")
	chain := []svc.WorkItem{w.item(p, nil)}
	w.write(func(tx *store.Tx) error {
		for len(chain) < levels {
			item, err := addItem(w.ctx, tx, p, &chain[len(chain)-1], func(i *svc.WorkItem) { i.Title = fmt.Sprint(len(chain)) })
			if err != nil {
				return err
			}
			chain = append(chain, item)
		}
		return nil
	})
	top := w.item(p, nil)
	w.write(func(tx *store.Tx) error {
		root := chain[0]
		if err := tx.MoveSubtree(w.ctx, root.ID, root.Path, top.Path+"/"+root.ID); err != nil {
			return err
		}
		root.ParentID, root.Path = &top.ID, top.Path+"/"+root.ID
		return tx.UpdateWorkItem(w.ctx, &root)
	})
	want := top.ID + "/" + strings.Join(mapped(chain, itemID), "/")
	if got := w.path(chain[levels-1].ID); got != want {
		t.Errorf("the deepest path has %d levels, want %d", strings.Count(got, "/")+1, levels+1)
	}
	if got := ids(w, 500, w.items(svc.WorkItemFilter{Under: top.ID}), itemID); !slices.Equal(got, mapped(chain, itemID)) {
		t.Errorf("%d items under the top, want %d", len(got), levels)
	}
}

func snapshotContents(t *testing.T, w *world) {
	open, closed := w.project("open"), w.project("closed")
	keep, gone := w.item(open, nil), w.item(open, nil)
	hidden := w.item(closed, nil)
	closed.Status = svc.ProjectArchived
	w.write(func(tx *store.Tx) error {
		if _, err := tx.DeleteSubtree(w.ctx, gone.ID); err != nil {
			return err
		}
		return tx.UpdateProject(w.ctx, &closed)
	})
	projects, items, err := w.OpenWork(w.ctx)
	same(t, err, mapped(projects, projectID), []string{open.ID})
	same(t, err, mapped(items, itemID), []string{keep.ID})
	var active, ended []string
	for i := range 12 {
		r := w.run([]svc.WorkItem{keep, hidden}[i%2], func(r *svc.Run) {
			r.CreatedAt, r.Status = svc.Time(i), svc.RunStatuses[i%6]
		})
		if r.Status.Active() {
			active = append([]string{r.ID}, active...)
		} else {
			ended = append([]string{r.ID}, ended...)
		}
	}
	runs, err := w.SnapshotRuns(w.ctx, 4)
	same(t, err, mapped(runs, runID), append(active, ended[:4]...))
}
