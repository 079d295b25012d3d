package soak

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"svc/internal/proctest"
)

// fault is a failure with a limited duration.
type fault struct {
	name        string
	target      string // a target never has two faults at the same time
	least, most time.Duration
	begin       func() // nil: there is no fault
	end         func()
}

// schedule causes random faults until the time is over, and then ends all of them.
type schedule struct {
	s        *site
	seed     uint64
	pace     time.Duration // the mean time between two faults
	drawn    uint64
	open     []openFault
	faultLog []byte // the times at which faults began and ended
}

type openFault struct {
	fault
	until time.Time
}

// run executes the schedule. Only this goroutine starts and ends processes, so they need no lock.
func (c *schedule) run(duration time.Duration) {
	over := time.Now().Add(duration)
	next := time.Now().Add(c.pace)
	for time.Now().Before(over) {
		if time.Now().After(next) {
			// Each fault has its own random source, so that the conditions of one fault do not change the next.
			c.drawn++
			random := rand.New(rand.NewPCG(c.seed, c.drawn))
			next = time.Now().Add(c.pace/4 + time.Duration(random.Int64N(int64(c.pace)*3/2)))
			c.begin(random, over)
		}
		c.endDue(time.Now())
		c.supervise()
		proctest.Pause(20 * time.Millisecond)
	}
	c.endDue(over.Add(time.Hour))
}

// supervise restarts processes that have ended without a fault, as a service manager does.
func (c *schedule) supervise() {
	for _, o := range c.s.all {
		if !c.s.alive(o.Process) && !c.busy(o.Name()) && !c.busy("database") {
			o.Launch()
		}
	}
	for _, h := range c.s.hosts {
		if !c.s.alive(h.Process) && !c.busy(h.Name) {
			h.Launch()
		}
	}
}

func (c *schedule) busy(target string) bool {
	return slices.ContainsFunc(c.open, func(o openFault) bool { return o.target == target })
}

func (c *schedule) begin(random *rand.Rand, over time.Time) {
	f := c.randomFault(random)
	length := f.least + time.Duration(random.Int64N(int64(max(f.most-f.least, 0))+1))
	until := time.Now().Add(length)
	if f.begin == nil || c.busy(f.target) || until.After(over) {
		return
	}
	c.s.count("fault: " + f.name)
	c.note("begin", f)
	f.begin()
	c.open = append(c.open, openFault{f, until})
}

func (c *schedule) endDue(now time.Time) {
	slices.SortFunc(c.open, func(a, b openFault) int { return cmp.Compare(a.until.UnixNano(), b.until.UnixNano()) })
	for len(c.open) > 0 && !c.open[0].until.After(now) {
		o := c.open[0]
		c.open = c.open[1:]
		if o.end != nil {
			o.end()
			c.note("end", o.fault)
		}
	}
}

// note adds a line to the fault log, which keep stores with the other logs.
func (c *schedule) note(what string, f fault) {
	c.faultLog = append(c.faultLog, fmt.Sprintf("%s %-5s %s (%s)\n", time.Now().UTC().Format("15:04:05.000"), what, f.name, f.target)...)
}

// randomFault returns a random fault. The weights determine how often each kind is chosen.
func (c *schedule) randomFault(r *rand.Rand) fault {
	s := c.s
	h, o := s.anyHost(r), s.anyOrchestrator(r)
	choices := []struct {
		weight int
		fault  func() fault
	}{
		{30, func() fault { return s.killed("orchestrator", o.Name(), o.Process, 2*time.Second) }},
		{20, func() fault { return s.frozen("orchestrator", o.Name(), o.Process) }},
		{30, func() fault { return s.killed("worker", h.Name, h.Process, 3*time.Second) }},
		{20, func() fault { return s.frozen("worker", h.Name, h.Process) }},
		{50, func() fault { return cut(h.proxy, h.Name+" link", r) }},
		{10, func() fault { return cutReader(s.readerProxy, r) }},
		{15, func() fault { return s.killSession(r) }},
		{15, func() fault { return s.freezeSession(r) }},
		{15, func() fault { return s.fillDisk(h.Name, h.Dir) }},
		{10, func() fault { return s.fillDisk("orchestrator", o.Dir) }},
		{30, func() fault { return s.breakDatabase(r) }},
		{15, func() fault { return s.moveClock(r) }},
		{1, func() fault { return s.longOutage() }},
		{s.ifMembers(45), func() fault { return s.cutMember(o, r) }},
	}
	total := 0
	for _, choice := range choices {
		total += choice.weight
	}
	at := r.IntN(total)
	for _, choice := range choices {
		if at -= choice.weight; at < 0 {
			return choice.fault()
		}
	}
	return fault{}
}

func (s *site) killed(what, target string, p *proctest.Process, most time.Duration) fault {
	if !s.alive(p) {
		return fault{} // it ended by itself, and supervise restarts it
	}
	var from time.Time
	return fault{
		name: what + " killed", target: target, most: most,
		begin: func() {
			from = time.Now()
			p.Kill()
		},
		end: func() {
			p.Launch()
			switch {
			case p == s.o.Process:
				s.down = append(s.down, outage{what, from, time.Now()})
			case what == "worker":
				s.away = append(s.away, outage{target, from, time.Now()})
			}
		},
	}
}

func (s *site) frozen(what, target string, p *proctest.Process) fault {
	if !s.alive(p) {
		return fault{}
	}
	return s.recordSeparation(fault{
		name: what + " frozen", target: target, most: 9 * time.Second,
		begin: func() { p.Signal(syscall.SIGSTOP) },
		end:   func() { p.Signal(syscall.SIGCONT) },
	})
}

// longOutage stops the orchestrator for longer than the dispatch timeout.
func (s *site) longOutage() fault {
	if s.m != nil {
		return fault{} // another orchestrator would take over
	}
	f := s.killed("orchestrator", "orchestrator", s.o.Process, dispatchTimeout+5*time.Second)
	f.name, f.least = "orchestrator down for longer than the dispatch timeout", dispatchTimeout+time.Second
	return f
}

// cut breaks the connections of a proxy in one of the ways in which networks fail.
func cut(p *proctest.Proxy, target string, r *rand.Rand) fault {
	f := fault{target: target, most: 10 * time.Second, end: func() { p.Set(proctest.Weather{}) }}
	weather := func(name string, w proctest.Weather) fault {
		f.name, f.begin = name, func() { p.Set(w) }
		return f
	}
	switch r.IntN(6) {
	case 0:
		f.name, f.most, f.begin = "link reset", 0, p.Cut
		return f
	case 1:
		f.name, f.begin = "link refused", func() { p.Set(proctest.Weather{Refuse: true}); p.Cut() }
		return f
	case 2:
		return weather("link stalled", proctest.Weather{Stall: true})
	case 3:
		return weather("link silent", proctest.Weather{Swallow: true})
	case 4:
		return weather("link silent upwards", proctest.Weather{SwallowUp: true})
	default:
		return weather("link slow", proctest.Weather{Delay: 150 * time.Millisecond})
	}
}

// cutReader breaks the connection of a reader of the event stream. The stream has no heartbeat with which
// the reader could detect a silent connection, so each fault ends with a reset.
func cutReader(p *proctest.Proxy, r *rand.Rand) fault {
	f := cut(p, "reader", r)
	f.name = "reader's " + f.name
	end := f.end
	f.end = func() { end(); p.Cut() }
	return f
}
