package engine

import (
	"testing"
	"time"

	"svc"
	"svc/wire"
)

func TestARunThatSharesAWorkspaceWaitsOnItsHostUntilTheOtherHasLeft(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		s.online("other").keepBeating()
		r := s.inRepository(func(n *svc.NewRun) { n.HostID = &w.host.ID })
		made := s.workspaceOf(r)
		first := w.dispatched()
		r = w.started(r)
		second := s.run(func(n *svc.NewRun) { n.TaskID, n.WorkspaceID = r.TaskID, &made.ID })
		s.pass(10 * time.Minute) // longer than the dispatch timeout, which does not count this time
		detail, err := s.RunDetail(s.ctx, second.ID)
		s.no(err)
		if detail.Status != svc.RunPending || len(detail.Waiting.Why) != 1 || detail.Waiting.Why[0].Code != svc.HoldWorkspaceBusy ||
			detail.Waiting.Position != nil || detail.Waiting.TimesOutAt != nil || *detail.PinnedHostID != w.host.ID {
			t.Fatalf("while the other is in it: %s, waiting %+v", detail.Status, detail.Waiting)
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(0)))
		got := w.dispatched()
		if got.RunID != second.ID || got.Workspace == nil || got.Workspace.ID != first.Workspace.ID {
			t.Errorf("dispatched %+v", got)
		}
		if now := s.workspaceOf(second); now.ID != made.ID || now.RunID != second.ID {
			t.Errorf("the workspace is %+v", now)
		}
	})
}

func TestARunIsRefusedInAWorkspaceThatItCannotWorkIn(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		other := s.online("other")
		r := s.inRepository(func(n *svc.NewRun) { n.HostID = &w.host.ID })
		made := s.workspaceOf(r)
		try := func(change func(*svc.NewRun)) error {
			n := svc.NewRun{TaskID: r.TaskID, Provider: "provider_a", WorkspaceID: &made.ID}
			change(&n)
			_, err := s.CreateRun(s.ctx, n)
			return err
		}
		s.wantCode("another host", try(func(n *svc.NewRun) { n.HostID = &other.host.ID }), svc.CodeValidation)
		s.wantCode("unknown", try(func(n *svc.NewRun) { n.WorkspaceID = ptr(svc.NewID()) }), svc.CodeValidation)
		s.wantCode("no id", try(func(n *svc.NewRun) { n.WorkspaceID = ptr("x") }), svc.CodeValidation)
		s.wantCode("another project", try(func(n *svc.NewRun) { n.TaskID = s.run().TaskID }), svc.CodeValidation)
		_, err := s.ReportWorkspace(s.ctx, Reporter{Host: w.host.ID}, made.ID, svc.WorkspaceReport{State: svc.WorkspaceMissing, Path: "/work"})
		s.no(err)
		s.wantCode("missing", try(func(*svc.NewRun) {}), svc.CodeConflict)
	})
}

// asked returns the requests about workspaces that the worker received since the last call.
func (w *worker) asked() (all []*wire.WorkspaceRequest) {
	w.s.t.Helper()
	w.s.settle()
	for _, f := range w.take() {
		if f, ok := f.(*wire.WorkspaceRequest); ok {
			all = append(all, f)
		}
	}
	return all
}

func TestAHostIsAskedForARestoredWorkspaceUntilItHasMadeIt(t *testing.T) {
	bubble(t, func(s *site) {
		one := s.online("one")
		one.keepBeating()
		r := s.inRepository()
		before := s.workspaceOf(r).ID
		one.started(r)
		two := s.online("two")
		beating := two.keepBeating()
		_, err := s.RestoreWorkspace(s.ctx, before, two.host.ID)
		s.wantCode("nothing was relayed", err, svc.CodeNotRelayed)
		one.relays(before, 1, "bundle")
		_, err = s.RestoreWorkspace(s.ctx, before, svc.NewID())
		s.wantCode("no such host", err, svc.CodeValidation)

		made, err := s.RestoreWorkspace(s.ctx, before, two.host.ID)
		s.no(err)
		if made.HostID != two.host.ID || made.RestoredFrom != before || made.State != svc.WorkspacePreparing || made.RelayedCheckpoint != 1 {
			t.Errorf("made %+v", made)
		}
		for range 2 { // the first request may be lost
			got := two.asked()
			if len(got) == 0 || got[0].Do != wire.WorkspaceRestore || got[0].WorkspaceID != made.ID ||
				*got[0].Workspace.Restore != (wire.Restore{WorkspaceID: before, Checkpoint: 1, BaseCommit: "base"}) {
				t.Fatalf("the host was asked %+v", got)
			}
			s.pass(restorePoll)
		}
		_, err = s.ReportWorkspace(s.ctx, Reporter{Host: two.host.ID}, made.ID, svc.WorkspaceReport{State: svc.WorkspaceReady, Path: "/w", BaseCommit: "base", Checkpoint: 1})
		s.no(err)
		two.asked()
		s.pass(2 * restorePoll)
		if got := two.asked(); len(got) > 0 {
			t.Errorf("asked again: %+v", got[0])
		}
		beating()
		two.drop()
		_, err = s.RestoreWorkspace(s.ctx, before, two.host.ID)
		s.wantCode("away", err, svc.CodeHostNotConnected)
	})
}

func TestACheckpointIsAskedForWhenTheAgentHasComeToAStop(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := s.inRepository()
		made := s.workspaceOf(r)
		r = w.started(r)
		w.asked()
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, func(x *svc.Signal) { x.Seq = 1 }))
		if got := w.asked(); len(got) > 0 {
			t.Errorf("while it works, %+v was asked for", got[0])
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, func(x *svc.Signal) { x.Seq, x.NeedsInput = 2, true }))
		s.want(svc.Applied)(s.signal(r, svc.SignalCompleted))
		got := w.asked()
		if len(got) != 2 || got[0].Do != wire.WorkspaceCheckpoint || got[0].WorkspaceID != made.ID || got[1].Do != wire.WorkspaceCheckpoint {
			t.Errorf("asked for %+v", got)
		}
	})
}
