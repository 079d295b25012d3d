// Package cluster lets any number of orchestrators share one PostgreSQL. One of them leads: it alone has the workers, and decides about runs and hosts, under a
// lease that fences off whoever led before. The others stand by: they take requests, streams and sockets as the leader does, answer what concerns records of the
// database alone, and forward the rest to the leader over a listener that only orchestrators use. Whoever has lost its leader waits a moment for the next one, so that clients and workers may talk to
// any of them at any time.
//
// What is forwarded lives as long as the leader's term. When the term ends, requests that may be repeated are sent to the next leader; all other
// open things are cut, and their owners come back and go on from where they were.
package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc"
	"svc/store"
)

const (
	beatEvery = time.Second
	lookEvery = 200 * time.Millisecond // for a new leader
	// blindAfter is how long this process may be without the database before it answers nothing: who leads may have changed.
	blindAfter = 4 * time.Second
	// cutAfter is how long a leader that lives may be out of reach before the way to it counts as cut.
	cutAfter  = time.Second
	leadRetry = time.Second

	handOverLeast = 5 * time.Second // balancers ask every few seconds
	handOverMost  = 3 * time.Second
	drainMost     = 10 * time.Second // the same for one that is drained, of whose requests none may fail

	// mostAhead is what a clock may differ from the database's. One that differs more leads only when no other does.
	mostAhead   = time.Second
	wrongClocks = 10 * time.Second
)

// Registry is where members are listed.
type Registry interface {
	Beat(ctx context.Context, uplinks int) (store.Standing, error)
	Look(ctx context.Context) (store.Term, error)
	Leave(ctx context.Context) error
}

// Config is what a member is made of.
type Config struct {
	ID       string
	Key      []byte // the signing key, which all share
	Registry Registry
	// Lead waits until it is this process's turn, serves as the leader and returns when the turn is over, or ctx is. It calls serve when the leader's handler
	// can answer, and what serve gives when no more requests may come.
	Lead func(ctx context.Context, serve Serve) error
	// Standby answers requests that concern records of the database alone, where this process does not lead; nil: all are forwarded. Records says
	// which those are, and RecordsMostly which others it can answer where the leader lives and cannot be reached.
	Standby                http.Handler
	Records, RecordsMostly func(r *http.Request) bool
	// Hint is called, where this process leads, when another one says that it has written something.
	Hint func()
	// Files answers, where this process leads, requests for the files that the others keep copies of.
	Files http.Handler
	// Refuse answers a request that cannot be served.
	Refuse func(w http.ResponseWriter, r *http.Request, err error)
	// Accepted is told that a request was accepted that needs a token; nil: nobody wants to know.
	Accepted func(r *http.Request)
	// Repeatable says of a request that would not be repeated otherwise whether it may be.
	Repeatable func(r *http.Request) bool
	// UplinkPath is where workers connect.
	UplinkPath string
	Log        *slog.Logger
}

// Serve has a handler answer requests until stop is called, which ends its streams and sockets by end and waits for everything that is being answered.
type Serve func(h http.Handler, end func()) (stop func())

// Member is one orchestrator of several.
type Member struct {
	Config
	forward *forwarder
	uplinks atomic.Int64
	leaving context.Context // ends when this process takes part no more: streams and sockets end with it, and short requests are still answered
	leave   context.CancelFunc
	relays  sync.WaitGroup // one for each term

	mu       sync.Mutex // guards the rest
	leader   *term      // nil: nobody leads, as far as is known
	changed  chan struct{}
	local    *local    // nil: this process does not lead
	heard    time.Time // when the database last answered
	blind    bool      // that is too long ago
	ahead    time.Duration
	vacant   time.Time // since when nobody leads
	drained  chan struct{}
	draining bool
}

// term is the turn of a leader, as this process sees it.
type term struct {
	store.Term
	ctx context.Context // ends with the term
	end func()

	relay relay // of the uplinks that this process forwards

	mu      sync.Mutex // guards the rest
	renewed time.Time  // when this process last saw that the leader renewed its lease
	failed  time.Time  // since when it cannot be reached; zero: it can
}

