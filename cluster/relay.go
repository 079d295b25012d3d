package cluster

import (
	"cmp"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// lastWordLimit is how long a peer that reads slowly has, after the end of an uplink or a term, to read what was
	// sent to it before.
	lastWordLimit = 5 * time.Second
	// stuckLimit is how long a peer may accept none of the data that waits for it. After that the uplink ends.
	stuckLimit = time.Minute
	copyBytes  = 4 << 10 // size of a buffer of an uplink that goroutines relay
)

// idleRule decides which connections of a relayLoop are idle, see idleEnds.
type idleRule struct {
	above   int           // as long as there are no more uplinks, no connection is idle
	busyFor time.Duration // a connection is idle if nothing came from it for longer
}

var usualIdle = idleRule{above: 256, busyFor: 2 * time.Second}

// uplink is a forwarded uplink: a worker's connection, and one to the leader.
//
// When one of the connections ends, the other peer gets everything that was sent to it before, and then the end of the
// stream. What it sends is still read until it closes its side, at most for lastWordLimit. To close a socket that has
// unread data would reset the connection, and the peer would lose what it has not read yet, such as the close frame.
type uplink struct {
	worker, leader net.Conn
	frames         frames // of the data that the leader has sent
	stuck          time.Duration

	mu   sync.Mutex // guards last
	last time.Time  // the end of the time for writes to the worker after the end of the term; zero: it has not ended
}

func (u *uplink) close() {
	_ = u.worker.Close()
	_ = u.leader.Close()
}

// relay forwards the data of all uplinks of one term. There are thousands of them, and most are idle. Therefore one
// goroutine relays all of them (relayLoop). If an uplink uses TLS or the operating system has no relayLoop, two
// goroutines relay it.
type relay struct {
	stuck time.Duration // 0: stuckLimit; set before the first uplink, like the next
	idle  idleRule      // zero: usualIdle

	mu     sync.Mutex // guards the rest
	ended  bool
	loop   *relayLoop       // nil: it was not needed yet, or could not be created
	copied map[*uplink]bool // the uplinks that goroutines relay
	tasks  sync.WaitGroup   // including uplinks that are opening
}

// enter makes wait also wait for an uplink that is about to be added, until leave is called. It returns false if the
// relay has ended.
func (r *relay) enter() (leave func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil, false
	}
	r.tasks.Add(1)
	return r.tasks.Done, true
}

// add relays an uplink until one of its connections or the relay ends. It returns at once, unless the relay has ended:
// then it sends the worker a close frame and closes both connections.
func (r *relay) add(u *uplink) {
	u.stuck = cmp.Or(r.stuck, stuckLimit)
	if r.start(u) {
		return
	}
	_ = u.leader.Close()
	_ = send(u.worker, u.frames.closing())
	closeWrite(u.worker)
	_ = u.worker.SetReadDeadline(time.Now().Add(lastWordLimit))
	_, _ = io.Copy(io.Discard, u.worker)
	_ = u.worker.Close()
}

// start starts to relay an uplink. It returns false if the relay has ended.
func (r *relay) start(u *uplink) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	if r.loop == nil {
		if loop, err := newRelayLoop(cmp.Or(r.idle, usualIdle)); err == nil {
			r.loop = loop
			r.tasks.Go(loop.run)
		}
	}
	if r.loop != nil && r.loop.add(u) {
		return true
	}
	if r.copied == nil {
		r.copied = map[*uplink]bool{}
	}
	r.copied[u] = true
	r.tasks.Go(func() {
		u.copy()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.copied, u)
	})
	return true
}

// end ends all uplinks, with a close frame to the worker if the leader has sent none. It does not wait.
func (r *relay) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.ended = true
	if r.loop != nil {
		r.loop.end()
	}
	for u := range r.copied {
		u.end()
	}
}

// wait waits until all uplinks are closed. It must be called after end.
func (r *relay) wait() { r.tasks.Wait() }

// copy relays with two goroutines. It is for connections that are not plain TCP sockets, and for systems without
// relayLoop.
func (u *uplink) copy() {
	var toLeader sync.WaitGroup
	toLeader.Go(func() { u.forward(u.leader, u.worker, u.worker) })
	u.forward(u.worker, u.leader, &spoken{Reader: u.leader, frames: u.frames})
	toLeader.Wait()
	u.close()
}

// forward copies r, the data of from, until from has ended. If to ends first, the rest is read and discarded. Then
// nothing more is written to to, and to is read only for lastWordLimit.
func (u *uplink) forward(to, from net.Conn, r io.Reader) {
	_, err := io.CopyBuffer(uplinkWriter{u, to}, onlyReader{r}, make([]byte, copyBytes))
	closeWrite(to)
	_ = to.SetReadDeadline(time.Now().Add(lastWordLimit))
	if err != nil {
		_, _ = io.Copy(io.Discard, from)
	}
}

// closeWrite ends the stream to a peer, if the kind of connection can do that without closing it.
func closeWrite(conn net.Conn) {
	if c, ok := conn.(*countedConn); ok {
		conn = c.Conn
	}
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}

// end closes the connection to the leader. Data that was already read from it is still written to the worker, for at
// most lastWordLimit.
func (u *uplink) end() {
	u.mu.Lock()
	u.last = time.Now().Add(lastWordLimit)
	_ = u.worker.SetWriteDeadline(u.last)
	u.mu.Unlock()
	_ = u.leader.Close()
}

// setWriteDeadline limits the next write to a connection.
func (u *uplink) setWriteDeadline(conn net.Conn) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	limit := time.Now().Add(u.stuck)
	if !u.last.IsZero() && u.last.Before(limit) {
		limit = u.last
	}
	return conn.SetWriteDeadline(limit)
}

// uplinkWriter writes to a connection of an uplink. A write fails if the peer does not accept it within a limit.
type uplinkWriter struct {
	u  *uplink
	to net.Conn
}

// Write writes b.
func (w uplinkWriter) Write(b []byte) (int, error) {
	if err := w.u.setWriteDeadline(w.to); err != nil {
		return 0, err
	}
	return w.to.Write(b)
}

// onlyReader hides the method WriteTo of a TCP connection. It would use splice, which holds a pipe while the connection
// is idle.
type onlyReader struct{ io.Reader }
