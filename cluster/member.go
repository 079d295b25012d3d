// Package cluster lets any number of orchestrators share one PostgreSQL database. One of them leads: only the leader
// controls the workers and decides about runs and hosts. It holds a lease, which fences off the previous leader. The
// others are followers. They accept requests, streams and sockets like the leader. Requests that concern only records
// of the database they handle themselves. All others they forward to the leader, over a listener that only
// orchestrators use. While there is no leader, requests wait for the next one, for a limited time. So clients and
// workers may connect to any orchestrator at any time.
//
// A forwarded request lives at most as long as the leader's term. When the term ends, requests that may be repeated are
// sent to the next leader. All other requests, streams and sockets are cut off. Their clients connect again and resume.
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
	lookEvery = 200 * time.Millisecond // interval at which the term is read, to find a new leader
	// blindAfter is how long the database may not respond to this process. After that, this process is not ready and
	// forwards nothing, because the leader may have changed.
	blindAfter = 4 * time.Second
	// cutAfter is a time after the first failed attempt to reach the leader. If the leader renews its lease after it
	// and still cannot be reached, the network path to it is assumed to be broken.
	cutAfter  = time.Second
	leadRetry = time.Second

	handOverLeast = 5 * time.Second  // load balancers check the readiness every few seconds
	handOverMost  = 3 * time.Second  // longest wait for another leader
	drainMost     = 10 * time.Second // the same if this process is drained, because then no request may fail

	// mostAhead is the largest difference between the clock of this process and the database's with which this process
	// leads as usual. With a larger difference it leads only if there was no leader for wrongClocks.
	mostAhead   = time.Second
	wrongClocks = 10 * time.Second
)

// Registry is the list of members in the database.
type Registry interface {
	Beat(ctx context.Context, uplinks int) (store.Standing, error)
	Look(ctx context.Context) (store.Term, error)
	Leave(ctx context.Context) error
}

// Config contains the settings of a member and the functions that it calls.
type Config struct {
	ID       string
	Key      []byte // the signing key; the same for all members
	Registry Registry
	// Lead waits until this process can lead, serves as the leader, and returns when the term or ctx ends. It calls
	// serve when the leader's handler can handle requests. It calls the function that serve returns when the handler
	// must get no more requests.
	Lead func(ctx context.Context, serve Serve) error
	// Standby handles requests that concern only records of the database, while this process does not lead; nil: all
	// requests are forwarded. Records reports whether a request is of that kind. RecordsMostly reports whether Standby
	// can handle a request if the leader is alive but cannot be reached.
	Standby                http.Handler
	Records, RecordsMostly func(r *http.Request) bool
	// Hint is called, while this process leads, when another member reports that it has written to the database.
	Hint func()
	// Files serves, while this process leads, the files that the other members copy.
	Files http.Handler
	// Refuse responds with an error to a request that cannot be handled.
	Refuse func(w http.ResponseWriter, r *http.Request, err error)
	// Accepted is called with a request that another member has signed, or that the leader answered with a status
	// below 400; nil: not called. It may mark the connection of the request as authenticated.
	Accepted func(r *http.Request)
	// Repeatable reports whether a request may be repeated, if neither its method nor an idempotency key makes it
	// repeatable.
	Repeatable func(r *http.Request) bool
	// UplinkPath is the path of the workers' uplinks.
	UplinkPath string
	// RegisterPath is the path of the workers' registrations. After an outage, thousands of them arrive at once.
	RegisterPath string
	Log          *slog.Logger
}

// Serve makes h handle requests until stop is called. stop calls end, which ends the streams and sockets of h, and waits
// for the requests that h still handles.
type Serve func(h http.Handler, end func()) (stop func())

// Member is one of several orchestrators on a database.
type Member struct {
	Config
	forward *forwarder
	uplinks atomic.Int64
	leaving context.Context // ends at the end of Run: forwarded streams and sockets end then; short requests are still forwarded
	leave   context.CancelFunc
	relays  sync.WaitGroup // one for each term

	mu       sync.Mutex    // guards the rest
	leader   *term         // nil: there is no leader, as far as known
	changed  chan struct{} // closed and replaced when leader or local changes
	local    *local        // nil: this process does not lead
	heard    time.Time     // when the database last responded
	blind    bool          // the database has not responded for longer than blindAfter
	ahead    time.Duration
	vacant   time.Time // since when there is no leader
	drained  chan struct{}
	draining bool
}

