package storetest

import (
	"testing"

	"svc"
	"svc/store"
)

// Fill inserts records into every table, with values that a copy could easily
// change: NULL, empty texts, the largest numbers, and letters outside ASCII.
func Fill(t *testing.T, s *store.Store) {
	t.Helper()
	w := newWorld(t, s)
	recordsRoundTrip(t, w)
	p, h := w.project("second"), w.host("second")
	late, parent := w.item(p, nil), w.item(p, nil)
	w.write(func(tx *store.Tx) error { // late's row comes before that of its new parent
		late.ParentID, late.Path = &parent.ID, parent.Path+"/"+late.ID
		return tx.UpdateWorkItem(w.ctx, &late)
	})
	other := w.item(p, nil)
	w.write(func(tx *store.Tx) error { _, err := tx.AddNeed(w.ctx, late.ID, other.ID); return err })
	r := w.run(late)
	w.write(func(tx *store.Tx) error {
		if _, err := tx.TakeSignal(w.ctx, svc.Signal{RunID: r.ID, Attempt: 1, Kind: svc.SignalStarted, Source: "worker", Via: "uplink", Timestamp: 4}); err != nil {
			return err
		}
		if err := tx.KeepResult(w.ctx, "key", "print", `{"a":"ü"}`); err != nil {
			return err
		}
		if err := tx.KeepServiceTimes(w.ctx, []store.ServiceTime{{Began: 1, Until: 2}, {Began: 5, Until: 9}}); err != nil {
			return err
		}
		if err := tx.InsertAccessToken(w.ctx, svc.AccessToken{ID: svc.NewID(), Name: "ann", Role: "viewer", SecretHash: "s", CreatedBy: "owner", ExpiresAt: ptr(svc.Time(1 << 50))}); err != nil {
			return err
		}
		if err := tx.PutSession(w.ctx, svc.Session{SecretHash: "c", TokenHash: "s", CreatedAt: 1, ExpiresAt: 1 << 50}); err != nil {
			return err
		}
		if err := tx.AddHostToken(w.ctx, h.ID, 1); err != nil {
			return err
		}
		copyID := svc.NewWorkspaceID()
		if err := tx.InsertWorkspace(w.ctx, svc.Workspace{ID: copyID, ProjectID: p.ID, TaskID: late.ID, HostID: h.ID, RunID: r.ID,
			Source: svc.Source{Repo: "/repo", Isolation: svc.IsolationClone}, Branch: "svc/work", State: svc.WorkspaceReady, Checkpoint: 3,
			RelayedCheckpoint: 2, Conflicts: []string{"ä"}, ObservedAt: ptr(svc.Time(7)), CreatedAt: 1, UpdatedAt: 1, Version: 1}); err != nil {
			return err
		}
		if err := tx.MarkInbox(w.ctx, "failed."+r.ID+".1", nil, "ännä"); err != nil {
			return err
		}
		if err := tx.AddSink(w.ctx, "phöne"); err != nil {
			return err
		}
		if _, err := tx.AddNotification(w.ctx, svc.Notification{ID: svc.NewID(), Sink: "phöne", Key: "failed." + r.ID + ".1", State: svc.NotificationWaiting, DueAt: 5, CreatedAt: 4}); err != nil {
			return err
		}
		if err := tx.InsertComment(w.ctx, svc.Comment{ID: svc.NewID(), WorkspaceID: copyID, Checkpoint: 2, Path: "ä", Side: svc.SideNew, Line: ptr(3),
			Quote: "q\n", Body: "b", Author: "ann", State: svc.CommentSent, RunID: &r.ID,
			MessageID: ptr(svc.NewID()), Delivery: svc.MessageUnconfirmed, DeliveryReason: svc.MessageUnknown, CreatedAt: 1, UpdatedAt: 1, Version: 1}); err != nil {
			return err
		}
		if err := tx.InsertMessage(w.ctx, svc.Message{ID: svc.NewID(), RunID: r.ID, Number: 1, Attempt: 1, Text: "ü\n\t", State: svc.MessageUnconfirmed,
			Reason: svc.MessageUnknown, By: "ann", When: svc.MessageNow, Answer: true, Asked: true, CreatedAt: 1, UpdatedAt: 2, Version: 3}); err != nil {
			return err
		}
		if err := tx.BeatReplica(w.ctx, svc.Replica{ID: svc.NewID(), Address: "10.0.0.1:7899", Version: "v1", State: svc.ReplicaGone, Uplinks: 3}); err != nil {
			return err
		}
		tx.Emit(svc.TopicRunCreated, map[string]any{"run_id": r.ID, "note": "ünï\u2028code"})
		tx.Emit(svc.TopicHostCreated, map[string]any{"host_id": h.ID})
		return nil
	})
}
