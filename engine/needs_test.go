package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
)

func beneath(w svc.WorkItem) func(*svc.NewWorkItem) {
	return func(n *svc.NewWorkItem) { n.ParentID = &w.ID }
}

func (s *site) need(a, b svc.WorkItem) {
	s.t.Helper()
	s.no(s.AddNeed(s.ctx, a.ID, b.ID))
}

func (s *site) mark(w svc.WorkItem, to svc.ItemStatus) {
	s.t.Helper()
	_, err := s.UpdateWorkItem(s.ctx, w.ID, svc.WorkItemPatch{Status: &to}, nil)
	s.no(err)
	s.settle()
}

func TestARunWaitsForWhatItsTaskNeeds(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		a, b, parent := s.task(p), s.task(p), s.task(p)
		child := s.task(p, beneath(parent))
		s.need(parent, a)
		s.need(parent, b)
		s.need(parent, b) // again
		h := s.online("h")
		r := s.run(onTask(child))
		anyway := s.run(onTask(child), func(n *svc.NewRun) { n.IgnoreNeeds = true })
		s.pass(6 * time.Minute) // a wait that svc imposes does not count
		s.wantStatus(anyway, svc.RunSpawning)
		d, err := s.RunDetail(s.ctx, r.ID)
		s.no(err)
		if d.Status != svc.RunPending || len(d.Waiting.Why) != 1 || d.Waiting.Why[0].Code != svc.HoldBlocked || !slices.Equal(d.Waiting.Why[0].Needs, []string{a.ID, b.ID}) || d.Waiting.TimesOutAt != nil {
			t.Fatalf("%s waits %+v", d.Status, d.Waiting)
		}
		h.beat()
		s.mark(a, svc.ItemDone)
		s.mark(b, svc.ItemCancelled) // a cancelled item does not meet a need
		s.wantStatus(r, svc.RunPending)
		s.news()
		s.mark(b, svc.ItemDone)
		s.wantStatus(r, svc.RunSpawning)
		var told []string
		for _, e := range s.news() {
			told = append(told, string(e.Topic)+" "+field(e, "task_id").(string))
		}
		if want := []string{"work_item.status_changed " + b.ID, "work_item.unblocked " + parent.ID, "run.spawning " + child.ID}; !slices.Equal(told, want) {
			t.Errorf("the journal has %q, want what freed an item before that it is free: %q", told, want)
		}
		// Reopening an item blocks runs that have not started. Running ones continue.
		later := s.run(onTask(child), func(n *svc.NewRun) { at := s.now().Add(time.Minute); n.NotBefore = &at })
		s.mark(a, svc.ItemTodo)
		s.wantStatus(r, svc.RunSpawning)
		s.pass(2 * time.Minute)
		h.beat()
		s.settle()
		s.wantStatus(later, svc.RunPending)
		s.no(s.RemoveNeed(s.ctx, parent.ID, a.ID))
		s.no(s.RemoveNeed(s.ctx, parent.ID, a.ID))
		s.settle()
		s.wantStatus(later, svc.RunSpawning)
	})
}

func TestNeedsThatCannotBeMetAreRefused(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		titled := func(title string, change ...func(*svc.NewWorkItem)) svc.WorkItem {
			return s.task(p, append(change, func(n *svc.NewWorkItem) { n.Title = title })...)
		}
		a, b, c := titled("A"), titled("B"), titled("C")
		below := titled("below A", beneath(a))
		other := s.task(s.project())
		s.wantCode("in another project", s.AddNeed(s.ctx, a.ID, other.ID), svc.CodeValidation)
		s.wantCode("nowhere", s.AddNeed(s.ctx, a.ID, svc.NewID()), svc.CodeNotFound)
		for _, line := range [][2]svc.WorkItem{{a, a}, {a, below}, {below, a}} {
			s.wantCode("in its own line", s.AddNeed(s.ctx, line[0].ID, line[1].ID), svc.CodeNeedInOwnLine)
		}
		s.need(a, b)
		s.need(b, c)
		err := s.AddNeed(s.ctx, c.ID, a.ID)
		s.wantCode("a circle", err, svc.CodeNeedCycle)
		if !strings.Contains(err.Error(), "A needs B needs C needs A") && !strings.Contains(err.Error(), "C needs A needs B needs C") {
			t.Errorf("it says %q", err)
		}
		// Needs are inherited: the items below A wait for B too.
		err = s.AddNeed(s.ctx, c.ID, below.ID)
		s.wantCode("a circle through a parent", err, svc.CodeNeedCycle)
		// A move that would close a cycle.
		free := titled("free")
		s.need(c, free)
		_, err = s.UpdateWorkItem(s.ctx, free.ID, svc.WorkItemPatch{Parent: &svc.ParentChange{ID: &a.ID}}, nil)
		s.wantCode("a move into a circle", err, svc.CodeNeedCycle)
		_, err = s.UpdateWorkItem(s.ctx, b.ID, svc.WorkItemPatch{Parent: &svc.ParentChange{ID: &c.ID}}, nil)
		s.wantCode("a move under what it needs", err, svc.CodeNeedInOwnLine)
		// Deletion.
		err = s.DeleteWorkItem(s.ctx, c.ID, false, false, nil)
		s.wantCode("what is needed", err, svc.CodeNeeded)
		s.news()
		s.no(s.DeleteWorkItem(s.ctx, c.ID, false, true, nil))
		s.wantTopics(svc.TopicItemNeeds, svc.TopicItemUnblocked, svc.TopicItemDeleted)
		if got, err := s.WorkItem(s.ctx, b.ID); err != nil || got.Blocked || len(got.Needs) != 0 {
			t.Errorf("what needed it is %+v, %v", got, err)
		}
	})
}

// A need that is met starts the waiting run once, even if the orchestrator is killed in between: the work to do is
// derived from the database alone.
func TestAMetNeedStartsItsRunOnceAcrossARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		p := s.project()
		a, b := s.task(p), s.task(p)
		s.need(b, a)
		r := s.run(onTask(b), func(n *svc.NewRun) { n.Wait = true })
		s.mark(a, svc.ItemDone)
		s.stop() // no host was there

		s = start(t, dir)
		s.online("h")
		s.pass(3 * time.Second)
		events, err := s.Store.EventsAfter(s.ctx, 0, 1<<20)
		s.no(err)
		n := 0
		for _, e := range events {
			var payload struct {
				RunID string `json:"run_id"`
			}
			s.no(json.Unmarshal(e.Payload, &payload))
			if e.Topic == svc.TopicRunSpawning && payload.RunID == r.ID {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the run was placed %d times: %s", n, fmt.Sprint(len(events)))
		}
	})
}
