package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc"
	"svc/store"
)

func projectID(p svc.Project) string { return p.ID }
func hostID(h svc.Host) string       { return h.ID }
func itemID(i svc.WorkItem) string   { return i.ID }
func runID(r svc.Run) string         { return r.ID }
func eventID(e svc.Event) string     { return fmt.Sprint(e.Seq) }

func mapped[T any](list []T, f func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

// kept is a naive filter. The store's filter must return the same.
func kept[T any](list []T, keep func(T) bool, id func(T) string) []string {
	out := []string{}
	for _, v := range list {
		if keep(v) {
			out = append(out, id(v))
		}
	}
	return out
}

var (
	kinds    = []svc.Kind{svc.KindMilestone, svc.KindEpic, svc.KindTask, svc.KindSubtask}
	statuses = []svc.ItemStatus{svc.ItemTodo, svc.ItemDoing, svc.ItemDone, svc.ItemCancelled}
)

// forest inserts two projects with trees of items, and deletes some items. It
// returns the items that are left, by position.
func forest(w *world) (projects []svc.Project, items []svc.WorkItem) {
	for n := range 2 {
		p := w.project(fmt.Sprint("p", n))
		projects = append(projects, p)
		var mine []svc.WorkItem
		for i := range 18 {
			var parent *svc.WorkItem
			if i > 2 {
				parent = &mine[i/3]
			}
			mine = append(mine, w.item(p, parent, func(it *svc.WorkItem) {
				it.Kind, it.Status = kinds[(i+n)%4], statuses[i%3]
			}))
		}
		w.write(func(tx *store.Tx) error { _, err := tx.DeleteSubtree(w.ctx, mine[17].ID); return err })
		items = append(items, mine[:17]...)
	}
	slices.SortFunc(items, func(a, b svc.WorkItem) int { return strings.Compare(a.Position+a.ID, b.Position+b.ID) })
	return projects, items
}

func itemFilters(t *testing.T, w *world) {
	projects, items := forest(w)
	deep := items[0] // a root with a subtree
	for _, i := range items {
		if strings.Count(i.Path, "/") == 1 {
			deep = i
			break
		}
	}
	tried := 0
	for _, project := range []string{"", projects[0].ID, svc.NewID()} {
		for _, parent := range []*svc.ParentChange{nil, {}, {ID: deep.ParentID}} {
			for _, under := range []string{"", items[0].ID, svc.NewID()} {
				for _, st := range [][]svc.ItemStatus{nil, {svc.ItemDoing}, {svc.ItemDone, svc.ItemTodo, svc.ItemDone}} {
					for _, ks := range [][]svc.Kind{nil, {svc.KindTask, svc.KindMilestone}} {
						f := svc.WorkItemFilter{ProjectID: project, Parent: parent, Under: under, Statuses: st, Kinds: ks}
						want := kept(items, func(i svc.WorkItem) bool { return fits(f, i) }, itemID)
						for _, limit := range []int{3, 100} {
							if got := ids(w, limit, w.items(f), itemID); !slices.Equal(got, want) {
								t.Fatalf("filter %+v in pages of %d: %v, want %v", f, limit, got, want)
							}
						}
						tried++
					}
				}
			}
		}
	}
	if tried != 3*3*3*3*2 {
		t.Errorf("only %d filters were tried", tried)
	}
}

func fits(f svc.WorkItemFilter, i svc.WorkItem) bool {
	if f.ProjectID != "" && i.ProjectID != f.ProjectID {
		return false
	}
	if f.Parent != nil && (f.Parent.ID == nil) != (i.ParentID == nil) {
		return false
	}
	if f.Parent != nil && f.Parent.ID != nil && *f.Parent.ID != *i.ParentID {
		return false
	}
	if f.Under != "" && !strings.Contains(i.Path, f.Under+"/") {
		return false
	}
	return (len(f.Statuses) == 0 || slices.Contains(f.Statuses, i.Status)) && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, i.Kind))
}

