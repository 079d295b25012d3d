package place

import (
	"slices"

	"svc"
)

// Queue is the runs of one demand, longest waiting first.
type Queue struct {
	Demand Demand
	Runs   []Waiting
}

// Waiting is a pending run that nothing but capacity holds back.
type Waiting struct {
	ID           string
	PendingSince svc.Time
}

// Claim gives a run to a host.
type Claim struct{ RunID, HostID string }

// Room is how many runs of a demand can be placed now: reading more of them is
// of no use.
func (f *Fleet) Room(d Demand) int {
	n := 0
	for _, h := range f.eligible(d) {
		n += h.free()
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

// Place gives waiting runs to hosts, the longest waiting run first whatever
// its queue, until the queues are empty, no host has room, or it made most
// claims. It counts what it gives in the fleet's own figures.
func (f *Fleet) Place(queues []Queue, most int, now svc.Time) []Claim {
	lines := make([]line, 0, len(queues))
	for _, q := range queues {
		if len(q.Runs) > 0 {
			lines = append(lines, line{q.Runs, f.eligible(q.Demand)})
		}
	}
	var claims []Claim
	for len(lines) > 0 && len(claims) < most {
		first := 0
		for i := range lines {
			if lines[i].before(&lines[first]) {
				first = i
			}
		}
		l := &lines[first]
		h := l.best()
		if h != nil {
			claims = append(claims, Claim{RunID: l.runs[0].ID, HostID: h.ID})
			h.ActiveRuns++
			h.Unconfirmed++
			h.LastDispatchAt = &now
			l.runs = l.runs[1:]
		}
		if h == nil || len(l.runs) == 0 {
			lines[first] = lines[len(lines)-1]
			lines = lines[:len(lines)-1]
		}
	}
	return claims
}

// line is a queue on its way through Place.
type line struct {
	runs  []Waiting
	hosts []*Host // that were eligible before anything was placed
}

func (l *line) before(other *line) bool {
	a, b := l.runs[0], other.runs[0]
	if a.PendingSince != b.PendingSince {
		return a.PendingSince < b.PendingSince
	}
	return a.ID < b.ID
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
