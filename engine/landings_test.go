package engine

import (
	"slices"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// readToLand returns a workspace whose run is over and whose checkpoint 1 is relayed. Landing makes the items of its
// project done.
func (s *site) readToLand(w *worker) (svc.Run, svc.Workspace) {
	s.t.Helper()
	r := s.inRepository(on(w))
	when := svc.DoneLanded
	_, err := s.UpdateProject(s.ctx, r.ProjectID, svc.ProjectPatch{DoneWhen: &when}, nil)
	s.no(err)
	auto := true
	_, err = s.UpdateWorkItem(s.ctx, r.TaskID, svc.WorkItemPatch{AutoMarkDone: &auto}, nil)
	s.no(err)
	r = w.started(r)
	id := s.workspaceOf(r).ID
	w.relays(id, 1, "bundle")
	_, err = s.ReportWorkspace(s.ctx, Reporter{Host: w.host.ID}, id, svc.WorkspaceReport{State: svc.WorkspaceReady, Path: "/work", BaseRef: "main", BaseCommit: "base",
		Checkpoint: 1, Tree: "tree", Commit: "commit"})
	s.no(err)
	s.want(svc.Applied)(s.signal(r, svc.SignalCompleted))
	return r, s.workspaceOf(r)
}

// toLand returns the landing orders that the worker received since the last call.
func (w *worker) toLand() (orders []svc.LandOrder) {
	w.s.t.Helper()
	for _, f := range w.asked() {
		if f.Do == wire.WorkspaceLand {
			orders = append(orders, *f.Land)
		}
	}
	return orders
}

func TestALandingThatIsGivenUpIsAskedForNoMoreAndItsOutcomeStillCounts(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		defer w.keepBeating()()
		r, made := s.readToLand(w)
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(0)))
		ctx := svc.WithCaller(s.ctx, svc.Caller{Name: "anna"})
		host := Reporter{Host: w.host.ID}
		land := func() *svc.Landing {
			t.Helper()
			w, err := s.LandWorkspace(ctx, made.ID, svc.NewLanding{Checkpoint: 1, How: svc.LandSquash})
			s.no(err)
			return w.Landing
		}
		tells := func(o svc.LandOutcome) svc.Workspace {
			t.Helper()
			w, err := s.ReportLanding(s.ctx, host, made.ID, o)
			s.no(err)
			return w
		}
		first := land()
		tells(svc.LandOutcome{ID: first.ID, State: svc.LandingOpen, Error: "the remote is away"})
		s.news()
		discarded, err := s.DiscardWorkspace(ctx, made.ID, false)
		s.no(err)
		s.wantTopics(svc.TopicWorkspaceLandFailed, svc.TopicWorkspaceDiscarded)
		const words = "given up by anna before its host reported the outcome (the remote is away); whether main has the change is not known"
		if l := discarded.Landing; l.State != svc.LandingFailed || l.Reason != svc.LandGivenUp || l.Error != words || discarded.DiscardedAt == nil || discarded.LandedAt != nil {
			t.Errorf("it is %+v, landing %+v", discarded, l)
		}
		w.toLand()
		s.pass(3 * landPoll)
		if got := w.toLand(); len(got) > 0 {
			t.Errorf("asked for again: %+v", got)
		}
		// A report of the host that the landing is still open changes nothing.
		if got := tells(svc.LandOutcome{ID: first.ID, State: svc.LandingOpen, Error: "still away"}); got.Landing.Error != words {
			t.Errorf("the landing is %+v", got.Landing)
		}
		s.news()
		_, err = s.DiscardWorkspace(ctx, made.ID, false)
		s.no(err)
		s.wantTopics()

		// The workspace is kept after all and landed again. A discard gives that landing up too.
		_, err = s.DiscardWorkspace(ctx, made.ID, true)
		s.no(err)
		second := land()
		_, err = s.DiscardWorkspace(ctx, made.ID, false)
		s.no(err)
		third := land()
		s.news()
		_, err = s.DiscardWorkspace(ctx, made.ID, false)
		s.no(err)
		s.wantTopics(svc.TopicWorkspaceLandFailed)
		for _, old := range []*svc.Landing{first, second} {
			if got := tells(svc.LandOutcome{ID: old.ID, State: svc.LandingDone, Commit: "old"}); got.LandedAt != nil {
				t.Errorf("an outcome of a landing that was replaced made it %+v", got)
			}
		}

		// A late outcome of the last landing is recorded all the same.
		for range 2 {
			got := tells(svc.LandOutcome{ID: third.ID, State: svc.LandingDone, Commit: "landed"})
			if got.Landing.State != svc.LandingDone || got.Landing.Conflicts == nil || got.Landing.Reason != "" || got.Landing.Error != "" || got.LandedCommit != "landed" || got.LandedCheckpoint != 1 {
				t.Errorf("landed %+v, landing %+v", got, got.Landing)
			}
		}
		// The event of the item names the person who requested the landing, as for any other request.
		if moved := s.wantTopics(svc.TopicItemStatus, svc.TopicWorkspaceLanded)[0]; field(moved, "by") != "anna" {
			t.Errorf("the item was moved by %v, want anna", field(moved, "by"))
		}
		if item, err := s.WorkItem(s.ctx, r.TaskID); err != nil || item.Status != svc.ItemDone {
			t.Errorf("the item is %s, %v", item.Status, err)
		}
	})
}