// begin makes the term one in which this process forwards, until end is called. Uplinks end when this process leaves, too.
func (t *term) begin(leaving context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(leaving, t.relay.end)
	t.ctx, t.end = ctx, func() {
		stop()
		t.relay.end()
		cancel()
	}
}

// relayed returns when the term is over and its uplinks are closed.
func (t *term) relayed() {
	<-t.ctx.Done()
	t.relay.wait()
}

// alive notes that the leader has renewed its lease.
func (t *term) alive(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = now
}

// reached notes whether the leader could be reached.
func (t *term) reached(ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ok {
		t.failed = time.Time{}
	} else if t.failed.IsZero() {
		t.failed = time.Now()
	}
}

// cut says whether the way to the leader is cut: it cannot be reached, although it has renewed its lease since. One that cannot be reached and does not renew it is dead, or about to
// be replaced.
func (t *term) cut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.failed.IsZero() && t.renewed.After(t.failed.Add(cutAfter))
}

// local is the handler of the leader that this process is.
type local struct {
	handler http.Handler
	busy    sync.WaitGroup // requests that are being answered
}

// New makes a member. Its public handler is ServeHTTP, the one for the others is Peers.
func New(c Config) *Member {
	m := &Member{Config: c, changed: make(chan struct{}), drained: make(chan struct{}), heard: time.Now(), vacant: time.Now()}
	m.leaving, m.leave = context.WithCancel(context.Background())
	m.forward = newForwarder(m)
	return m
}

// Drained is closed when this process was told to hand over and end.
func (m *Member) Drained() <-chan struct{} { return m.drained }

// Run takes part until ctx ends or this process is drained. It leaves its turn to another one before it ends, and forwards meanwhile. What comes after it has
// ended is still forwarded to the leader that it knew: listeners are closed then.
func (m *Member) Run(ctx context.Context) error {
	staying, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	g, inner := errgroup.WithContext(staying)
	g.Go(func() error { return m.beats(inner) })
	g.Go(func() error { return m.watchRegistry(inner) })
	g.Go(func() error {
		defer leave()
		m.leads(ctx)
		m.handOver()
		return nil
	})
	err := g.Wait()
	m.leave()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if leaveErr := m.Registry.Leave(last); leaveErr != nil {
		m.Log.Warn("the end of this orchestrator cannot be written", "error", leaveErr)
	}
	return err
}

// Close ends everything that is still forwarded, and waits for the uplinks among it. It is called once, after Run.
func (m *Member) Close() {
	m.follow(store.Term{})
	m.relays.Wait()
}

// handOver waits until another one leads, though not for long, and when this process is drained until balancers have had a moment to see it.
func (m *Member) handOver() {
	most, least := time.After(handOverMost), time.After(0)
	if m.ready() != nil {
		most, least = time.After(drainMost), time.After(handOverLeast)
	}
	for {
		leader, _, changed := m.state()
		if leader != nil && leader.Replica != m.ID {
			break
		}
		select {
		case <-changed:
		case <-most:
			return
		}
	}
	<-least
}

