package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// What connections may cost before anyone has shown a token on them. A process
// has about a thousand files; whoever can reach the port must not take them all.
const (
	mostAnonymous = 128 // connections of one address on which no token was accepted yet
	mostIdle      = 512 // connections of all addresses that wait for their next request
)

// connBook knows the open connections that are not streams or sockets.
type connBook struct {
	mu        sync.Mutex // guards all below
	conns     map[net.Conn]*clientConn
	anonymous map[string]int // connections on which no token was accepted yet, by address
	idle      int
}

// clientConn is one of them; guarded by connBook.
type clientConn struct {
	book    *connBook
	conn    net.Conn
	address string
	known   bool      // a token was accepted on it
	idle    time.Time // since when it waits; zero: it does not
}

type clientConnKey struct{}

func newConnBook() *connBook {
	return &connBook{conns: map[net.Conn]*clientConn{}, anonymous: map[string]int{}}
}

// watch has an http.Server tell of its connections.
func (b *connBook) watch(s *http.Server) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, clientConnKey{}, b.add(c))
	}
	s.ConnState = b.changed
}

func (b *connBook) add(c net.Conn) *clientConn {
	address, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		address = c.RemoteAddr().String()
	}
	x := &clientConn{book: b, conn: c, address: address}
	b.mu.Lock()
	b.conns[c] = x
	b.rest(x, time.Now()) // until its first request comes
	b.anonymous[address]++
	var over *clientConn
	if b.anonymous[address] > mostAnonymous {
		over = b.longestIdle(func(other *clientConn) bool { return !other.known && other.address == address })
		b.forget(over) // itself, when all others have a request under way
	}
	b.mu.Unlock()
	over.close()
	return x
}

// changed follows a connection through its requests.
func (b *connBook) changed(c net.Conn, state http.ConnState) {
	b.mu.Lock()
	x := b.conns[c]
	var over *clientConn
	switch {
	case x == nil: // it was closed for another
	case state == http.StateActive:
		b.rest(x, time.Time{})
	case state == http.StateIdle:
		b.rest(x, time.Now())
		if b.idle > mostIdle {
			over = b.longestIdle(func(*clientConn) bool { return true })
			b.forget(over)
		}
	case state == http.StateHijacked, state == http.StateClosed:
		b.forget(x)
	}
	b.mu.Unlock()
	over.close()
}

// Accepted notes that a token was accepted on the connection of a request, whose context it is given.
func Accepted(ctx context.Context) {
	x, _ := ctx.Value(clientConnKey{}).(*clientConn)
	if x == nil {
		return // served by someone else's listener
	}
	b := x.book
	b.mu.Lock()
	defer b.mu.Unlock()
	if !x.known && b.conns[x.conn] == x {
		b.lessAnonymous(x)
	}
	x.known = true
}

// The rest is called with the lock held.

func (b *connBook) rest(x *clientConn, since time.Time) {
	if x.idle.IsZero() != since.IsZero() {
		if since.IsZero() {
			b.idle--
		} else {
			b.idle++
		}
	}
	x.idle = since
}

func (b *connBook) forget(x *clientConn) {
	delete(b.conns, x.conn)
	b.rest(x, time.Time{})
	if !x.known {
		b.lessAnonymous(x)
	}
}

func (b *connBook) lessAnonymous(x *clientConn) {
	if b.anonymous[x.address]--; b.anonymous[x.address] <= 0 {
		delete(b.anonymous, x.address)
	}
}

// longestIdle is the connection that waits longest of those that fit; nil: none
// waits.
func (b *connBook) longestIdle(fits func(*clientConn) bool) (found *clientConn) {
	for _, x := range b.conns {
		if !x.idle.IsZero() && fits(x) && (found == nil || x.idle.Before(found.idle)) {
			found = x
		}
	}
	return found
}

// close ends a connection; nil: there is none to end.
func (x *clientConn) close() {
	if x != nil {
		_ = x.conn.Close()
	}
}
