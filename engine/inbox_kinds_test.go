package engine

import (
	"slices"
	"testing"
	"time"

	"svc"
)

// wantOf checks the inbox entries of a kind, newest first.
func (s *site) wantOf(kind svc.InboxKind, want ...string) []svc.InboxItem {
	s.t.Helper()
	items := slices.DeleteFunc(s.inbox(), func(i svc.InboxItem) bool { return i.Kind != kind })
	got := make([]string, len(items))
	for i, item := range items {
		got[i] = item.Text
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("of %s the inbox has %q, want %q", kind, got, want)
	}
	for _, item := range items {
		if one, err := s.Store.InboxItem(s.ctx, item.Key, s.now()); err != nil || one.Key != item.Key || one.Text != item.Text {
			s.t.Errorf("by its key the entry is %+v (%v), want %+v", one, err, item)
		}
	}
	return items
}

func TestAMessageThatMayNotHaveArrivedIsInTheInbox(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.takesMessages("h")
		w.keepBeating()
		lost := func(r svc.Run, text string) {
			t.Helper()
			s.message(r, text)
			w.wantPastes(text)
			s.wantOf(svc.InboxUnconfirmed)
			s.pass(reportIn + time.Second)
			w.wantPastes("keys Enter")
			s.pass(reportAfter + 2*time.Second)
		}
		r := w.started(s.run())
		lost(r, "use the\nother branch")
		item := s.wantOf(svc.InboxUnconfirmed, "a message may not have arrived: use the other branch")[0]
		if *item.RunID != r.ID || *item.TaskID != r.TaskID || *item.HostID != w.host.ID || item.Title != "t" {
			t.Errorf("the entry is %+v", item)
		}
		s.message(r, "again")
		w.wantPastes("again")
		s.wantOf(svc.InboxUnconfirmed, "a message may not have arrived: use the other branch")
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(1), submits("again")))
		s.wantOf(svc.InboxUnconfirmed) // a later one was acknowledged

		lost(r, "third")
		s.wantOf(svc.InboxUnconfirmed, "a message may not have arrived: third")
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(2), submits("third")))
		s.wantOf(svc.InboxUnconfirmed) // it was acknowledged later

		lost(r, "fourth")
		s.wantOf(svc.InboxUnconfirmed, "a message may not have arrived: fourth")
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.wantOf(svc.InboxUnconfirmed) // the run is over

		r = w.started(s.run(policy(svc.RestartOnFailure)))
		lost(r, "fifth")
		s.wantOf(svc.InboxUnconfirmed, "a message may not have arrived: fifth")
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(1)))
		s.wantOf(svc.InboxUnconfirmed) // its attempt is over
	})
}

func TestALandingThatFailedIsInTheInboxUntilSomebodyDealsWithIt(t *testing.T) {
	for name, deal := range map[string]func(*site, *worker, svc.Workspace){
		"landed again": func(s *site, w *worker, made svc.Workspace) {
			again, err := s.LandWorkspace(s.ctx, made.ID, svc.NewLanding{Checkpoint: 1, How: svc.LandMerge})
			s.no(err)
			s.wantOf(svc.InboxLandFailed) // a landing is open again
			_, err = s.ReportLanding(s.ctx, Reporter{Host: w.host.ID}, made.ID, svc.LandOutcome{ID: again.Landing.ID, State: svc.LandingDone, Commit: "c"})
			s.no(err)
		},
		"discarded": func(s *site, _ *worker, made svc.Workspace) {
			_, err := s.DiscardWorkspace(s.ctx, made.ID, false)
			s.no(err)
		},
		"a newer checkpoint": func(s *site, w *worker, made svc.Workspace) {
			_, err := s.ReportWorkspace(s.ctx, Reporter{Host: w.host.ID}, made.ID, svc.WorkspaceReport{State: svc.WorkspaceReady, Path: "/work", BaseRef: "main", BaseCommit: "base",
				Checkpoint: 2, Tree: "tree2", Commit: "commit2"})
			s.no(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.online("h")
				w.keepBeating()
				r, made := s.readToLand(w)
				s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
				fail := func() {
					t.Helper()
					asked, err := s.LandWorkspace(s.ctx, made.ID, svc.NewLanding{Checkpoint: 1, How: svc.LandSquash})
					s.no(err)
					_, err = s.ReportLanding(s.ctx, Reporter{Host: w.host.ID}, made.ID, svc.LandOutcome{ID: asked.Landing.ID, State: svc.LandingFailed, Reason: svc.LandConflict,
						Error: "both sides have changed main.go", Conflicts: []string{"main.go"}})
					s.no(err)
				}
				s.wantOf(svc.InboxLandFailed)
				fail()
				first := s.wantOf(svc.InboxLandFailed, "landing failed: both sides have changed main.go")[0]
				if *first.WorkspaceID != made.ID || *first.RunID != r.ID || first.Since == 0 {
					t.Errorf("the entry is %+v", first)
				}
				_, err := s.DismissInbox(s.ctx, first.Key)
				s.no(err)
				s.wantOf(svc.InboxLandFailed)
				s.pass(time.Second)
				fail() // it happens again
				if next := s.wantOf(svc.InboxLandFailed, "landing failed: both sides have changed main.go")[0]; next.Key == first.Key {
					t.Errorf("the entry is that of the first failure: %+v", next)
				}
				deal(s, w, made)
				s.wantOf(svc.InboxLandFailed)
				if name == "landed again" { // landed once more by mistake: there is no failure then
					asked, err := s.LandWorkspace(s.ctx, made.ID, svc.NewLanding{Checkpoint: 1, How: svc.LandSquash})
					s.no(err)
					_, err = s.ReportLanding(s.ctx, Reporter{Host: w.host.ID}, made.ID, svc.LandOutcome{ID: asked.Landing.ID, State: svc.LandingFailed, Reason: svc.LandNothing, Error: "main has it"})
					s.no(err)
					s.wantOf(svc.InboxLandFailed)
				}
			})
		})
	}
}
