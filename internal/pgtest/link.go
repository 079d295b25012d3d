package pgtest

import (
	"context"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Link is a connection path to a server. A test can break it.
type Link struct {
	target string // the server's socket
	accept net.Listener
	tasks  sync.WaitGroup

	mu    sync.Mutex // guards the rest
	mode  Mode
	delay time.Duration // for each piece towards the server
	conns map[*linked]bool
	// sent is called for the nth piece towards the server, before it is sent; nil: it is not called. With cut, the
	// connection is closed: before the piece is sent, or with after, after that.
	sent func(n int) (cut, after bool)
	n    int
	all  int // pieces sent towards the server
}

// Mode is how a link behaves.
type Mode int

// The modes.
const (
	Works    Mode = iota
	Swallows      // loses every byte and closes nothing; a connection that lost a byte stays dead
	Refuses       // closes new connections at once
)

type linked struct {
	near, far net.Conn
	dead      bool // guarded by Link.mu
}

// NewLink makes a link to the database of a DSN from Start. It returns the link and the DSN that uses it.
func NewLink(tb testing.TB, dsn string) (*Link, string) {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	l := &Link{target: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"), accept: listener, conns: map[*linked]bool{}}
	l.tasks.Go(l.serve)
	tb.Cleanup(func() {
		_ = listener.Close()
		l.Cut()
		l.tasks.Wait()
	})
	near := *u
	near.Host = listener.Addr().String()
	near.RawQuery = url.Values{"sslmode": {"disable"}}.Encode()
	return l, near.String()
}

// Set changes how the link behaves, for open connections and new ones.
func (l *Link) Set(m Mode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mode = m
}

// Delay delays each piece towards the server, so that each round trip takes d longer, on open and new connections. 0
// means no delay.
func (l *Link) Delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
}

// Cut closes every connection.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.near.Close()
		_ = c.far.Close()
	}
}

// CutAt closes the connection that sends the nth piece from now towards the server: before the piece is sent, or
// after it.
func (l *Link) CutAt(nth int, after bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n = 0
	l.sent = func(n int) (bool, bool) { return n == nth, after }
}

// Pieces returns how many pieces were sent towards the server.
func (l *Link) Pieces() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

func (l *Link) serve() {
	for {
		near, err := l.accept.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		refuse := l.mode == Refuses
		l.mu.Unlock()
		if refuse {
			_ = near.Close()
			continue
		}
		far, err := (&net.Dialer{}).DialContext(context.Background(), "unix", l.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		c := &linked{near: near, far: far}
		l.mu.Lock()
		l.conns[c] = true
		l.mu.Unlock()
		l.tasks.Go(func() {
			var ways sync.WaitGroup
			ways.Go(func() { l.relay(c, near, far, true) })
			ways.Go(func() { l.relay(c, far, near, false) })
			ways.Wait()
			l.mu.Lock()
			delete(l.conns, c)
			l.mu.Unlock()
		})
	}
}

func (l *Link) relay(c *linked, from, to net.Conn, up bool) {
	defer func() {
		l.mu.Lock()
		dead := c.dead
		l.mu.Unlock()
		if !dead {
			_ = c.near.Close()
			_ = c.far.Close()
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		l.mu.Lock()
		c.dead = c.dead || l.mode == Swallows
		dead := c.dead
		delay := l.delay
		var cut, after bool
		if up {
			l.all++
		}
		if up && l.sent != nil && !dead {
			l.n++
			cut, after = l.sent(l.n)
		}
		l.mu.Unlock()
		if dead {
			continue
		}
		if cut && !after {
			return
		}
		if up && delay > 0 {
			<-time.After(delay)
		}
		if _, err := to.Write(buf[:n]); err != nil || cut {
			return
		}
	}
}
