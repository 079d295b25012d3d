package engine

import (
	"testing"

	"svc"
)

func TestCompletedMarksTheItem(t *testing.T) {
	for name, c := range map[string]struct {
		auto   bool
		result svc.Result
		moves  bool
	}{
		"success":             {true, svc.ResultSuccess, true},
		"partial success":     {true, svc.ResultPartialSuccess, true},
		"rejected":            {true, svc.ResultUserRejected, false},
		"success, not asked":  {false, svc.ResultSuccess, false},
		"rejected, not asked": {false, svc.ResultUserRejected, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.online("h")
				p := s.project()
				parent := s.task(p)
				item := s.task(p, func(n *svc.NewWorkItem) { n.ParentID, n.AutoMarkDone = &parent.ID, &c.auto })
				child := s.task(p, func(n *svc.NewWorkItem) { n.ParentID, n.AutoMarkDone = &item.ID, &c.auto })
				r := s.run(func(n *svc.NewRun) { n.TaskID = item.ID })
				w.started(r)
				s.want(svc.Applied)(s.signal(r, svc.SignalFinished)) // completed may come after the exit
				s.news()
				done := func(sig *svc.Signal) { sig.Result, sig.Reason = c.result, "r" }
				s.want(svc.Applied)(s.signal(r, svc.SignalCompleted, byHook, done))
				if c.moves {
					events := s.wantTopics(svc.TopicRunSignal, svc.TopicItemStatus)
					if field(events[1], "task_id") != item.ID || field(events[1], "status") != "done" || field(events[1], "old_status") != "todo" {
						t.Errorf("journaled %s", events[1].Payload)
					}
				} else {
					s.wantTopics(svc.TopicRunSignal)
				}
				s.want(svc.Duplicate)(s.signal(r, svc.SignalCompleted, byHook, done))
				s.wantTopics()
				got, err := s.WorkItem(s.ctx, item.ID)
				s.no(err)
				if (got.Status == svc.ItemDone) != c.moves || (got.StatusSource == svc.SourceBySignal) != c.moves || got.Confidence != nil {
					t.Errorf("the item is %+v", got)
				}
				for _, other := range []svc.WorkItem{parent, child} {
					if o, _ := s.WorkItem(s.ctx, other.ID); o.Status != svc.ItemTodo || o.Version != 1 {
						t.Errorf("another item moved: %+v", o)
					}
				}
			})
		})
	}
}

func TestNothingButCompletedMovesAnItem(t *testing.T) {
	for name, end := range map[string]func(*site, svc.Run){
		"exit 0":  func(s *site, r svc.Run) { _, _ = s.signal(r, svc.SignalFinished) },
		"exit 1":  func(s *site, r svc.Run) { _, _ = s.signal(r, svc.SignalFinished, code(1)) },
		"failed":  func(s *site, r svc.Run) { _, _ = s.signal(r, svc.SignalFailed, byHook) },
		"stopped": func(s *site, r svc.Run) { _, _ = s.StopRun(s.ctx, r.ID) },
		"progress": func(s *site, r svc.Run) {
			_, _ = s.signal(r, svc.SignalProgress, seq(1), func(sig *svc.Signal) { sig.Percent = ptr(255) })
		},
		"dead signal": func(s *site, r svc.Run) { r.Attempt = 0; _, _ = s.signal(r, svc.SignalCompleted, byHook) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.online("h")
				item := s.task(s.project(), func(n *svc.NewWorkItem) { n.AutoMarkDone = ptr(true) })
				r := w.started(s.run(func(n *svc.NewRun) { n.TaskID = item.ID }))
				end(s, r)
				s.settle()
				if got, err := s.WorkItem(s.ctx, item.ID); err != nil || got.Version != 1 {
					t.Errorf("the item moved: %+v (%v)", got, err)
				}
			})
		})
	}
}

func TestPersonBeatsSignal(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		p := s.project()
		fresh := func() (svc.WorkItem, svc.Run) {
			item := s.task(p)
			s.patch(item, svc.WorkItemPatch{Status: ptr(svc.ItemDoing)}) // before the run: has no effect on it
			r := w.started(s.run(func(n *svc.NewRun) { n.TaskID = item.ID }))
			return item, r
		}
		check := func(what string, item svc.WorkItem, r svc.Run, want svc.ItemStatus, by svc.StatusSource) {
			t.Helper()
			s.want(svc.Applied)(s.signal(r, svc.SignalCompleted, byHook))
			if got, err := s.WorkItem(s.ctx, item.ID); err != nil || got.Status != want || got.StatusSource != by {
				t.Errorf("%s: %s by %s (%v)", what, got.Status, got.StatusSource, err)
			}
		}
		item, r := fresh()
		check("moved before the run", item, r, svc.ItemDone, svc.SourceBySignal)
		item, r = fresh()
		s.patch(item, svc.WorkItemPatch{Title: ptr("new")})
		check("renamed after", item, r, svc.ItemDone, svc.SourceBySignal)
		item, r = fresh()
		s.patch(item, svc.WorkItemPatch{Status: ptr(svc.ItemCancelled)})
		check("moved after", item, r, svc.ItemCancelled, svc.SourceByHand)
		item, r = fresh()
		s.patch(item, svc.WorkItemPatch{Status: ptr(svc.ItemDoing)}) // to its current status: it still counts as set by a person
		check("confirmed after", item, r, svc.ItemDoing, svc.SourceByHand)
		item, r = fresh()
		s.patch(item, svc.WorkItemPatch{Status: ptr(svc.ItemDone), Confidence: ptr(svc.Unsure)})
		check("marked done after", item, r, svc.ItemDone, svc.SourceByHand)
		if got, _ := s.WorkItem(s.ctx, item.ID); *got.Confidence != svc.Unsure {
			t.Errorf("the confidence became %v", *got.Confidence)
		}
		s.wantStatus(r, svc.RunRunning)
		item, r = fresh()
		_, err := s.ArchiveProject(s.ctx, p.ID, nil)
		s.no(err)
		check("archived since", item, r, svc.ItemDoing, svc.SourceByHand)
	}, func(c *Config) { c.AutoMarkDone = true })
}

func (s *site) patch(w svc.WorkItem, p svc.WorkItemPatch) svc.WorkItem {
	s.t.Helper()
	got, err := s.UpdateWorkItem(s.ctx, w.ID, p, nil)
	s.no(err)
	return got
}
