package storetest

import (
	"slices"
	"testing"

	"svc"
	"svc/store"
)

func registryOfReplicas(t *testing.T, w *world) {
	beat := func(r svc.Replica) {
		t.Helper()
		w.write(func(tx *store.Tx) error { return tx.BeatReplica(w.ctx, r) })
	}
	find := func(id string) (found svc.Replica) {
		t.Helper()
		all(w, 2, w.Replicas, func(r svc.Replica) {
			if r.ID == id {
				found = r
			}
		})
		return found
	}
	drain := func(id string) (first bool, err error) {
		err = w.Write(w.ctx, func(tx *store.Tx) (err error) {
			_, first, err = tx.DrainReplica(w.ctx, id)
			return err
		})
		return first, err
	}
	a := svc.Replica{ID: svc.NewID(), Address: "10.0.0.1:7899", Version: "v1", State: svc.ReplicaReady, Uplinks: 3}
	w.must(w.RegisterReplica(w.ctx, a))
	began := find(a.ID)
	if began.Since == 0 || began.LastSeenAt != began.Since || began.Address != a.Address || began.Version != "v1" || began.State != svc.ReplicaReady || began.Uplinks != 3 {
		t.Errorf("registered as %+v", began)
	}
	a.Uplinks = 4
	beat(a)
	if got := find(a.ID); got.Uplinks != 4 || got.Since != began.Since || got.LastSeenAt < began.LastSeenAt {
		t.Errorf("after a beat it is %+v", got)
	}

	if first, err := drain(a.ID); !first || err != nil {
		t.Errorf("drained: %v, %v", first, err)
	}
	if first, err := drain(a.ID); first || err != nil {
		t.Errorf("drained again: %v, %v", first, err)
	}
	beat(a) // a's own state is still ready
	if got := find(a.ID); got.State != svc.ReplicaDraining {
		t.Errorf("a beat made a draining replica %s", got.State)
	}
	w.write(func(tx *store.Tx) error { return tx.EndReplica(w.ctx, a.ID) })
	if got := find(a.ID); got.State != svc.ReplicaGone || got.Uplinks != 0 {
		t.Errorf("after its end it is %+v", got)
	}
	if _, err := drain(a.ID); svc.CodeOf(err) != svc.CodeConflict {
		t.Errorf("one that is gone was drained: %v", err)
	}
	if _, err := drain(svc.NewID()); svc.CodeOf(err) != svc.CodeNotFound {
		t.Errorf("one that never was, was drained: %v", err)
	}
	beat(a) // a was marked as gone, but is alive
	if got := find(a.ID); got.State != svc.ReplicaReady {
		t.Errorf("one that beats is %s", got.State)
	}

	for range 4 {
		beat(svc.Replica{ID: svc.NewID(), State: svc.ReplicaReady})
	}
	var listed []svc.Replica
	all(w, 2, w.Replicas, func(r svc.Replica) { listed = append(listed, r) })
	newestFirst := slices.IsSortedFunc(listed, func(a, b svc.Replica) int {
		if a.Since > b.Since || a.Since == b.Since && a.ID > b.ID {
			return -1
		}
		return 1
	})
	if len(listed) != 5 || !newestFirst {
		t.Errorf("listed are %+v", listed)
	}
}
