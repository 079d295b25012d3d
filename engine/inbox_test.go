package engine

import (
	"slices"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// inbox returns the entries as the API lists them.
func (s *site) inbox(snoozed ...bool) []svc.InboxItem {
	s.t.Helper()
	s.settle()
	l, err := s.Inbox(s.ctx, svc.InboxFilter{Snoozed: len(snoozed) > 0}, svc.Page{Limit: 50})
	s.no(err)
	return l.Items
}

// wantInbox checks the kinds and texts, newest first, and returns the entries.
func (s *site) wantInbox(want ...string) []svc.InboxItem {
	s.t.Helper()
	items := s.inbox()
	got := make([]string, len(items))
	for i, item := range items {
		got[i] = string(item.Kind) + ": " + item.Text
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("the inbox has %q, want %q", got, want)
	}
	return items
}

func asks(n int64, question string) func(*svc.Signal) {
	return func(s *svc.Signal) { s.Seq, s.Message, s.NeedsInput, s.Source = n, question, true, svc.FromHook }
}

func TestAQuestionIsInTheInboxUntilItIsAnswered(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := w.started(s.run())
		s.wantInbox()
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, asks(1, "may I?\n\x1b[31mreally")))
		first := s.wantInbox("needs_input: needs input: may I? [31mreally")[0]
		if first.Title != "t" || *first.RunID != r.ID || *first.TaskID != r.TaskID || *first.ProjectID != r.ProjectID || *first.HostID != w.host.ID || first.WorkspaceID != nil {
			t.Errorf("the entry is %+v", first)
		}
		s.pass(time.Minute)
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, asks(2, "still waiting")))
		if again := s.wantInbox("needs_input: needs input: still waiting")[0]; again.Key != first.Key || again.Since != first.Since {
			t.Errorf("the same question became another entry: %+v after %+v", again, first)
		}
		s.touched(r.ID, "ann")
		s.wantInbox()
		s.pass(time.Minute)
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, asks(3, "and now?")))
		if next := s.wantInbox("needs_input: needs input: and now?")[0]; next.Key == first.Key || next.Since <= first.Since {
			t.Errorf("the next question is the entry of the first: %+v", next)
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.wantInbox()
	})
}

func TestAFailedRunIsInTheInboxUntilThereIsANewerOne(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		restarted := w.started(s.run(policy(svc.RestartOnFailure), func(n *svc.NewRun) { n.MaxRestarts = ptr(1) }))
		s.want(svc.Applied)(s.signal(restarted, svc.SignalFinished, code(3)))
		s.wantInbox() // another attempt follows
		s.pass(time.Minute)
		restarted = w.started(s.get(restarted))
		s.want(svc.Applied)(s.signal(restarted, svc.SignalFinished, code(4)))
		failed := s.wantInbox("failed: failed: exit code 4")[0]
		stopped := w.started(s.run())
		_, err := s.StopRun(s.ctx, stopped.ID)
		s.no(err)
		s.wantInbox("failed: failed: exit code 4") // a stop by a person makes no entry
		s.pass(time.Second)
		s.run(func(n *svc.NewRun) { n.TaskID = restarted.TaskID })
		s.wantInbox()
		_, err = s.DismissInbox(s.ctx, failed.Key)
		s.wantCode("dismissing what is over", err, svc.CodeNotFound)
	})
}

func TestAChangeIsInTheInboxUntilSomebodyDealsWithIt(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := s.inRepository()
		id := w.dispatched().Workspace.ID
		r = w.started(r)
		w.relays(id, 1, "bundle")
		s.wantInbox() // it is still working
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		first := s.wantInbox("review: to review: +2 -3 in 1 file")[0]
		if *first.WorkspaceID != id || *first.RunID != r.ID {
			t.Errorf("the entry is %+v", first)
		}
		_, err := s.DismissInbox(s.ctx, first.Key)
		s.no(err)
		s.wantInbox()

		s.pass(time.Second)
		next := s.run(func(n *svc.NewRun) { n.TaskID, n.WorkspaceID = r.TaskID, &id })
		w.dispatched()
		next = w.started(next)
		w.relays(id, 2, "more")
		s.want(svc.Applied)(s.signal(next, svc.SignalFinished))
		if again := s.wantInbox("review: to review: +2 -3 in 1 file")[0]; again.Key == first.Key {
			t.Error("the change of another run is the entry that was dismissed")
		}
		_, err = s.DiscardWorkspace(s.ctx, id, false)
		s.no(err)
		s.wantInbox()
		_, err = s.DiscardWorkspace(s.ctx, id, true)
		s.no(err)
		s.wantInbox("review: to review: +2 -3 in 1 file")
	})
}

