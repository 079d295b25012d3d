package place

import (
	"slices"
	"strings"

	"svc"
)

// Queue is the runs of one project and demand, in the order in which they are placed.
type Queue struct {
	ProjectID string
	Demand    Demand
	Runs      []Waiting
}

// Waiting is a pending run that only missing capacity holds back.
type Waiting struct {
	ID           string
	Priority     int
	PendingSince svc.Time
}

// compare orders the runs of one project: higher priority first, then longer wait first.
func (w Waiting) compare(other Waiting) int {
	switch {
	case w.Priority != other.Priority:
		return other.Priority - w.Priority
	case w.PendingSince != other.PendingSince:
		return int(min(max(w.PendingSince-other.PendingSince, -1), 1))
	default:
		return strings.Compare(w.ID, other.ID)
	}
}

// Project is the data about a project that placement uses.
type Project struct {
	Isolated bool // its runs get working copies
	Limited  bool
	Free     int   // of a limited project: how many more runs it may have
	Turn     int64 // orders projects by their last placement: the lowest was placed longest ago
}

// Full reports whether the project's limit is reached.
func (p Project) Full() bool { return p.Limited && p.Free <= 0 }

// Claim assigns a run to a host.
type Claim struct {
	RunID, HostID string
	Host          *Host // in the fleet on which the claim was decided
}

// Room returns how many runs of a demand can be placed now. The caller need not read more runs than that.
func (f *Fleet) Room(d Demand, p Project) int {
	n := 0
	for _, h := range f.eligible(d) {
		n += h.free()
	}
	if p.Limited {
		n = min(n, max(p.Free, 0))
	}
	return n
}

// Crowded reports whether some host gets no more runs because too many of its dispatches are unconfirmed.
func (f *Fleet) Crowded() bool {
	return slices.ContainsFunc(f.Hosts, func(h Host) bool { return h.Unconfirmed >= MostUnconfirmed })
}

func (f *Fleet) eligible(d Demand) []*Host {
	var out []*Host
	for i, why := range f.reasons(d) {
		if why == Eligible {
			out = append(out, &f.Hosts[i])
		}
	}
	return out
}

// Place assigns waiting runs to hosts, in order, until the queues are empty, no host has room, or it has made most
// claims. A run for which no host has room does not block the runs after it. Place adds each claim to the counters of
// the fleet's hosts.
func (f *Fleet) Place(queues []Queue, projects map[string]Project, most int, now svc.Time) []Claim {
	l := newLines(projects)
	for _, q := range queues {
		l.add(q.ProjectID, q.Runs, f.eligible(q.Demand))
	}
	free := map[string]int{}
	for id, p := range projects {
		if p.Limited {
			free[id] = p.Free
		}
	}
	var claims []Claim
	for len(claims) < most {
		next := l.first()
		if next == nil {
			break
		}
		room, limited := free[next.project]
		h := next.best()
		if h == nil || limited && room <= 0 {
			l.drop(next)
			continue
		}
		claims = append(claims, Claim{RunID: l.take(next).ID, HostID: h.ID, Host: h})
		free[next.project] = room - 1
		if !limited {
			delete(free, next.project)
		}
		h.ActiveRuns++
		h.Unconfirmed++
		h.LastDispatchAt = &now
	}
	return claims
}

// Order returns the ids of the waiting runs of all projects, in the order in which they would be placed if every host
// could take every run.
func Order(waiting map[string][]Waiting, projects map[string]Project) []string {
	l := newLines(projects)
	total := 0
	for id, runs := range waiting {
		runs = slices.Clone(runs)
		slices.SortFunc(runs, Waiting.compare)
		l.add(id, runs, nil)
		total += len(runs)
	}
	out := make([]string, 0, total)
	for next := l.first(); next != nil; next = l.first() {
		out = append(out, l.take(next).ID)
	}
	return out
}

// lines are the queues that still have runs. Only this type decides which run is next: the highest priority first;
// among equal priorities the projects take turns; within a project the longest wait first.
type lines struct {
	open  []*line
	turns map[string]int // per project: higher means a more recent turn
	last  int
}

type line struct {
	project string
	runs    []Waiting
	hosts   []*Host // that were eligible before the first claim
}

func newLines(projects map[string]Project) *lines {
	var times []int64
	for _, p := range projects {
		times = append(times, p.Turn)
	}
	slices.Sort(times)
	times = slices.Compact(times)
	l := &lines{turns: map[string]int{}, last: len(times)}
	for id, p := range projects {
		l.turns[id], _ = slices.BinarySearch(times, p.Turn)
	}
	return l
}

func (l *lines) add(project string, runs []Waiting, hosts []*Host) {
	if len(runs) > 0 {
		l.open = append(l.open, &line{project, runs, hosts})
	}
}

// first returns the line whose first run is next; nil: no line is left.
func (l *lines) first() *line {
	var first *line
	for _, next := range l.open {
		if first == nil || l.before(next, first) {
			first = next
		}
	}
	return first
}

func (l *lines) before(a, b *line) bool {
	x, y := a.runs[0], b.runs[0]
	if x.Priority == y.Priority && l.turns[a.project] != l.turns[b.project] {
		return l.turns[a.project] < l.turns[b.project]
	}
	return x.compare(y) < 0
}

// take removes and returns the first run of a line, and counts it as its project's turn.
func (l *lines) take(next *line) Waiting {
	r := next.runs[0]
	l.last++
	l.turns[next.project] = l.last
	if next.runs = next.runs[1:]; len(next.runs) == 0 {
		l.drop(next)
	}
	return r
}

func (l *lines) drop(gone *line) {
	l.open = slices.DeleteFunc(l.open, func(other *line) bool { return other == gone })
}

// best returns the host with room that has the fewest active runs; among equals, the one with the oldest dispatch.
func (l *line) best() *Host {
	var best *Host
	for _, h := range l.hosts {
		if h.free() > 0 && (best == nil || lessBusy(h, best)) {
			best = h
		}
	}
	return best
}

func lessBusy(a, b *Host) bool {
	if a.ActiveRuns != b.ActiveRuns {
		return a.ActiveRuns < b.ActiveRuns
	}
	return lastDispatch(a) < lastDispatch(b)
}

func lastDispatch(h *Host) svc.Time {
	if h.LastDispatchAt == nil {
		return 0
	}
	return *h.LastDispatchAt
}
