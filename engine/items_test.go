package engine

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	"svc"
)

var (
	kinds        = []svc.Kind{svc.KindMilestone, svc.KindEpic, svc.KindTask, svc.KindSubtask}
	itemStatuses = []svc.ItemStatus{svc.ItemTodo, svc.ItemDoing, svc.ItemDone, svc.ItemCancelled}
)

func under(parent svc.WorkItem) func(*svc.NewWorkItem) {
	return func(n *svc.NewWorkItem) { n.ParentID = &parent.ID }
}

func TestAnyKindStandsUnderAnyKind(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		for _, above := range kinds {
			root := s.task(p, func(n *svc.NewWorkItem) { n.Kind = above })
			if root.Kind != above || root.Path != root.ID || root.ParentID != nil || root.Status != svc.ItemTodo || root.AutoMarkDone {
				t.Errorf("made %+v", root)
			}
			for _, below := range kinds {
				s.news()
				child := s.task(p, under(root), func(n *svc.NewWorkItem) { n.Kind = below })
				if child.Path != root.ID+"/"+child.ID || *child.ParentID != root.ID {
					t.Errorf("a %s under a %s: %+v", below, above, child)
				}
				if e := s.wantTopics(svc.TopicItemCreated)[0]; field(e, "task_id") != child.ID || field(e, "project_id") != p.ID {
					t.Errorf("journaled %s", e.Payload)
				}
			}
		}
	})
}

func TestWhatIsGivenAtCreationIsKept(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		for _, status := range itemStatuses {
			made := s.task(p, func(n *svc.NewWorkItem) {
				n.Description, n.Status, n.AutoMarkDone = "in **detail**", status, ptr(true)
			})
			got, err := s.WorkItem(s.ctx, made.ID)
			if err != nil || got.Description != "in **detail**" || got.Status != status || !got.AutoMarkDone {
				t.Errorf("kept %+v (%v)", got, err)
			}
		}
		if got := s.task(p); !got.AutoMarkDone {
			t.Error("the configured default does not hold")
		}
		if got := s.task(p, func(n *svc.NewWorkItem) { n.AutoMarkDone = ptr(false) }); got.AutoMarkDone {
			t.Error("the default beats what was said")
		}
	}, func(c *Config) { c.AutoMarkDone = true })
}

func TestAnyStatusFollowsAnyStatusAndIsToldOnce(t *testing.T) {
	bubble(t, func(s *site) {
		item := s.task(s.project())
		for _, from := range itemStatuses {
			for _, to := range itemStatuses {
				s.patch(item, svc.WorkItemPatch{Status: &from})
				s.news()
				got := s.patch(item, svc.WorkItemPatch{Status: &to})
				if got.Status != to || got.StatusSource != svc.SourceByHand || (got.Confidence != nil) != (to == svc.ItemDone) {
					t.Errorf("from %s to %s: %+v", from, to, got)
				}
				if from == to {
					s.wantTopics()
				} else if e := s.wantTopics(svc.TopicItemStatus)[0]; field(e, "status") != string(to) || field(e, "old_status") != string(from) || field(e, "task_id") != item.ID {
					t.Errorf("journaled %s", e.Payload)
				}
			}
		}
		for _, c := range []svc.Confidence{svc.Certain, svc.Likely, svc.Unsure} {
			if got := s.patch(item, svc.WorkItemPatch{Status: ptr(svc.ItemDone), Confidence: &c}); *got.Confidence != c {
				t.Errorf("marked done %s: %s", c, *got.Confidence)
			}
		}
	})
}

func TestAPatchLeavesTheRestAlone(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		parent := s.task(p)
		item := s.task(p, under(parent), func(n *svc.NewWorkItem) { n.Description, n.AutoMarkDone = "d", ptr(true) })
		s.news()
		want := item
		for _, c := range []struct {
			patch  svc.WorkItemPatch
			change func(*svc.WorkItem)
		}{
			{svc.WorkItemPatch{Title: ptr("new")}, func(w *svc.WorkItem) { w.Title = "new" }},
			{svc.WorkItemPatch{Kind: ptr(svc.KindEpic)}, func(w *svc.WorkItem) { w.Kind = svc.KindEpic }},
			{svc.WorkItemPatch{Description: ptr("")}, func(w *svc.WorkItem) { w.Description = "" }},
			{svc.WorkItemPatch{AutoMarkDone: ptr(false)}, func(w *svc.WorkItem) { w.AutoMarkDone = false }},
		} {
			s.patch(item, c.patch)
			s.wantTopics(svc.TopicItemUpdated)
			got, err := s.WorkItem(s.ctx, item.ID)
			s.no(err)
			c.change(&want)
			want.Version, want.UpdatedAt, want.ParentID = got.Version, got.UpdatedAt, got.ParentID // the path contains the parent
			if !reflect.DeepEqual(got, want) {
				t.Errorf("became %+v, want %+v", got, want)
			}
		}
	})
}

