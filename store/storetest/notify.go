package storetest

import (
	"reflect"
	"slices"
	"testing"

	"svc"
	"svc/store"
)

func outboxOfSinks(t *testing.T, w *world) {
	add := func(key string, at svc.Time, tries int) svc.Notification {
		n := svc.Notification{ID: svc.NewID(), Sink: "phone", Key: key, State: svc.NotificationWaiting, Tries: tries, DueAt: at, CreatedAt: at}
		w.write(func(tx *store.Tx) error {
			if err := tx.AddSink(w.ctx, "phone"); err != nil {
				return err
			}
			added, err := tx.AddNotification(w.ctx, n)
			if again, _ := tx.AddNotification(w.ctx, n); !added || again {
				t.Errorf("%s: added %v, again %v", key, added, again)
			}
			return err
		})
		return n
	}
	add("a", 1, 3)
	first, second, later := add("b", 2, 0), add("c", 3, 2), add("d", 100, 0)
	keys := func(list []svc.Notification, err error) (out []string) {
		t.Helper()
		w.must(err)
		for _, n := range list {
			out = append(out, n.Key)
		}
		return out
	}
	if got := keys(w.DueNotifications(w.ctx, "phone", 50, 10)); !slices.Equal(got, []string{"b", "c", "a"}) {
		t.Errorf("due are %q", got)
	}
	digest := svc.Notification{ID: "digest", Sink: "phone", Key: "digest", State: svc.NotificationSent, SettledAt: ptr(svc.Time(60)), CreatedAt: 50}
	w.write(func(tx *store.Tx) error {
		first.State, first.SettledAt, first.Error = svc.NotificationSent, ptr(svc.Time(55)), "ö"
		second.State, second.DigestID, second.SettledAt = svc.NotificationDigested, digest.ID, ptr(svc.Time(55))
		for _, n := range []svc.Notification{first, second} {
			if err := tx.UpdateNotification(w.ctx, n); err != nil {
				return err
			}
		}
		_, err := tx.AddNotification(w.ctx, digest)
		return err
	})
	if got := keys(w.SentSince(w.ctx, "phone", 50)); !slices.Equal(got, []string{"b", "digest"}) {
		t.Errorf("sent were %q", got)
	}
	if got := keys(w.Digested(w.ctx, digest.ID)); !slices.Equal(got, []string{"c"}) {
		t.Errorf("the digest tells of %q", got)
	}
	w.write(func(tx *store.Tx) error {
		if err := tx.DropNotification(w.ctx, later.ID); err != nil {
			return err
		}
		n, err := tx.ForgetNotifications(w.ctx, 3, 10)
		if n != 2 {
			t.Errorf("%d were forgotten, want the two that are old", n)
		}
		return err
	})
	add("e", 200, 0)
	state, err := w.SinkState(w.ctx, "phone")
	w.must(err)
	if state.Waiting != 1 || state.Since == 0 || state.OldestAt == nil || *state.OldestAt != 200 {
		t.Errorf("the sink is %+v; one waits", state)
	}
	state.OldestAt = nil
	state.Waiting, state.Owner, state.LeasedUntil, state.Failures, state.RetryAt, state.SentAt, state.FailedAt, state.Error = 0, "o", 5, 3, ptr(svc.Time(9)), ptr(svc.Time(1)), ptr(svc.Time(2)), "é"
	w.write(func(tx *store.Tx) error {
		if err := tx.UpdateSink(w.ctx, state); err != nil {
			return err
		}
		got, err := tx.LockSink(w.ctx, "phone")
		if !reflect.DeepEqual(got, state) {
			t.Errorf("the sink is %+v, want %+v", got, state)
		}
		return err
	})
	_, err = w.SinkState(w.ctx, "nobody")
	w.wantCode("a sink that is not kept", err, svc.CodeNotFound)
}