func TestAHostInTroubleIsInTheInboxUntilItIsBack(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		stop := w.keepBeating()
		idle := s.online("idle")
		idle.drop()
		low := wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1, Refusing: &svc.HostRefusal{Code: svc.RefusalDiskLow}}
		w.send(low)
		first := s.wantInbox("host: has too little disk space free, and takes no new runs")[0]
		if first.Title != "h" || *first.HostID != w.host.ID {
			t.Errorf("the entry is %+v", first)
		}
		s.pass(time.Second)
		w.send(low)
		if again := s.wantInbox("host: has too little disk space free, and takes no new runs")[0]; again.Key != first.Key {
			t.Error("the next heartbeat made another entry")
		}
		w.beat()
		s.wantInbox()
		s.pass(time.Second)
		w.send(low)
		if again := s.wantInbox("host: has too little disk space free, and takes no new runs")[0]; again.Key == first.Key {
			t.Error("a disk that is full again is the entry of the first time")
		}
		w.beat()

		w.started(s.run(on(w)))
		stop()
		s.pass(2 * time.Minute) // the idle host is offline too, which makes no entry
		s.wantInbox("host: offline, with 1 open run")
		w.beat()
		s.wantInbox()
		w.keepBeating()
		s.no(s.suspect(s.ctx, w.host.ID, svc.NewID()))
		s.wantInbox("host: a second worker reports as this host, with 1 open run")
		_, err := s.ClearSuspect(s.ctx, w.host.ID)
		s.no(err)
		s.wantInbox()
	})
}

func TestWhatIsSetAsideStaysSoOverARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		w := s.online("h")
		r, other := w.started(s.run()), w.started(s.run())
		s.want(svc.Applied)(s.signal(r, svc.SignalFailed, func(g *svc.Signal) { g.Error = "no\n space" }))
		s.pass(time.Second)
		s.want(svc.Applied)(s.signal(other, svc.SignalFinished, code(1)))
		w.send(wire.Heartbeat{HostID: w.host.ID, InstanceID: w.instance, Timestamp: 1, Refusing: &svc.HostRefusal{Code: svc.RefusalDiskLow}})
		before := s.wantInbox("host: has too little disk space free, and takes no new runs", "failed: failed: exit code 1", "failed: failed: no space")
		ann := svc.WithCaller(s.ctx, svc.Caller{Name: "ann"})
		s.news()
		_, err := s.DismissInbox(ann, before[2].Key)
		s.no(err)
		_, err = s.DismissInbox(ann, before[2].Key) // changes nothing
		s.no(err)
		until := s.now().Add(time.Minute)
		_, err = s.SnoozeInbox(ann, before[1].Key, until)
		s.no(err)
		events := s.wantTopics(svc.TopicInboxDismissed, svc.TopicInboxSnoozed)
		if field(events[0], "by") != "ann" || field(events[0], "key") != before[2].Key || field(events[1], "run_id") != other.ID {
			t.Errorf("journaled %s and %s", events[0].Payload, events[1].Payload)
		}
		for _, wrong := range []svc.Time{s.now(), s.now().Add(500 * 24 * time.Hour)} {
			_, err = s.SnoozeInbox(ann, before[1].Key, wrong)
			s.wantCode("snoozing until a wrong time", err, svc.CodeValidation)
		}
		_, err = s.DismissInbox(ann, "failed."+svc.NewID()+".1")
		s.wantCode("dismissing what never was", err, svc.CodeNotFound)
		_, err = s.DismissInbox(ann, "what?")
		s.wantCode("dismissing no key", err, svc.CodeNotFound)
		s.wantInbox("host: has too little disk space free, and takes no new runs")

		w.drop()
		s.stop()
		s = start(t, dir)
		after := s.wantInbox("host: has too little disk space free, and takes no new runs")
		if after[0].Key != before[0].Key || after[0].Since != before[0].Since {
			t.Errorf("after a restart the entry is %+v, before %+v", after[0], before[0])
		}
		all := s.inbox(true)
		if len(all) != 2 || all[1].Key != before[1].Key || all[1].SnoozedUntil == nil || *all[1].SnoozedUntil != until {
			t.Errorf("with the snoozed ones the inbox has %+v", all)
		}
		s.pass(time.Minute)
		items := s.inbox()
		if i := slices.IndexFunc(items, func(i svc.InboxItem) bool { return i.Key == before[1].Key }); i < 0 || items[i].SnoozedUntil != nil {
			t.Errorf("after its snooze the inbox has %+v", items)
		}
	})
}