func TestALandingIsAskedForUntilItsHostHasToldWhatCameOfIt(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		beating := w.keepBeating()
		r, made := s.readToLand(w)
		ctx := svc.WithCaller(s.ctx, svc.Caller{Name: "anna"})
		land := func(change ...func(*svc.NewLanding)) (svc.Workspace, error) {
			n := svc.NewLanding{Checkpoint: 1, How: svc.LandSquash}
			for _, c := range change {
				c(&n)
			}
			return s.LandWorkspace(ctx, made.ID, n)
		}
		_, err := land()
		s.wantCode("while its run is active", err, svc.CodeWorkspaceBusy)
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(0)))
		_, err = land(func(n *svc.NewLanding) { n.Checkpoint = 2 })
		s.wantCode("a checkpoint that there is not", err, svc.CodeValidation)
		_, err = land(func(n *svc.NewLanding) { n.How, n.Into = svc.LandPush, "main" })
		s.wantCode("a push into a branch", err, svc.CodeValidation)
		_, err = s.LandWorkspace(ctx, svc.NewID(), svc.NewLanding{Checkpoint: 1, How: svc.LandSquash})
		s.wantCode("no such workspace", err, svc.CodeNotFound)
		if item, err := s.WorkItem(s.ctx, r.TaskID); err != nil || item.Status == svc.ItemDone {
			t.Errorf("a completion made the item %s, %v", item.Status, err)
		}
		s.news()

		asked, err := land()
		s.no(err)
		if l := asked.Landing; l == nil || l.State != svc.LandingOpen || l.Into != "main" || l.By != "anna" || l.Message == "" {
			t.Fatalf("asked for %+v", asked.Landing)
		}
		if got := w.toLand(); len(got) != 1 || got[0] != asked.Landing.Order() {
			t.Fatalf("the host was asked %+v", got)
		}
		_, err = land()
		s.wantCode("while it is being landed", err, svc.CodeConflict)
		_, err = s.RemoveWorkspace(s.ctx, made.ID, "")
		s.wantCode("removed while it is being landed", err, svc.CodeConflict)

		// After a lost request, a host that was away or an outcome that could not be reported, the host is asked
		// again for the same landing.
		s.pass(landPoll)
		beating()
		w.drop()
		s.pass(landPoll)
		w.register(wire.Capabilities...)
		w.connect()
		w.beat()
		beating = w.keepBeating()
		s.pass(landPoll)
		got := w.toLand()
		if len(got) == 0 || got[len(got)-1] != asked.Landing.Order() {
			t.Fatalf("the host was asked %+v", got)
		}
		host := Reporter{Host: w.host.ID}
		unknown, err := s.ReportLanding(s.ctx, host, made.ID, svc.LandOutcome{ID: asked.Landing.ID, State: svc.LandingOpen, Error: "the remote is away"})
		s.no(err)
		if unknown.Landing.State != svc.LandingOpen || unknown.Landing.Error != "the remote is away" || unknown.LandedAt != nil {
			t.Errorf("the landing is %+v", unknown.Landing)
		}
		s.pass(2 * landPoll)
		if len(w.toLand()) == 0 {
			t.Error("not asked again")
		}
		outcome := svc.LandOutcome{ID: asked.Landing.ID, State: svc.LandingDone, Commit: "landed"}
		_, err = s.ReportLanding(s.ctx, Reporter{Host: svc.NewID()}, made.ID, outcome)
		s.wantCode("another host", err, svc.CodeForbidden)
		s.news()
		for range 2 { // the answer may be lost
			landed, err := s.ReportLanding(s.ctx, host, made.ID, outcome)
			s.no(err)
			if landed.LandedCommit != "landed" || landed.LandedInto != "main" || landed.LandedCheckpoint != 1 || landed.LandedAt == nil || landed.Landing.State != svc.LandingDone {
				t.Errorf("landed %+v", landed)
			}
		}
		s.wantTopics(svc.TopicItemStatus, svc.TopicWorkspaceLanded)
		if item, err := s.WorkItem(s.ctx, r.TaskID); err != nil || item.Status != svc.ItemDone {
			t.Errorf("the item is %s, %v", item.Status, err)
		}
		s.pass(2 * landPoll)
		if got := w.toLand(); len(got) > 0 {
			t.Errorf("asked again: %+v", got)
		}

		toRemove := func() int {
			found, err := s.Store.LandedWorkspaces(s.ctx, s.now().Add(time.Hour), 10)
			s.no(err)
			return len(found)
		}
		if n := toRemove(); n != 1 {
			t.Errorf("%d landed workspaces are there to be removed after their days", n)
		}

		// A landing that fails records the reason, and leaves the earlier landing unchanged.
		w.relays(made.ID, 2, "more")
		if n := toRemove(); n != 0 {
			t.Errorf("with a newer checkpoint, %d are there to be removed", n)
		}
		_, err = land()
		s.wantCode("a newer checkpoint", err, svc.CodeChangeMoved)
		again, err := land(func(n *svc.NewLanding) { n.Checkpoint, n.How, n.Into = 2, svc.LandMerge, "main" })
		s.no(err)
		s.news()
		again, err = s.ReportLanding(s.ctx, host, made.ID, svc.LandOutcome{ID: again.Landing.ID, State: svc.LandingFailed, Reason: svc.LandConflict, Error: "no", Conflicts: []string{"a"}})
		s.no(err)
		s.wantTopics(svc.TopicWorkspaceLandFailed)
		if again.LandedCheckpoint != 1 || again.Landing.Reason != svc.LandConflict || !slices.Equal(again.Landing.Conflicts, []string{"a"}) {
			t.Errorf("after a conflict: %+v, landing %+v", again, again.Landing)
		}

		beating()
		w.drop()
		_, err = land(func(n *svc.NewLanding) { n.Checkpoint, n.Into = 2, "main" })
		s.wantCode("away", err, svc.CodeHostNotConnected)
		w.register(slices.DeleteFunc(slices.Clone(wire.Capabilities), func(c string) bool { return c == wire.CapLand })...)
		w.connect()
		w.beat()
		s.settle()
		_, err = land(func(n *svc.NewLanding) { n.Checkpoint, n.Into = 2, "main" })
		s.wantCode("an old worker", err, svc.CodeCapabilityMissing)
	})
}

