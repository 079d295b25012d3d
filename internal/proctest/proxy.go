package proctest

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"svc/internal/waittest"
)

// Proxy is a TCP proxy on a loopback port that simulates a bad network. Both directions of every connection have the
// same Weather, which may change at any time.
type Proxy struct {
	URL    string
	choose func() string // returns the target of the next connection
	tries  int           // how often to choose until a target accepts the connection; 0: once
	l      *Lab
	accept net.Listener
	tasks  sync.WaitGroup

	mu      sync.Mutex // guards the rest
	weather Weather
	changed chan struct{} // closed and replaced when the weather changes
	conns   map[*proxied]bool
	Opened  []time.Time // when each connection was opened, including those that were refused
	beats   []time.Time // when heartbeats were sent to the orchestrator
}

// Weather is the state of the network. The zero value is a good network.
type Weather struct {
	// Refuse closes new connections at once.
	Refuse bool
	// Stall holds all bytes back until the weather changes: no byte is lost, and no connection is closed.
	Stall bool
	// Swallow loses every byte without closing a connection. A connection that lost a byte stays dead, as when a
	// router has dropped its state: open at both ends, without any data.
	Swallow bool
	// SwallowUp loses only the bytes towards the orchestrator.
	SwallowUp bool
	// Delay delays every piece by this time.
	Delay time.Duration
	// Slice splits the data into pieces of so many bytes; 0: as they come.
	Slice int
}

// proxied is one connection through the proxy.
type proxied struct {
	near, far net.Conn
	mu        sync.Mutex
	dead      [2]bool // the directions that have lost bytes; 0 is towards the orchestrator
	beats     beats   // used only by the direction towards the orchestrator
}

// NewProxy makes a proxy to the orchestrator.
func NewProxy(o *Orchestrator) *Proxy {
	o.lab.TB.Helper()
	return newProxy(o.lab, strings.TrimPrefix(o.URL, "http://"))
}

func newProxy(l *Lab, target string) *Proxy {
	l.TB.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		l.TB.Fatal(err)
	}
	p := &Proxy{
		URL: "http://" + listener.Addr().String(), choose: func() string { return target },
		l: l, accept: listener, changed: make(chan struct{}), conns: map[*proxied]bool{},
	}
	p.tasks.Go(p.serve)
	l.TB.Cleanup(func() {
		_ = listener.Close()
		p.Set(Weather{Refuse: true})
		p.Cut()
		p.tasks.Wait()
	})
	return p
}

// Set changes the weather for all connections, open and new.
func (p *Proxy) Set(w Weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.weather = w
	close(p.changed)
	p.changed = make(chan struct{})
}

// Cut closes every open connection, as a reset does.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.close()
	}
}

// OpenedSince returns the number of connections that were tried since t.
func (p *Proxy) OpenedSince(t time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, at := range p.Opened {
		if at.After(t) {
			n++
		}
	}
	return n
}

// Beats returns the times at which a heartbeat of a worker was sent to the orchestrator.
func (p *Proxy) Beats() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.beats[:len(p.beats):len(p.beats)]
}

func (p *Proxy) now() (Weather, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.weather, p.changed
}

func (p *Proxy) serve() {
	for {
		near, err := p.accept.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.Opened = append(p.Opened, time.Now())
		refuse := p.weather.Refuse
		p.mu.Unlock()
		if refuse {
			_ = near.Close()
			continue
		}
		p.tasks.Go(func() { p.connect(near) })
	}
}

// connect relays one connection until it ends.
func (p *Proxy) connect(near net.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
	defer cancel()
	far, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.choose())
	for try := 1; err != nil && try < p.tries; try++ {
		far, err = (&net.Dialer{}).DialContext(ctx, "tcp", p.choose())
	}
	if err != nil {
		_ = near.Close() // the orchestrator is down
		return
	}
	c := &proxied{near: near, far: far}
	p.mu.Lock()
	p.conns[c] = true
	p.mu.Unlock()
	var ways sync.WaitGroup
	ways.Go(func() { p.relay(c, 0, near, far) })
	ways.Go(func() { p.relay(c, 1, far, near) })
	ways.Wait()
	c.close()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// relay copies the bytes of one direction. The end of one direction closes the connection, unless bytes of that
// direction are lost: then the other end does not learn of it.
func (p *Proxy) relay(c *proxied, way int, from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.pass(c, way, to, buf[:n]) {
			return
		}
		if err == nil {
			continue
		}
		if w, _ := p.now(); !c.lost(way) && !w.Swallow && !(w.SwallowUp && way == 0) {
			c.close()
		}
		return
	}
}

// pass relays a piece according to the weather. It returns false when the connection has ended.
func (p *Proxy) pass(c *proxied, way int, to net.Conn, piece []byte) bool {
	for len(piece) > 0 {
		w, changed := p.now()
		switch {
		case w.Swallow || w.SwallowUp && way == 0 || c.lost(way):
			c.lose(way)
			return true
		case w.Stall:
			<-changed
			continue
		case w.Delay > 0:
			Pause(w.Delay)
		}
		n := len(piece)
		if w.Slice > 0 {
			n = min(n, w.Slice)
		}
		if _, err := to.Write(piece[:n]); err != nil {
			c.close()
			return false
		}
		if way == 0 && c.beats.count(piece[:n]) > 0 {
			p.mu.Lock()
			p.beats = append(p.beats, time.Now())
			p.mu.Unlock()
		}
		piece = piece[n:]
	}
	return true
}

func (c *proxied) close() {
	_ = c.near.Close()
	_ = c.far.Close()
}

func (c *proxied) lost(way int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead[way]
}

func (c *proxied) lose(way int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead[way] = true
}
