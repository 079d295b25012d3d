package place

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc"
)

// drawFleet returns hosts in random states.
func drawFleet(t *rapid.T) Fleet {
	var f Fleet
	for i := range rapid.IntRange(0, 6).Draw(t, "hosts") {
		h := Host{Host: svc.Host{ID: fmt.Sprint("h", i), Name: fmt.Sprint("host ", i),
			Status:     rapid.SampledFrom([]svc.HostStatus{svc.HostOnline, svc.HostOnline, svc.HostOnline, svc.HostOffline, svc.HostDisabled, svc.HostRegistered}).Draw(t, "status"),
			ActiveRuns: rapid.IntRange(0, 3).Draw(t, "active"), Providers: map[string]svc.ProviderReport{}},
			Connected: rapid.IntRange(0, 4).Draw(t, "connected") > 0, Unconfirmed: rapid.SampledFrom([]int{0, 0, MostUnconfirmed - 1, MostUnconfirmed}).Draw(t, "unconfirmed")}
		if rapid.Bool().Draw(t, "labels") {
			h.Labels = map[string]string{"gpu": "yes", "os": "x"}
		}
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
	if rapid.IntRange(0, 3).Draw(t, "labelled") == 0 {
		d.Labels = map[string]string{"gpu": rapid.SampledFrom([]string{"yes", "no"}).Draw(t, "gpu")}
	}
	return d
}

func (f *Fleet) host(id string) *Host {
	return &f.Hosts[slices.IndexFunc(f.Hosts, func(h Host) bool { return h.ID == id })]
}

func drawProjects(t *rapid.T) map[string]Project {
	projects := map[string]Project{}
	for i := range rapid.IntRange(1, 3).Draw(t, "projects") {
		projects[fmt.Sprint("p", i)] = Project{Limited: rapid.Bool().Draw(t, "limited"), Free: rapid.IntRange(-1, 3).Draw(t, "free"),
			Turn: int64(rapid.IntRange(0, 3).Draw(t, "turn"))}
	}
	return projects
}

// waits is a run of the model, with its project and demand.
type waits struct {
	Waiting
	project string
	demand  Demand
}

// modelOrder returns the order of the runs, computed one by one from the rule: the highest priority first; among
// equal priorities, the project with the oldest turn; within a project, the longest wait. may reports whether a run
// can be placed at all.
func modelOrder(runs []waits, projects map[string]Project, may func(waits) bool) (order []waits) {
	turns, left := map[string]int{}, slices.Clone(runs)
	for id, p := range projects {
		turns[id] = int(p.Turn)
	}
	for {
		next := -1
		for i, r := range left {
			if !may(r) {
				continue
			}
			if next < 0 {
				next = i
				continue
			}
			b := left[next]
			first := r.Priority > b.Priority || r.Priority == b.Priority && (turns[r.project] < turns[b.project] ||
				turns[r.project] == turns[b.project] && (r.PendingSince < b.PendingSince || r.PendingSince == b.PendingSince && r.ID < b.ID))
			if first {
				next = i
			}
		}
		if next < 0 {
			return order
		}
		order = append(order, left[next])
		turns[left[next].project] = 1000 + len(order)
		left = slices.Delete(left, next, next+1)
	}
}

// The placed runs and their order follow the rule, each is on the least busy eligible host, and no run that is left
// over could have been placed.
func TestPlacementFollowsTheRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, projects := drawFleet(t), drawProjects(t)
		now := Fleet{Hosts: slices.Clone(f.Hosts)}
		free := map[string]int{}
		for id, p := range projects {
			if free[id] = 1 << 20; p.Limited {
				free[id] = max(p.Free, 0)
			}
		}
		var queues []Queue
		var runs []waits
		for i := range rapid.IntRange(1, 5).Draw(t, "queues") {
			q := Queue{ProjectID: rapid.SampledFrom(slices.Sorted(maps.Keys(projects))).Draw(t, "project"), Demand: drawDemand(t, &f)}
			for j := range rapid.IntRange(0, 5).Draw(t, "runs") {
				q.Runs = append(q.Runs, Waiting{ID: fmt.Sprintf("r%d-%d", i, j), Priority: rapid.IntRange(-2, 2).Draw(t, "priority"),
					PendingSince: svc.Time(rapid.IntRange(0, 20).Draw(t, "since"))})
			}
			slices.SortFunc(q.Runs, Waiting.compare)
			for _, r := range q.Runs {
				runs = append(runs, waits{r, q.ProjectID, q.Demand})
			}
			queues = append(queues, q)
		}
		eligible := map[string][]string{} // by run, before the first claim
		for _, r := range runs {
			for _, h := range now.eligible(r.demand) {
				eligible[r.ID] = append(eligible[r.ID], h.ID)
			}
		}
		hasRoom := func(r waits) []*Host {
			var out []*Host
			for _, id := range eligible[r.ID] {
				if h := now.host(id); h.free() > 0 && free[r.project] > 0 {
					out = append(out, h)
				}
			}
			return out
		}
		most := rapid.IntRange(1, 12).Draw(t, "most")
		claims := f.Place(queues, projects, most, 1000)
		turns := maps.Clone(projects)
		for n, c := range claims {
			want := modelOrder(runs, turns, func(r waits) bool { return len(hasRoom(r)) > 0 })
			if len(want) == 0 || want[0].ID != c.RunID {
				t.Fatalf("claim %d is of %s, want %+v", n, c.RunID, want)
			}
			h := now.host(c.HostID)
			rooms := hasRoom(want[0])
			if !slices.Contains(rooms, h) || slices.ContainsFunc(rooms, func(o *Host) bool { return o.ActiveRuns < h.ActiveRuns }) {
				t.Fatalf("%s went to %s, which is not the least busy that may have it", c.RunID, c.HostID)
			}
			h.ActiveRuns++
			h.Unconfirmed++
			free[want[0].project]--
			p := turns[want[0].project]
			p.Turn = int64(1000 + n)
			turns[want[0].project] = p
			runs = slices.DeleteFunc(runs, func(r waits) bool { return r.ID == c.RunID })
		}
		if len(claims) < most {
			for _, r := range runs {
				if rooms := hasRoom(r); len(rooms) > 0 {
					t.Fatalf("%s waits though %s has room for it", r.ID, rooms[0].ID)
				}
			}
		}
	})
}

