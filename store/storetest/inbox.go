package storetest

import (
	"reflect"
	"slices"
	"testing"

	"svc"
	"svc/store"
)

func inboxOfAllKinds(t *testing.T, w *world) {
	p, h := w.project("p"), w.host("h")
	ended := func(at svc.Time, status svc.RunStatus) func(*svc.Run) {
		return func(r *svc.Run) { r.Status, r.EndedAt, r.SessionEndedAt, r.HostID = status, &at, &at, &h.ID }
	}
	asking := w.run(w.item(p, nil), func(r *svc.Run) {
		r.Status, r.NeedsInput, r.AskedAt, r.ProgressMessage, r.HostID = svc.RunRunning, true, ptr(svc.Time(50)), ptr("which?"), &h.ID
	})
	task := w.item(p, nil)
	w.run(task, ended(70, svc.RunFailed)) // not in the inbox: the task has a newer run
	failed := w.run(task, ended(40, svc.RunFailed), func(r *svc.Run) { r.CreatedAt, r.Error = 2, ptr("broken") })
	second := w.run(w.item(p, nil), ended(40, svc.RunFailed), func(r *svc.Run) { r.ExitCode = ptr(7) })
	var changed svc.Workspace
	over := w.run(w.item(p, nil), ended(30, svc.RunExited), func(r *svc.Run) { r.WorkspaceID = ptr(svc.NewWorkspaceID()) })
	w.write(func(tx *store.Tx) error {
		changed = svc.Workspace{ID: *over.WorkspaceID, ProjectID: p.ID, TaskID: over.TaskID, HostID: h.ID, RunID: over.ID, Branch: "b", State: svc.WorkspaceReady,
			Checkpoint: 1, RelayedCheckpoint: 1, Files: 2, Additions: 3, Deletions: 4, CreatedAt: 1, UpdatedAt: 1, Version: 1}
		same := changed // a workspace without changed files
		same.ID, same.RunID, same.Files = svc.NewWorkspaceID(), failed.ID, 0
		if err := tx.InsertWorkspace(w.ctx, same); err != nil {
			return err
		}
		return tx.InsertWorkspace(w.ctx, changed)
	})
	h.Status, h.OfflineSince, h.InstanceSuspect = svc.HostOffline, ptr(svc.Time(20)), true
	w.write(func(tx *store.Tx) error { return tx.UpdateHost(w.ctx, &h) })
	w.write(func(tx *store.Tx) error { // after the host's, so that this entry is the newest
		broken := changed
		broken.ID, broken.RunID, broken.Files = svc.NewWorkspaceID(), failed.ID, 0
		if err := tx.InsertWorkspace(w.ctx, broken); err != nil {
			return err
		}
		broken.Landing = &svc.Landing{Checkpoint: 1, State: svc.LandingFailed, Reason: svc.LandConflict, Error: "\"ö\" conflicts", Conflicts: []string{}}
		return tx.UpdateWorkspace(w.ctx, &broken)
	})
	for i, m := range []svc.Message{{State: svc.MessageUnconfirmed, Text: "before"}, {State: svc.MessageAcknowledged}, {State: svc.MessageUnconfirmed, Text: "use\nthis"},
		{State: svc.MessageUnconfirmed, Attempt: 2, Text: "another attempt's"}} {
		m.ID, m.RunID, m.Number, m.UpdatedAt, m.Version = svc.NewID(), asking.ID, int64(i+1), 45, 1
		m.Attempt = max(m.Attempt, 1)
		w.write(func(tx *store.Tx) error { return tx.InsertMessage(w.ctx, m) })
	}

	list := func(f svc.InboxFilter, page svc.Page) svc.List[svc.InboxItem] {
		t.Helper()
		l, err := w.Inbox(w.ctx, f, 1000, page)
		w.must(err)
		return l
	}
	texts := func(items []svc.InboxItem) (out []string) {
		for _, i := range items {
			out = append(out, i.Text)
		}
		return out
	}
	same := []string{"failed: broken", "failed: exit code 7"}
	if failed.ID < second.ID {
		slices.Reverse(same)
	}
	want := append(append([]string{"landing failed: \"ö\" conflicts", "a second worker reports as this host, with 1 open run", "needs input: which?",
		"a message may not have arrived: use this"}, same...),
		"to review: +3 -4 in 2 files", "offline, with 1 open run")
	all := list(svc.InboxFilter{}, svc.Page{Limit: 50}).Items
	if got := texts(all); !slices.Equal(got, want) {
		t.Fatalf("the inbox has %q\nwant %q", got, want)
	}
	if one := all[2]; *one.RunID != asking.ID || one.ProjectSlug != p.Slug || one.Title != asking.TaskTitle || one.Since != 50 {
		t.Errorf("the question is %+v", one)
	}
	var paged []svc.InboxItem
	for page := (svc.Page{Limit: 2}); ; {
		l := list(svc.InboxFilter{}, page)
		if paged = append(paged, l.Items...); l.NextCursor == nil {
			break
		}
		page.Cursor = *l.NextCursor
	}
	if !reflect.DeepEqual(paged, all) {
		t.Errorf("in pages of two the inbox has %q", texts(paged))
	}
	if got := texts(list(svc.InboxFilter{After: 40}, svc.Page{Limit: 50}).Items); !slices.Equal(got, want[:4]) {
		t.Errorf("younger than 40 are %q", got)
	}
	for _, item := range all {
		if got, err := w.InboxItem(w.ctx, item.Key, 1000); err != nil || !reflect.DeepEqual(got, item) {
			t.Errorf("by its key the entry is %+v (%v), want %+v", got, err, item)
		}
	}
	inboxMarks(t, w, all, list, texts)
}

func inboxMarks(t *testing.T, w *world, all []svc.InboxItem, list func(svc.InboxFilter, svc.Page) svc.List[svc.InboxItem], texts func([]svc.InboxItem) []string) {
	w.write(func(tx *store.Tx) error {
		for i, until := range []*svc.Time{nil, ptr(svc.Time(1001)), ptr(svc.Time(1000))} {
			if err := tx.MarkInbox(w.ctx, all[i].Key, until, "ann"); err != nil {
				return err
			}
		}
		return nil
	})
	left := list(svc.InboxFilter{}, svc.Page{Limit: 50}).Items
	if !reflect.DeepEqual(left, all[2:]) {
		t.Errorf("without those that were set aside the inbox has %q", texts(left))
	}
	with := list(svc.InboxFilter{Snoozed: true}, svc.Page{Limit: 50}).Items
	if len(with) != len(all)-1 || with[0].Key != all[1].Key || with[0].SnoozedUntil == nil || *with[0].SnoozedUntil != 1001 {
		t.Errorf("with the snoozed ones the inbox has %+v", with)
	}
	w.write(func(tx *store.Tx) error {
		if n, err := tx.ForgetSnoozes(w.ctx, 1001); n != 1 || err != nil {
			t.Errorf("%d snoozes were forgotten (%v)", n, err)
		}
		return nil
	})
}