// largeSubtree tests lists of subtrees of several pages. On the first levels they are read by the index of the level.
// Deeper, both the subtree and the children alone are more than smallSubtree, so that they are found by path.
func largeSubtree(t *testing.T, w *world) {
	for level, size := range map[int]int{1: 900, 3: 900, 5: 1600} {
		listLargeSubtree(t, w, w.project(fmt.Sprintf("level %d", level)), level, size)
	}
}

func listLargeSubtree(t *testing.T, w *world, p svc.Project, level, size int) {
	w.item(p, nil) // a neighbour
	root := w.item(p, nil)
	for range level - 1 {
		root = w.item(p, &root)
	}
	inner := w.item(p, &root)
	items := []svc.WorkItem{inner}
	w.write(func(tx *store.Tx) error {
		for n := range size {
			parent := &root
			if n%3 == 0 {
				parent = &inner
			}
			item, err := addItem(w.ctx, tx, p, parent, func(i *svc.WorkItem) { i.Status, i.Kind = statuses[n%4], kinds[n%3] })
			if err != nil {
				return err
			}
			items = append(items, item)
		}
		return nil
	})
	w.item(p, nil)
	gone := items[len(items)-1]
	w.write(func(tx *store.Tx) error { _, err := tx.DeleteSubtree(w.ctx, gone.ID); return err })
	items = items[:len(items)-1]
	for _, f := range []svc.WorkItemFilter{
		{Under: root.ID},
		{Under: root.ID, ProjectID: p.ID, Statuses: []svc.ItemStatus{svc.ItemDone, svc.ItemTodo}},
		{Under: root.ID, Kinds: []svc.Kind{svc.KindEpic}, Statuses: []svc.ItemStatus{svc.ItemDone}},
		{Under: root.ID, Parent: &svc.ParentChange{ID: &inner.ID}},
		{Under: root.ID, Parent: &svc.ParentChange{}},
		{Under: root.ID, ProjectID: svc.NewID()},
		{Under: inner.ID}, // a small subtree inside of the large one
	} {
		want := kept(items, func(i svc.WorkItem) bool { return fits(f, i) }, itemID)
		if got := ids(w, 400, w.items(f), itemID); !slices.Equal(got, want) {
			t.Errorf("filter %+v at level %d gives %d items, want %d, or another order", f, level, len(got), len(want))
		}
	}
}

func runFilters(t *testing.T, w *world) {
	pa, pb := w.project("a"), w.project("b")
	ha, hb := w.host("a"), w.host("b")
	tasks := []svc.WorkItem{w.item(pa, nil), w.item(pa, nil), w.item(pb, nil)}
	var runs []svc.Run
	for i := range 36 {
		runs = append([]svc.Run{w.run(tasks[i%3], func(r *svc.Run) {
			r.CreatedAt, r.Status = svc.Time(i), svc.RunStatuses[(i/2)%6]
			if r.Status != svc.RunPending {
				r.HostID = []*string{&ha.ID, &hb.ID}[i%2]
			}
		})}, runs...)
	}
	for _, project := range []string{"", pa.ID, svc.NewID()} {
		for _, task := range []string{"", tasks[1].ID, tasks[2].ID} {
			for _, host := range []string{"", hb.ID} {
				for _, st := range [][]svc.RunStatus{nil, {svc.RunPending}, {svc.RunStopped, svc.RunRunning, svc.RunStopped}} {
					f := svc.RunFilter{ProjectID: project, TaskID: task, HostID: host, Statuses: st}
					want := kept(runs, func(r svc.Run) bool {
						return (project == "" || r.ProjectID == project) && (task == "" || r.TaskID == task) &&
							(host == "" || r.HostID != nil && *r.HostID == host) && (len(st) == 0 || slices.Contains(st, r.Status))
					}, runID)
					for _, limit := range []int{2, 50} {
						if got := ids(w, limit, w.runs(f), runID); !slices.Equal(got, want) {
							t.Errorf("filter %+v in pages of %d: %d runs, want %d", f, limit, len(got), len(want))
						}
					}
				}
			}
		}
	}
}