func TestTheOrderIsTheOneOfPlacement(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		projects := drawProjects(t)
		waiting := map[string][]Waiting{}
		var runs []waits
		for i := range rapid.IntRange(0, 20).Draw(t, "runs") {
			r := waits{Waiting: Waiting{ID: fmt.Sprintf("r%02d", i), Priority: rapid.IntRange(-2, 2).Draw(t, "priority"), PendingSince: svc.Time(rapid.IntRange(0, 9).Draw(t, "since"))},
				project: rapid.SampledFrom(slices.Sorted(maps.Keys(projects))).Draw(t, "project")}
			waiting[r.project] = append(waiting[r.project], r.Waiting)
			runs = append(runs, r)
		}
		var want []string
		for _, r := range modelOrder(runs, projects, func(waits) bool { return true }) {
			want = append(want, r.ID)
		}
		if got := Order(waiting, projects); !slices.Equal(got, want) {
			t.Fatalf("the order is %v, want %v", got, want)
		}
	})
}

func TestRoomIsWhatCanBePlaced(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t)
		d, p := drawDemand(t, &f), drawProjects(t)
		room := f.Room(d, p["p0"])
		runs := make([]Waiting, room+5)
		for i := range runs {
			runs[i].ID = fmt.Sprintf("r%05d", i)
		}
		if got := len(f.Place([]Queue{{"p0", d, runs}}, p, len(runs), 1)); got != room {
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

// drawServed returns service times with pauses between them, made by Extend.
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
		served := time.Duration(0) // since from, counted in milliseconds
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
