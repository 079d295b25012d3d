package engine

import (
	"context"
	"testing"
	"time"

	"svc"
)

// replicas returns the list as the API returns it.
func (s *site) replicas() []svc.Replica {
	s.t.Helper()
	l, err := s.Replicas(s.ctx, svc.Page{Limit: 50})
	s.no(err)
	return l.Items
}

func TestThisProcessIsListedAsItIsNow(t *testing.T) {
	bubble(t, func(s *site) {
		began := s.now()
		s.online("h")
		s.pass(3 * time.Second)
		got := s.replicas()
		want := svc.Replica{ID: got[0].ID, Version: "v1", State: svc.ReplicaReady, Leader: true, Uplinks: 1, Since: began, LastSeenAt: s.now()}
		if len(got) != 1 || got[0] != want || !svc.IsID(got[0].ID) {
			t.Errorf("listed are %+v, want %+v", got, want)
		}
	}, func(c *Config) { c.Version = "v1" })
}

func TestAReplicaThatEndedIsListedAsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		first := start(t, dir)
		id := first.replicas()[0].ID
		first.pass(90 * time.Second)
		ended := first.now()
		first.stop()
		second := start(t, dir)
		got := second.replicas()
		if len(got) != 2 || got[0].ID == id || got[0].State != svc.ReplicaReady || !got[0].Leader {
			t.Fatalf("listed are %+v", got)
		}
		if was := got[1]; was.ID != id || was.State != svc.ReplicaGone || was.Leader || was.LastSeenAt != ended {
			t.Errorf("the former one is %+v; it ended at %s", was, ended)
		}
		_, err := second.DrainReplica(second.ctx, id)
		second.wantCode("draining one that is gone", err, svc.CodeConflict)
	})
}

func TestADrainIsToldOnceAndNotUndone(t *testing.T) {
	bubble(t, func(s *site) {
		s.news()
		id := s.replicas()[0].ID
		_, err := s.DrainReplica(s.ctx, svc.NewID())
		s.wantCode("draining one that never was", err, svc.CodeNotFound)
		if s.Draining() {
			t.Fatal("it drains")
		}
		by := svc.WithCaller(s.ctx, svc.Caller{Name: "ann", Role: svc.RoleAdmin})
		for range 2 {
			r, err := s.DrainReplica(by, id)
			s.no(err)
			if r.ID != id || r.State != svc.ReplicaDraining || !r.Leader {
				t.Errorf("answered %+v", r)
			}
		}
		e := s.wantTopics(svc.TopicReplicaDraining)[0]
		if field(e, "replica_id") != id {
			t.Errorf("journaled %s", e.Payload)
		}
		<-s.Drained()
		s.pass(2 * beatAlone)
		if got := s.replicas()[0]; got.State != svc.ReplicaDraining {
			t.Errorf("after beats it is %s", got.State)
		}
	})
}

// The stored result of the idempotency key is about the process that was drained. A repeated request to its successor
// returns that result and does not drain the successor.
func TestARepeatedDrainLeavesTheNextProcessAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		first := start(t, dir)
		id := first.replicas()[0].ID
		key := func(s *site) context.Context { return WithIdempotency(s.ctx, "key", "print") }
		_, err := first.DrainReplica(key(first), id)
		first.no(err)
		first.stop()
		second := start(t, dir)
		r, err := second.DrainReplica(key(second), id)
		second.no(err)
		if r.ID != id || second.Draining() {
			t.Errorf("answered %+v, draining: %v", r, second.Draining())
		}
	})
}