func TestAMovedSubtreeIsFoundWhereItIs(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		from, to, neighbour := s.task(p), s.task(p), s.task(p)
		top := s.task(p, under(from))
		chain := []svc.WorkItem{top}
		for range 40 { // the depth is not limited
			chain = append(chain, s.task(p, under(chain[len(chain)-1])))
		}
		s.news()
		below := func(root svc.WorkItem, want int) {
			t.Helper()
			list, err := s.WorkItems(s.ctx, svc.WorkItemFilter{ProjectID: p.ID, Under: root.ID}, svc.Page{Limit: 500})
			if err != nil || len(list.Items) != want {
				t.Errorf("%d items are below (%v), want %d", len(list.Items), err, want)
			}
		}
		paths := func(above string) {
			t.Helper()
			for _, item := range chain {
				above += item.ID
				if got, err := s.WorkItem(s.ctx, item.ID); err != nil || got.Path != above {
					t.Fatalf("path %s (%v), want %s", got.Path, err, above)
				}
				above += "/"
			}
		}
		paths(from.ID + "/")
		s.patch(top, svc.WorkItemPatch{Parent: &svc.ParentChange{ID: &to.ID}})
		e := s.wantTopics(svc.TopicItemReparented)[0]
		if field(e, "task_id") != top.ID {
			t.Errorf("journaled %s", e.Payload)
		}
		paths(to.ID + "/")
		below(from, 0)
		below(to, 41)
		s.patch(top, svc.WorkItemPatch{Parent: &svc.ParentChange{ID: &to.ID}}) // to its current parent
		s.wantTopics()
		paths(to.ID + "/")
		foreign := s.task(s.project())
		for what, id := range map[string]string{"itself": top.ID, "its child": chain[1].ID, "its deepest": chain[40].ID,
			"an item of another project": foreign.ID, "nothing": svc.NewID()} {
			_, err := s.UpdateWorkItem(s.ctx, top.ID, svc.WorkItemPatch{Parent: &svc.ParentChange{ID: &id}}, nil)
			s.wantCode("under "+what, err, svc.CodeValidation)
		}
		_, err := s.CreateWorkItem(s.ctx, svc.NewWorkItem{ProjectID: p.ID, ParentID: &foreign.ID, Kind: svc.KindTask, Title: "t"})
		s.wantCode("made under an item of another project", err, svc.CodeValidation)
		paths(to.ID + "/")
		s.patch(chain[2], svc.WorkItemPatch{Parent: &svc.ParentChange{ID: &top.ID}}) // up to its grandparent
		if got, err := s.WorkItem(s.ctx, chain[3].ID); err != nil || got.Path != strings.Join([]string{to.ID, top.ID, chain[2].ID, chain[3].ID}, "/") {
			t.Errorf("path %s (%v)", got.Path, err)
		}
		s.patch(chain[2], svc.WorkItemPatch{Parent: &svc.ParentChange{ID: &chain[1].ID}})
		s.patch(top, svc.WorkItemPatch{Parent: &svc.ParentChange{}})
		paths("")
		if got, err := s.WorkItem(s.ctx, neighbour.ID); err != nil || got.Version != 1 {
			t.Errorf("a neighbour changed: %+v (%v)", got, err)
		}
	})
}

