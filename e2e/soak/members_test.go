package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"svc/internal/pgtest"
	"svc/internal/proctest"
)

const members = 3

// prepareMembers creates orchestrators that share the database. Each has its own proxies to the database, to the others
// and to the balancer.
func (s *site) prepareMembers(options proctest.ServeOptions) {
	s.t.Helper()
	for i := range members {
		s.disks = s.disks && s.smallDisk(fmt.Sprintf("member%d", i), "256m")
	}
	s.m = proctest.NewMembers(s.lab, members, func(int) string {
		link, through := pgtest.NewLink(s.t, s.cluster.DSN)
		s.links = append(s.links, link)
		return through
	}, options)
	s.o, s.all = s.m.Front, s.m.All
}

// ifMembers returns the weight of a fault that is possible only with several orchestrators; 0 if there is one.
func (s *site) ifMembers(weight int) int {
	if s.m == nil {
		return 0
	}
	return weight
}

// recordSeparation records the time span of a fault that separates an orchestrator from the others.
func (s *site) recordSeparation(f fault) fault {
	if s.m == nil {
		return f
	}
	begin, end, from := f.begin, f.end, time.Time{}
	f.begin = func() {
		from = time.Now()
		begin()
	}
	f.end = func() {
		end()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.apart = append(s.apart, outage{f.target, from, time.Now()})
	}
	return f
}

// cutMember disconnects an orchestrator from the database, from the other orchestrators, or from clients and workers.
func (s *site) cutMember(o *proctest.Orchestrator, r *rand.Rand) fault {
	i := slices.Index(s.all, o)
	link := s.links[i]
	lose := func(name string, mode pgtest.Mode) fault {
		return s.recordSeparation(fault{
			name: "orchestrator's database " + name, target: o.Name() + " database", most: 10 * time.Second,
			begin: func() {
				link.Set(mode)
				if mode == pgtest.Refuses {
					link.Cut()
				}
			},
			end: func() {
				link.Set(pgtest.Works)
				link.Cut()
			},
		})
	}
	part := func(name string, silently bool) fault {
		return s.recordSeparation(fault{
			name: "orchestrator separated from the balancer" + name, target: o.Name() + " balancer", most: 10 * time.Second,
			begin: func() { s.m.Separate(o, silently) },
			end:   func() { s.m.Rejoin(o) },
		})
	}
	switch r.IntN(6) {
	case 0:
		return lose("refused", pgtest.Refuses)
	case 1:
		return lose("silent", pgtest.Swallows)
	case 2:
		return part("", false)
	case 3:
		return part(" silently", true)
	default:
		f := cut(s.m.Peers[i], o.Name()+" peers", r)
		f.name = "peers' " + f.name
		return s.recordSeparation(f)
	}
}