func TestTheDispatchOfADependentNamesTheLandedWork(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		first, made := s.readToLand(w)
		s.want(svc.Applied)(s.signal(first, svc.SignalFinished, code(0)))
		item, err := s.WorkItem(s.ctx, first.TaskID)
		s.no(err)
		p, err := s.Project(s.ctx, first.ProjectID)
		s.no(err)
		dependent, free := s.task(p), s.task(p)
		s.no(s.AddNeed(s.ctx, dependent.ID, item.ID))
		needs := func(taskID string, change ...func(*svc.NewRun)) []svc.NeededCommit {
			t.Helper()
			w.take()
			r := s.run(append(change, func(n *svc.NewRun) { n.TaskID = taskID })...)
			d := w.dispatched()
			if d == nil || d.RunID != r.ID {
				t.Fatalf("dispatched %+v, want run %s", d, r.ID)
			}
			return d.Workspace.Needs
		}
		// A workspace that is done but not landed is not listed.
		done := svc.ItemDone
		_, err = s.UpdateWorkItem(s.ctx, item.ID, svc.WorkItemPatch{Status: &done}, nil)
		s.no(err)
		if got := needs(dependent.ID); got != nil {
			t.Errorf("before the landing the base must have %+v", got)
		}
		landing, err := s.LandWorkspace(s.ctx, made.ID, svc.NewLanding{Checkpoint: 1, How: svc.LandSquash})
		s.no(err)
		_, err = s.ReportLanding(s.ctx, Reporter{Host: w.host.ID}, made.ID, svc.LandOutcome{ID: landing.Landing.ID, State: svc.LandingDone, Commit: "c1"})
		s.no(err)
		if got := needs(dependent.ID); !slices.Equal(got, []svc.NeededCommit{{Commit: "c1", Title: item.Title}}) {
			t.Errorf("the base must have %+v", got)
		}
		if got := needs(free.ID); got != nil {
			t.Errorf("the base of another item must have %+v", got)
		}
		if got := needs(dependent.ID, func(n *svc.NewRun) { n.IgnoreNeeds = true }); got != nil {
			t.Errorf("the base of a run that ignores needs must have %+v", got)
		}
	})
}