// beats says that this process lives, and learns what it should do.
func (m *Member) beats(ctx context.Context) error {
	return every(ctx, beatEvery, func() {
		s, err := m.Registry.Beat(ctx, int(m.uplinks.Load()))
		m.took(s.Term, err)
		if err != nil {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if s.ClockAhead.Abs() > mostAhead && m.ahead.Abs() <= mostAhead {
			m.Log.Warn("the clock of this orchestrator differs from the database's; it leads only when no other does", "ahead", s.ClockAhead)
		}
		m.ahead = s.ClockAhead
		if s.Draining && !m.draining {
			m.draining = true
			close(m.drained)
		}
	})
}

func (m *Member) watchRegistry(ctx context.Context) error {
	return every(ctx, lookEvery, func() { m.took(m.Registry.Look(ctx)) })
}

func every(ctx context.Context, d time.Duration, do func()) error {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		do()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// took notes what the database says of the leader, or that it does not answer.
func (m *Member) took(t store.Term, err error) {
	now := time.Now()
	m.mu.Lock()
	was := m.blind
	if err == nil {
		m.heard = now
	}
	m.blind = now.Sub(m.heard) > blindAfter
	blind := m.blind
	m.mu.Unlock()
	switch {
	case blind && !was:
		m.Log.Warn("the database does not answer; this orchestrator serves nothing until it does", "error", err)
	case was && !blind:
		m.Log.Info("the database answers again")
	}
	switch {
	case err == nil:
		m.follow(t)
	case blind:
		m.follow(store.Term{})
	}
}

// follow notes whose term it is. What was forwarded in another one ends.
func (m *Member) follow(t store.Term) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leader == nil && t.Replica == "" {
		return
	}
	now := time.Now()
	if m.leader != nil && m.leader.Epoch == t.Epoch && m.leader.Replica == t.Replica {
		if t.Renewed > m.leader.Renewed {
			m.leader.Renewed = t.Renewed
			m.leader.alive(now)
		}
		return
	}
	if m.leader != nil && t.Epoch != 0 && t.Epoch < m.leader.Epoch {
		return // read before the other
	}
	if m.leader != nil {
		m.leader.end()
		m.leader = nil
	}
	if t.Replica == "" {
		m.vacant = now
	} else {
		m.leader = &term{Term: t, renewed: now}
		m.leader.begin(m.leaving)
		m.relays.Go(m.leader.relayed)
	}
	m.tell()
}

// tell wakes whoever waits for a leader. The lock is held.
func (m *Member) tell() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// leads takes this process's turns.
func (m *Member) leads(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-m.drained: // it leaves its turn to the others, and takes no other
			stop()
		case <-ctx.Done():
		}
	}()
	for ctx.Err() == nil {
		if m.fit() {
			if err := m.Lead(ctx, m.serve); err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
				m.Log.Warn("this orchestrator leads no more", "error", err)
			}
		}
		select {
		case <-time.After(leadRetry):
		case <-ctx.Done():
		}
	}
}

// ClockRight says whether the clock of this process is the database's, as far as is known.
func (m *Member) ClockRight() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ahead.Abs() <= mostAhead
}

// fit says whether this process may lead: its clock is right, or nobody else has taken the lead for a while.
func (m *Member) fit() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ahead.Abs() <= mostAhead || m.leader == nil && time.Since(m.vacant) > wrongClocks
}

// serve has requests answered here.
func (m *Member) serve(h http.Handler, end func()) (stop func()) {
	l := &local{handler: h}
	m.mu.Lock()
	m.local = l
	m.tell()
	m.mu.Unlock()
	return func() {
		m.mu.Lock()
		m.local = nil
		m.tell()
		m.mu.Unlock()
		end()
		l.busy.Wait()
	}
}

// enter is the handler of this process while it leads; leave must be called when it has answered.
func (m *Member) enter() (h http.Handler, leave func(), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.local == nil {
		return nil, nil, false
	}
	m.local.busy.Add(1)
	return m.local.handler, m.local.busy.Done, true
}

// state is who leads, as far as is known, and what to wait for until that changes.
func (m *Member) state() (leader *term, here bool, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leader, m.local != nil, m.changed
}

// reachable says why this process, which does not lead, cannot serve everything; nil: it can. While the lead changes hands it can: requests wait.
func (m *Member) reachable() error {
	m.mu.Lock()
	leader, vacant := m.leader, m.vacant
	m.mu.Unlock()
	switch {
	case leader == nil && time.Since(vacant) > holdLimit:
		return errNoLeader
	case leader != nil && leader.cut():
		return errUnreachable
	}
	return nil
}

// ready says why this process cannot serve requests; nil: it can.
func (m *Member) ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.draining:
		return svc.Unavailable(svc.CauseDraining)
	case time.Since(m.heard) > blindAfter:
		return svc.Unavailable(svc.CauseDatabaseUnreachable)
	}
	return nil
}
