package cluster

import (
	"io"
	"net"
	"sync"
	"time"
)

const (
	// lastWordLimit is how long workers that read slowly have, after the end of a term, to read what was sent to them
	// before.
	lastWordLimit = 5 * time.Second
	copyBytes     = 4 << 10 // size of a buffer of an uplink that goroutines relay
)

// uplink is a forwarded uplink: a worker's connection, and one to the leader.
type uplink struct {
	worker, leader net.Conn
	frames         frames // of the data that the leader has sent
}

func (u *uplink) close() {
	_ = u.worker.Close()
	_ = u.leader.Close()
}

// relay forwards the data of all uplinks of one term. There are thousands of them, and most are idle. Therefore one
// goroutine relays all of them (relayLoop). If an uplink uses TLS or the operating system has no relayLoop, two
// goroutines relay it.
type relay struct {
	mu     sync.Mutex // guards the rest
	ended  bool
	loop   *relayLoop       // nil: it was not needed yet, or could not be created
	copied map[*uplink]bool // the uplinks that goroutines relay
	tasks  sync.WaitGroup
}

// add relays an uplink until one of its connections or the relay ends. If the relay has ended, add sends the worker a
// close frame and closes both connections.
func (r *relay) add(u *uplink) {
	if r.start(u) {
		return
	}
	_ = send(u.worker, u.frames.closing())
	u.close()
}

// start starts to relay an uplink. It returns false if the relay has ended.
func (r *relay) start(u *uplink) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	if r.loop == nil {
		if loop, err := newRelayLoop(); err == nil {
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
	toLeader.Go(func() {
		_, _ = io.CopyBuffer(onlyWriter{u.leader}, onlyReader{u.worker}, make([]byte, copyBytes))
		_ = u.leader.Close()
	})
	_, _ = io.CopyBuffer(onlyWriter{u.worker}, &spoken{Reader: u.leader, frames: u.frames}, make([]byte, copyBytes))
	u.close()
	toLeader.Wait()
}

// end closes the connection to the leader. Data that was already read from it is still written to the worker, for at
// most lastWordLimit.
func (u *uplink) end() {
	_ = u.worker.SetWriteDeadline(time.Now().Add(lastWordLimit))
	_ = u.leader.Close()
}

// onlyReader and onlyWriter hide the methods WriteTo and ReadFrom of a TCP connection. They would use splice, which
// holds a pipe while the connection is idle.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)