func TestADeletedSubtreeIsGoneAsAWholeAndNeverWithWorkInIt(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		top := s.task(p)
		child := s.task(p, under(top))
		leaf, beside := s.task(p, under(child)), s.task(p)
		r := s.run(func(n *svc.NewRun) { n.TaskID = leaf.ID })
		s.news()
		for _, item := range []svc.WorkItem{top, leaf} {
			s.wantCode("with an active run", s.DeleteWorkItem(s.ctx, item.ID, true, false, nil), svc.CodeActiveRuns)
		}
		s.wantTopics()
		_, err := s.StopRun(s.ctx, r.ID)
		s.no(err)
		s.wantCode("with children", s.DeleteWorkItem(s.ctx, top.ID, false, false, nil), svc.CodeHasChildren)
		s.wantTopics(svc.TopicRunStopped)
		s.no(s.DeleteWorkItem(s.ctx, top.ID, true, false, nil))
		gone := map[any]bool{}
		for _, e := range s.wantTopics(svc.TopicItemDeleted, svc.TopicItemDeleted, svc.TopicItemDeleted) {
			gone[field(e, "task_id")] = true
		}
		for _, item := range []svc.WorkItem{top, child, leaf} {
			_, err := s.WorkItem(s.ctx, item.ID)
			s.wantCode("a deleted item", err, svc.CodeNotFound)
			s.wantCode("a second delete", s.DeleteWorkItem(s.ctx, item.ID, true, false, nil), svc.CodeNotFound)
			_, err = s.CreateRun(s.ctx, svc.NewRun{TaskID: item.ID, Provider: "provider_a"})
			s.wantCode("a run on a deleted item", err, svc.CodeValidation)
			_, err = s.CreateWorkItem(s.ctx, svc.NewWorkItem{ProjectID: p.ID, ParentID: &item.ID, Kind: svc.KindTask, Title: "t"})
			s.wantCode("a child of a deleted item", err, svc.CodeValidation)
			if !gone[item.ID] {
				t.Errorf("the end of %s was not told", item.ID)
			}
		}
		list, err := s.WorkItems(s.ctx, svc.WorkItemFilter{ProjectID: p.ID}, svc.Page{Limit: 10})
		if err != nil || len(list.Items) != 1 || list.Items[0].ID != beside.ID {
			t.Errorf("left are %+v (%v)", list.Items, err)
		}
		s.wantStatus(r, svc.RunStopped) // the record is kept for audits
		s.wantTopics()
	})
}

// wantTruePaths checks every path of a project against the parents.
func (s *site) wantTruePaths(p svc.Project) {
	s.t.Helper()
	list, err := s.WorkItems(s.ctx, svc.WorkItemFilter{ProjectID: p.ID}, svc.Page{Limit: 500})
	s.no(err)
	items := map[string]svc.WorkItem{}
	for _, i := range list.Items {
		items[i.ID] = i
	}
	for _, i := range list.Items {
		path, depth := i.ID, 0
		for up := i.ParentID; up != nil; up = items[*up].ParentID {
			path = *up + "/" + path
			if depth++; depth > len(items) {
				s.t.Fatal("the tree has a cycle")
			}
		}
		if i.Path != path {
			s.t.Errorf("path %s, the parents say %s", i.Path, path)
		}
	}
}

func TestMovesAtOnceLeaveATree(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		for range 10 {
			a, b := s.task(p), s.task(p)
			var wg sync.WaitGroup
			errs := make([]error, 2)
			move := func(i int, item, to svc.WorkItem) {
				wg.Go(func() {
					_, errs[i] = s.UpdateWorkItem(s.ctx, item.ID, svc.WorkItemPatch{Parent: &svc.ParentChange{ID: &to.ID}}, nil)
				})
			}
			move(0, a, b)
			move(1, b, a)
			wg.Wait()
			if (errs[0] == nil) == (errs[1] == nil) {
				t.Errorf("two moves that make a cycle: %v and %v", errs[0], errs[1])
			}
		}
		s.wantTruePaths(p)
	})
}

func TestMovesInsideAndAboveASubtreeAtOnceKeepThePathsTrue(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		left, right := s.task(p), s.task(p)
		top := s.task(p, under(left))
		var inner []svc.WorkItem
		for range 6 {
			inner = append(inner, s.task(p, under(top)))
		}
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() { // moves the whole subtree to and fro
				s.patch(top, svc.WorkItemPatch{Parent: &svc.ParentChange{ID: ptr([]string{left.ID, right.ID}[i%2])}})
			})
			wg.Go(func() { // moves its items at the same time; some of these moves would make a cycle
				item, to := inner[i%6], inner[(i*5+1)%6]
				_, err := s.UpdateWorkItem(s.ctx, item.ID, svc.WorkItemPatch{Parent: &svc.ParentChange{ID: &to.ID}}, nil)
				if err != nil && svc.CodeOf(err) != svc.CodeValidation {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s.wantTruePaths(p)
	})
}
