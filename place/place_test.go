package place

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc"
)

// drawFleet is hosts in any condition.
func drawFleet(t *rapid.T) Fleet {
	var f Fleet
	for i := range rapid.IntRange(0, 6).Draw(t, "hosts") {
		h := Host{Host: svc.Host{ID: fmt.Sprint("h", i), Name: fmt.Sprint("host ", i),
			Status:     rapid.SampledFrom([]svc.HostStatus{svc.HostOnline, svc.HostOnline, svc.HostOnline, svc.HostOffline, svc.HostDisabled, svc.HostRegistered}).Draw(t, "status"),
			ActiveRuns: rapid.IntRange(0, 3).Draw(t, "active"), Providers: map[string]svc.ProviderReport{}},
			Connected: rapid.IntRange(0, 4).Draw(t, "connected") > 0, Unconfirmed: rapid.SampledFrom([]int{0, 0, MostUnconfirmed - 1, MostUnconfirmed}).Draw(t, "unconfirmed")}
		h.InstanceSuspect = rapid.IntRange(0, 5).Draw(t, "suspect") == 0
		if rapid.Bool().Draw(t, "limited") {
			most := rapid.IntRange(0, 4).Draw(t, "max_runs")
			h.MaxRuns = &most
		}
		for _, p := range []string{"a", "b"} {
			h.Providers[p] = svc.ProviderReport{Available: rapid.Bool().Draw(t, "has "+p)}
		}
		f.Hosts = append(f.Hosts, h)
	}
	return f
}

func drawDemand(t *rapid.T, f *Fleet) Demand {
	d := Demand{Provider: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "provider")}
	for i := range f.Hosts {
		if rapid.IntRange(0, 5).Draw(t, "refused") == 0 {
			d.Refused = append(d.Refused, f.Hosts[i].ID)
		}
	}
	if len(f.Hosts) > 0 && rapid.IntRange(0, 3).Draw(t, "pinned") == 0 {
		d.PinnedHostID = rapid.SampledFrom(f.Hosts).Draw(t, "host").ID
	}
	return d
}

func (f *Fleet) host(id string) *Host {
	return &f.Hosts[slices.IndexFunc(f.Hosts, func(h Host) bool { return h.ID == id })]
}

// Each claim is one that the rules allow at its turn, the least busy host first and nobody
// overtaken; and what is left over could go nowhere.
func TestPlacementKeepsItsRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t)
		before := Fleet{Hosts: slices.Clone(f.Hosts)}
		var queues []Queue
		demands := map[string]Demand{}
		since := map[string]svc.Time{}
		for i := range rapid.IntRange(1, 4).Draw(t, "queues") {
			q := Queue{Demand: drawDemand(t, &f)}
			for j := range rapid.IntRange(0, 5).Draw(t, "runs") {
				r := Waiting{ID: fmt.Sprintf("r%d-%d", i, j), PendingSince: svc.Time(10*j + rapid.IntRange(0, 9).Draw(t, "since"))}
				q.Runs = append(q.Runs, r)
				demands[r.ID], since[r.ID] = q.Demand, r.PendingSince
			}
			queues = append(queues, q)
		}
		most := rapid.IntRange(1, 10).Draw(t, "most")
		claims := f.Place(queues, most, 1000)
		if len(claims) > most {
			t.Fatalf("%d claims, at most %d were wanted", len(claims), most)
		}
		now := Fleet{Hosts: slices.Clone(before.Hosts)}
		for _, c := range claims {
			d, h := demands[c.RunID], now.host(c.HostID)
			for _, why := range before.Explain(d) { // as the pass began
				if why.HostID == c.HostID && why.Why != string(Eligible) {
					t.Fatalf("%s went to %s, which is %s", c.RunID, c.HostID, why.Why)
				}
			}
			if h.free() == 0 {
				t.Fatalf("%s went to %s, which has no room", c.RunID, c.HostID)
			}
			for _, other := range before.eligible(d) {
				if o := now.host(other.ID); o.free() > 0 && o.ActiveRuns < h.ActiveRuns {
					t.Fatalf("%s went to %s though %s is less busy", c.RunID, h.ID, o.ID)
				}
			}
			h.ActiveRuns++
			h.Unconfirmed++
			delete(demands, c.RunID)
		}
		if len(claims) == most {
			return
		}
		for id, d := range demands {
			for _, h := range before.eligible(d) {
				if now.host(h.ID).free() > 0 {
					t.Fatalf("%s waits though %s has room for it", id, h.ID)
				}
			}
			for _, c := range claims {
				if slices.ContainsFunc(queues, func(q Queue) bool {
					return slices.ContainsFunc(q.Runs, func(r Waiting) bool { return r.ID == id }) && slices.ContainsFunc(q.Runs, func(r Waiting) bool { return r.ID == c.RunID })
				}) && since[c.RunID] > since[id] {
					t.Fatalf("%s was overtaken by %s of its own queue", id, c.RunID)
				}
			}
		}
	})
}

