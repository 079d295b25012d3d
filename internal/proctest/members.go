package proctest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"svc"
	"svc/internal/waittest"
)

// The secrets that all orchestrators of one database must share.
const (
	memberToken       = "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb"
	MemberWorkerToken = "ccccccccccccccccdddddddddddddddd"
)

var memberKey = strings.Repeat("5e", 32)

// Members are orchestrators that share a PostgreSQL database, with a load balancer in front of them.
type Members struct {
	All []*Orchestrator
	// Front has the address that clients and workers use: that of the balancer, which always answers. It has no
	// process of its own.
	Front *Orchestrator
	// Peers has, for each orchestrator, the proxy through which the others reach it.
	Peers []*Proxy

	l       *Lab
	options ServeOptions
	front   *Proxy
	mu      sync.Mutex // guards the rest, and All and Peers while they grow
	down    map[*Orchestrator]bool
	apart   map[*Orchestrator]bool // the balancer does not use them
}

// NewMembers prepares n orchestrators. database returns the DSN for each of them.
func NewMembers(l *Lab, n int, database func(i int) string, o ServeOptions) *Members {
	l.TB.Helper()
	m := &Members{l: l, options: o, down: map[*Orchestrator]bool{}, apart: map[*Orchestrator]bool{}}
	for i := range n {
		m.Add(database(i), o)
	}
	m.balance()
	return m
}

// Add prepares one more orchestrator.
func (m *Members) Add(database string, o ServeOptions) *Orchestrator {
	m.l.TB.Helper()
	o.Name = fmt.Sprintf("member%d", len(m.All))
	one, way := m.prepare(database, o)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.All, m.Peers = append(m.All, one), append(m.Peers, way)
	return one
}

// Joiner prepares another orchestrator that joins them, with variables of its own. The balancer does not use it.
func (m *Members) Joiner(name, database string, env ...string) *Orchestrator {
	m.l.TB.Helper()
	o := m.options
	o.Name, o.Env = name, env
	one, _ := m.prepare(database, o)
	return one
}

func (m *Members) prepare(database string, o ServeOptions) (*Orchestrator, *Proxy) {
	m.l.TB.Helper()
	port := FreePort(m.l.TB)
	way := newProxy(m.l, fmt.Sprintf("127.0.0.1:%d", port))
	o.Database = database
	o.Server += fmt.Sprintf("cluster_address = %q\ncluster_listen = \"127.0.0.1:%d\"\n", strings.TrimPrefix(way.URL, "http://"), port)
	o.Env = append([]string{"SVC_TOKEN=" + memberToken, "SVC_WORKER_TOKEN=" + MemberWorkerToken, "SVC_SIGNING_KEY=" + memberKey}, o.Env...)
	one := NewOrchestrator(m.l, o)
	one.token = memberToken
	return one, way
}

// Separate disconnects an orchestrator from the balancer, and so from clients and workers. With silently, open
// connections are not closed: they stay open and lose every byte.
func (m *Members) Separate(o *Orchestrator, silently bool) {
	m.mu.Lock()
	m.apart[o] = true
	m.mu.Unlock()
	for _, c := range m.through(o) {
		if silently {
			c.lose(0)
			c.lose(1)
		} else {
			c.close()
		}
	}
}

// Rejoin ends a separation.
func (m *Members) Rejoin(o *Orchestrator) {
	for _, c := range m.through(o) {
		c.close()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.apart, o)
}

// through lists the balancer's connections to an orchestrator.
func (m *Members) through(o *Orchestrator) (found []*proxied) {
	m.front.mu.Lock()
	defer m.front.mu.Unlock()
	for c := range m.front.conns {
		if c.far.RemoteAddr().String() == o.address() {
			found = append(found, c)
		}
	}
	return found
}

func (o *Orchestrator) address() string { return fmt.Sprintf("127.0.0.1:%d", o.Port) }

// Start starts all and waits until each is ready.
func (m *Members) Start() {
	m.l.TB.Helper()
	for _, o := range m.All {
		o.Launch()
	}
	for _, o := range m.All {
		o.AwaitReady()
	}
}

// Leader returns the orchestrator that leads, according to any one of them.
func (m *Members) Leader() *Orchestrator {
	m.l.TB.Helper()
	var found *Orchestrator
	waittest.Eventually(m.l.TB, "one orchestrator leads", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		list, err := m.Front.Client().Replicas(ctx, svc.Page{Limit: 100})
		if err != nil {
			return false
		}
		for _, r := range list.Items {
			for i, p := range m.Peers {
				if r.Leader && strings.TrimPrefix(p.URL, "http://") == r.Address {
					found = m.All[i]
				}
			}
		}
		return found != nil
	})
	return found
}

// Follower returns a running orchestrator that does not lead.
func (m *Members) Follower() *Orchestrator {
	leader := m.Leader()
	for _, o := range m.All {
		if o != leader && o.Running() {
			return o
		}
	}
	m.l.TB.Fatal("there is no other orchestrator")
	return nil
}

// balance starts a balancer that checks continuously which orchestrators are ready.
func (m *Members) balance() {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		m.l.TB.Fatal(err)
	}
	p := &Proxy{URL: "http://" + listener.Addr().String(), l: m.l, accept: listener, changed: make(chan struct{}), conns: map[*proxied]bool{}}
	p.tries, m.front = len(m.All), p
	turn := 0
	p.choose = func() string {
		m.mu.Lock()
		defer m.mu.Unlock()
		for range m.All {
			turn++
			if o := m.All[turn%len(m.All)]; !m.down[o] && !m.apart[o] {
				return o.address()
			}
		}
		turn++ // none is known to be ready, so any is tried
		return m.All[turn%len(m.All)].address()
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.tasks.Go(p.serve)
	p.tasks.Go(func() { m.watch(ctx) })
	m.l.TB.Cleanup(func() {
		cancel()
		_ = listener.Close()
		p.Cut()
		p.tasks.Wait()
	})
	front := *m.All[0]
	front.URL, front.Process = p.URL, &Process{name: "front", lab: m.l}
	m.Front = &front
}

func (m *Members) watch(ctx context.Context) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		m.mu.Lock()
		all := m.All
		m.mu.Unlock()
		var asked sync.WaitGroup
		for _, o := range all {
			asked.Go(func() {
				answer, err := client.Get(o.URL + "/readyz") //nolint:noctx // the client has a timeout
				ready := err == nil && answer.StatusCode == http.StatusOK
				if err == nil {
					_ = answer.Body.Close()
				}
				m.mu.Lock()
				m.down[o] = !ready
				m.mu.Unlock()
			})
		}
		asked.Wait()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
