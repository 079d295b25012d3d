package place

import (
	"slices"
	"strings"

	"svc"
)

// Queue is the runs of one project and demand, in the order in which they go.
type Queue struct {
	ProjectID string
	Demand    Demand
	Runs      []Waiting
}

// Waiting is a pending run that nothing but capacity holds back.
type Waiting struct {
	ID           string
	Priority     int
	PendingSince svc.Time
}

// compare orders the runs of one project: the higher priority first, then who
// waits longer.
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

// Project is what placement must know of a project.
type Project struct {
	Isolated bool // its runs get working copies
	Limited  bool
	Free     int   // of a limited one: how many runs may be added
	Turn     int64 // the lower, the longer ago a run of it was placed
}

// Full says that the project's limit is reached.
func (p Project) Full() bool { return p.Limited && p.Free <= 0 }

// Claim gives a run to a host.
type Claim struct{ RunID, HostID string }

// Room is how many runs of a demand can be placed now: reading more of them is
// of no use.
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

// Crowded says whether a host is not given runs because of those it has not
// confirmed.
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

// Place gives waiting runs to hosts in their order, until the queues are empty,
// nobody has room, or it made most claims. A run that finds no room lets others
// pass. It counts what it gives in the fleet's own figures.
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
		claims = append(claims, Claim{RunID: l.take(next).ID, HostID: h.ID})
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

// Order is the ids of waiting runs, of all projects, in the order in which they
// are placed when every host takes every run.
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

// lines are queues on their way: which run goes next is decided here alone. The
// highest priority goes first; among equal ones projects take turns, and within
// a project who waits longest goes first.
type lines struct {
	open  []*line
	turns map[string]int // of each project: the higher, the later it was
	last  int
}

type line struct {
	project string
	runs    []Waiting
	hosts   []*Host // that were eligible before anything was placed
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

// first is the line whose first run goes next; nil: none is left.
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

// take is the first run of a line; its project had its turn.
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

// best is the least busy host with room, then the longest idle.
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