// term is the term of a leader as this process observes it.
type term struct {
	store.Term
	ctx context.Context // ends with the term
	end func()

	relay relay // of the uplinks that this process forwards

	mu      sync.Mutex // guards the rest
	renewed time.Time  // when this process last read that the leader had renewed its lease
	failed  time.Time  // since when the leader cannot be reached; zero: it can
	queue   tries
}

// begin prepares the term for forwarding. What is forwarded ends when t.end is called. Uplinks also end when leaving
// ends.
func (t *term) begin(leaving context.Context) {
	t.queue.tried(false) // a new leader may not serve requests yet: one request tries
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(leaving, t.relay.end)
	t.ctx, t.end = ctx, func() {
		stop()
		t.relay.end()
		cancel()
	}
}

// relayed waits until the term has ended and its uplinks are closed.
func (t *term) relayed() {
	<-t.ctx.Done()
	t.relay.wait()
}

// alive records that the leader has renewed its lease.
func (t *term) alive(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = now
}

// reached records whether the leader could be reached.
func (t *term) reached(ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ok {
		t.failed = time.Time{}
	} else if t.failed.IsZero() {
		t.failed = time.Now()
	}
}

// cut reports whether the network path to the leader is broken: the leader cannot be reached, but has renewed its lease
// since the first failed attempt. A leader that cannot be reached and does not renew its lease is dead or about to be
// replaced.
func (t *term) cut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.failed.IsZero() && t.renewed.After(t.failed.Add(cutAfter))
}

// local is the handler of this process while it leads.
type local struct {
	handler http.Handler
	busy    sync.WaitGroup // requests that are being handled
}

// New returns a member. ServeHTTP is its handler for clients and workers, Peers its handler for the other members.
func New(c Config) *Member {
	m := &Member{Config: c, changed: make(chan struct{}), drained: make(chan struct{}), heard: time.Now(), vacant: time.Now()}
	m.leaving, m.leave = context.WithCancel(context.Background())
	m.forward = newForwarder(m)
	return m
}

// Drained returns a channel that is closed when an operator has requested that this process hands over and ends.
func (m *Member) Drained() <-chan struct{} { return m.drained }

// Run takes part in the cluster until ctx ends or this process is drained. Then it ends its own term, waits for a limited
// time until another member leads, and forwards requests meanwhile. Requests that arrive after Run has returned are
// still forwarded to the last known leader. The listeners must be closed after Run.
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

// Close ends all forwarded requests and waits until the uplinks are closed. It must be called once, after Run.
func (m *Member) Close() {
	m.follow(store.Term{})
	m.relays.Wait()
}

// handOver waits for a limited time until another member leads. If this process is not ready, such as when it is
// drained, handOver also gives load balancers time to notice that.
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

// beats records at intervals that this process is alive, and reads the term and whether this process must drain.
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

// took records the term that was read from the database, or that the database did not respond.
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

// follow records the current term. Everything that was forwarded in another term ends.
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
		return // t was read before the term that is known
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

// tell wakes all that wait for a change of the leader. The caller holds m.mu.
func (m *Member) tell() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// leads calls Lead repeatedly, until ctx ends or this process is drained.
func (m *Member) leads(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-m.drained: // this process ends its term and does not lead again
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

// ClockRight reports whether the clock of this process agreed with the database's when it was last compared.
func (m *Member) ClockRight() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ahead.Abs() <= mostAhead
}

// fit reports whether this process may lead: its clock is right, or there was no leader for wrongClocks.
func (m *Member) fit() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ahead.Abs() <= mostAhead || m.leader == nil && time.Since(m.vacant) > wrongClocks
}

// serve makes h handle the requests of this process; see Serve.
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

// enter returns the handler of this process while it leads. The caller must call leave after h has returned.
func (m *Member) enter() (h http.Handler, leave func(), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.local == nil {
		return nil, nil, false
	}
	m.local.busy.Add(1)
	return m.local.handler, m.local.busy.Done, true
}

// state returns the leader's term, as far as known, and whether this process leads. changed is closed when one of them
// changes.
func (m *Member) state() (leader *term, here bool, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leader, m.local != nil, m.changed
}

// reachable returns an error if this process, which does not lead, cannot forward requests. For holdLimit after the end
// of a term it returns nil, because requests wait for the next leader.
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

// ready returns an error if this process cannot handle requests, or should get no new ones because it drains.
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
