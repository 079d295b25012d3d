package store

import (
	"testing"
	"time"

	"svc"
)

func TestASilentReplicaIsGoneAndRemovedAfterADay(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, func(t *testing.T, s *Store) {
		own := svc.Replica{ID: svc.NewID(), State: svc.ReplicaReady}
		fresh, silent := addReplica(t, s, 0), addReplica(t, s, 6*time.Second)
		addReplica(t, s, 25*time.Hour)
		if err := s.Write(t.Context(), func(tx *Tx) error { return tx.BeatReplica(t.Context(), own) }); err != nil {
			t.Fatal(err)
		}
		wantReplicas(t, s, map[string]svc.ReplicaState{own.ID: svc.ReplicaReady, fresh: svc.ReplicaReady, silent: svc.ReplicaGone})
	})
}

func TestWhoeverTakesTheDatabaseOverListsTheFormerOneAsGone(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{Exclusive: true}, func(t *testing.T, s *Store) {
		former := addReplica(t, s, 0) // a process that was killed just now
		own := svc.Replica{ID: svc.NewID(), State: svc.ReplicaReady}
		if err := s.RegisterReplica(t.Context(), own); err != nil {
			t.Fatal(err)
		}
		wantReplicas(t, s, map[string]svc.ReplicaState{own.ID: svc.ReplicaReady, former: svc.ReplicaGone})
	})
}

// addReplica inserts a replica whose last beat was this long ago.
func addReplica(t *testing.T, s *Store, ago time.Duration) (id string) {
	t.Helper()
	id = svc.NewID()
	if err := s.Write(t.Context(), func(tx *Tx) error {
		now, err := tx.clock(t.Context())
		if err != nil {
			return err
		}
		_, err = tx.exec(t.Context(), "INSERT INTO replicas ("+replicaColumns+") VALUES ($1, '', 'v', 'ready', 0, $2, $2)", id, now.Add(-ago))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return id
}

func wantReplicas(t *testing.T, s *Store, want map[string]svc.ReplicaState) {
	t.Helper()
	list, err := s.Replicas(t.Context(), svc.Page{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list.Items {
		if want[r.ID] != r.State {
			t.Errorf("%s is %s, want %q", r.ID, r.State, want[r.ID])
		}
	}
	if len(list.Items) != len(want) {
		t.Errorf("%d replicas are listed, want %d", len(list.Items), len(want))
	}
}
