package server

import (
	linked "container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// The limits of connections before a token was accepted on them. A process can open about a thousand files, and a
// client without a token must not be able to use them all.
const (
	mostAnonymous = 128 // connections from one address without an accepted token, unless Endpoint.MostAnonymous is set
	mostIdle      = 512 // connections from all addresses that wait for their next request
	// sendsWithin is how long a new connection is not closed in favour of others: its first request is most likely on its
	// way. When thousands of workers connect at once, a busy machine reads it only after a while.
	sendsWithin = 3 * time.Second
)

// connTracker tracks the open connections that are not streams or sockets.
type connTracker struct {
	mostAnonymous int

	mu        sync.Mutex // guards the fields below
	conns     map[net.Conn]*clientConn
	anonymous map[string]int // connections without an accepted token, by address
	idle      *linked.List   // of *clientConn, those that wait for a request; the one that has waited longest is first
}

// clientConn is one tracked connection; guarded by connTracker.mu.
type clientConn struct {
	tracker *connTracker
	conn    net.Conn
	address string
	opened  time.Time
	known   bool            // a token was accepted on it
	idle    *linked.Element // its place in connTracker.idle; nil: a request is under way
}

type clientConnKey struct{}

func newConnTracker(mostAnonymous int) *connTracker {
	return &connTracker{mostAnonymous: mostAnonymous, conns: map[net.Conn]*clientConn{}, anonymous: map[string]int{}, idle: linked.New()}
}

// watch makes an http.Server report its connections to b.
func (b *connTracker) watch(s *http.Server) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, clientConnKey{}, b.add(c))
	}
	s.ConnState = b.changed
}

func (b *connTracker) add(c net.Conn) *clientConn {
	address, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		address = c.RemoteAddr().String()
	}
	x := &clientConn{tracker: b, conn: c, address: address, opened: time.Now()}
	b.mu.Lock()
	b.conns[c] = x
	b.setIdle(x, true) // until its first request arrives
	b.anonymous[address]++
	var over *clientConn
	if b.anonymous[address] > b.mostAnonymous {
		over = b.longestIdle(func(other *clientConn) bool { return !other.known && other.address == address })
		b.forget(over) // the new connection itself, when all others have a request under way
	}
	b.mu.Unlock()
	over.close()
	return x
}

// changed records a change of a connection's state.
func (b *connTracker) changed(c net.Conn, state http.ConnState) {
	b.mu.Lock()
	x := b.conns[c]
	var over *clientConn
	switch {
	case x == nil: // it was already closed to make room
	case state == http.StateActive:
		b.setIdle(x, false)
	case state == http.StateIdle:
		b.setIdle(x, true)
		if b.idle.Len() > mostIdle {
			over = b.longestIdle(func(other *clientConn) bool { return other == x || time.Since(other.opened) > sendsWithin })
			b.forget(over)
		}
	case state == http.StateHijacked, state == http.StateClosed:
		b.forget(x)
	}
	b.mu.Unlock()
	over.close()
}

// Accepted records that a token was accepted on the connection of the request with this context.
func Accepted(ctx context.Context) {
	x, _ := ctx.Value(clientConnKey{}).(*clientConn)
	if x == nil {
		return // the request came through another listener
	}
	b := x.tracker
	b.mu.Lock()
	defer b.mu.Unlock()
	if !x.known && b.conns[x.conn] == x {
		b.removeAnonymous(x)
	}
	x.known = true
}

// The caller of the functions below holds b.mu.

func (b *connTracker) setIdle(x *clientConn, idle bool) {
	switch {
	case idle && x.idle == nil:
		x.idle = b.idle.PushBack(x)
	case !idle && x.idle != nil:
		b.idle.Remove(x.idle)
		x.idle = nil
	}
}

func (b *connTracker) forget(x *clientConn) {
	delete(b.conns, x.conn)
	b.setIdle(x, false)
	if !x.known {
		b.removeAnonymous(x)
	}
}

func (b *connTracker) removeAnonymous(x *clientConn) {
	if b.anonymous[x.address]--; b.anonymous[x.address] <= 0 {
		delete(b.anonymous, x.address)
	}
}

// longestIdle returns the connection that has been idle longest among those that match fits; nil: none is idle.
func (b *connTracker) longestIdle(fits func(*clientConn) bool) *clientConn {
	for at := b.idle.Front(); at != nil; at = at.Next() {
		if x := at.Value.(*clientConn); fits(x) { //nolint:forcetypeassert // nothing else is in the list
			return x
		}
	}
	return nil
}

// close closes the connection; x may be nil.
func (x *clientConn) close() {
	if x != nil {
		_ = x.conn.Close()
	}
}