func TestRoomIsWhatCanBePlaced(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t)
		d := drawDemand(t, &f)
		room := f.Room(d)
		runs := make([]Waiting, room+5)
		for i := range runs {
			runs[i].ID = fmt.Sprintf("r%05d", i)
		}
		if got := len(f.Place([]Queue{{d, runs}}, len(runs), 1)); got != room {
			t.Fatalf("room for %d, placed %d", room, got)
		}
	})
}

func TestAHostThatRefusedIsNobodyToWaitFor(t *testing.T) {
	t.Parallel()
	has := map[string]svc.ProviderReport{"a": {Available: true}}
	f := Fleet{Hosts: []Host{{Host: svc.Host{ID: "1", Status: svc.HostOnline, Providers: has}, Connected: true}, {Host: svc.Host{ID: "2", Status: svc.HostOnline}, Connected: true}}}
	for _, c := range []struct {
		refused []string
		want    []Reason
	}{{nil, []Reason{Eligible, ProviderMissing}}, {[]string{"1"}, []Reason{Refused, Eligible}}} {
		if got := f.reasons(Demand{Provider: "a", Refused: c.refused}); !slices.Equal(got, c.want) {
			t.Errorf("refused by %v: %v, want %v", c.refused, got, c.want)
		}
	}
}

// drawServed is times of service with pauses between them, as Extend makes them.
func drawServed(t *rapid.T) (s Served, now svc.Time) {
	now = svc.Time(rapid.IntRange(0, 50).Draw(t, "first"))
	for range rapid.IntRange(1, 20).Draw(t, "ticks") {
		s = s.Extend(now, 5*time.Millisecond)
		now += svc.Time(rapid.SampledFrom([]int{0, 1, 3, 5, 6, 40}).Draw(t, "pause"))
	}
	s = s.Extend(now, 5*time.Millisecond)
	return s, now
}

func TestOnlyServedTimeCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, now := drawServed(t)
		from := svc.Time(rapid.IntRange(0, 200).Draw(t, "from"))
		timeout := time.Duration(rapid.IntRange(1, 60).Draw(t, "timeout")) * time.Millisecond
		served := time.Duration(0) // since from, counted millisecond by millisecond
		for at := from; at < now; at++ {
			if slices.ContainsFunc(s, func(x Span) bool { return x.Began <= at && at < x.Until }) {
				served += time.Millisecond
			}
		}
		if since, any := s.Since(now, timeout); (any && from <= since) != (served >= timeout) {
			t.Fatalf("%v of %v since %d is not told by %d %v at %d: %v", served, timeout, from, since, any, now, s)
		}
		if deadline := s.Deadline(from, timeout); (deadline <= now) != (served >= timeout) {
			t.Fatalf("%v of %v since %d, but the deadline is %d at %d: %v", served, timeout, from, deadline, now, s)
		}
	})
}

func TestAClockThatGoesBackTakesNoTimeTwice(t *testing.T) {
	t.Parallel()
	var s Served
	for _, now := range []svc.Time{100, 110, 500, 505, 104, 106} {
		s = s.Extend(now, 10*time.Millisecond)
	}
	if want := (Served{{100, 106}}); !slices.Equal(s, want) {
		t.Errorf("served %v, want %v", s, want)
	}
}
