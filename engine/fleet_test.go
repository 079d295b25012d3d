package engine

import (
	"maps"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"svc"
	"svc/internal/clocktest"
	"svc/place"
	"svc/store"
)

func TestPlacementReadsTheHostsAgainAfterAChangeAndAfterASecond(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		var placed placedHosts
		given := s.now()
		look := func(what string, reads bool) svc.Host {
			t.Helper()
			s.settle()
			before := placed.readAt
			clocktest.Pass(time.Millisecond)
			fleet, err := s.fleetOfPass(s.ctx, &placed)
			s.no(err)
			if placed.readAt.After(before) != reads {
				t.Errorf("%s: the hosts were read: %v, want %v", what, !reads, reads)
			}
			if len(fleet.Hosts) != 1 || !fleet.Hosts[0].Connected {
				t.Fatalf("%s: the hosts are %+v, want one that is connected", what, fleet.Hosts)
			}
			h := fleet.Hosts[0].Host
			fleet.Hosts[0].LastDispatchAt = &given
			placed.note(fleet)
			return h
		}
		look("first", true)
		run := w.started(s.run())
		if h := look("with a run", false); h.ActiveRuns != 1 || h.LastDispatchAt != &given {
			t.Errorf("a host with a run has %d, and was given one at %v, want %v", h.ActiveRuns, h.LastDispatchAt, given)
		}
		labels := map[string]string{"gpu": "yes"}
		_, err := s.UpdateHost(s.ctx, w.host.ID, svc.HostPatch{Labels: &labels}, nil)
		s.no(err)
		if h := look("after a change", true); !maps.Equal(h.Labels, labels) {
			t.Errorf("the labels are %v", h.Labels)
		}
		s.hosts.unsure(w.host.ID)
		look("after a change that may not be committed", true)
		s.want(svc.Applied)(s.signal(run, svc.SignalFinished))
		if h := look("after the end", false); h.ActiveRuns != 0 {
			t.Errorf("a host without a run has %d", h.ActiveRuns)
		}
		s.no(s.Store.Write(s.ctx, func(tx *store.Tx) error {
			h, err := tx.LockHost(s.ctx, w.host.ID)
			h.Labels = map[string]string{}
			s.no(tx.UpdateHost(s.ctx, &h))
			return err
		}))
		look("after a change that nobody has noted", false)
		s.pass(hostsKeptFor)
		if h := look("a second later", true); len(h.Labels) != 0 {
			t.Errorf("the labels are %v", h.Labels)
		}
	})
}

// Thousands of claimed runs stay cached. Each of them would keep its fleet, in total gigabytes.
func TestAClaimedRunDoesNotKeepTheFleetInMemory(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		run := s.run(func(n *svc.NewRun) { n.HostLabels = map[string]string{"gpu": "yes"} }) // so that the claimer leaves it
		s.settle()
		claim := func() weak.Pointer[place.Host] {
			hosts := []place.Host{{Host: w.host}}
			u := &claimUnitOfWork{e: s.Engine, claims: []place.Claim{{RunID: run.ID, HostID: w.host.ID, Host: &hosts[0]}}}
			u.reserve()
			s.no(s.Store.Write(s.ctx, func(tx *store.Tx) error { return u.run(s.ctx, tx) }))
			u.follow(s.ctx)
			return weak.Make(&hosts[0])
		}
		host := claim()
		if r, ok := s.runs.get(run.ID); !ok || r.HostID == nil || *r.HostID != w.host.ID {
			t.Fatalf("the cached run is %+v, want it on %s", r, w.host.ID)
		}
		runtime.GC()
		if host.Value() != nil {
			t.Error("the fleet is still in memory")
		}
	})
}

func TestPlacementRestsAfterAPassOverALargeFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		small := placedHosts{took: shortPass - 1, at: time.Now()}
		large := placedHosts{took: 20 * time.Millisecond, at: time.Now()}
		stuck := placedHosts{took: 5 * time.Second, at: time.Now()}
		if small.rest() != 0 || large.rest() != 60*time.Millisecond || stuck.rest() != mostRest {
			t.Errorf("it rests %v, %v and %v, want 0, 60ms and %v", small.rest(), large.rest(), stuck.rest(), mostRest)
		}
		clocktest.Pass(60 * time.Millisecond)
		if large.rest() > 0 {
			t.Errorf("it rests %v more", large.rest())
		}
	})
}
