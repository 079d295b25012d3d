package cluster

import (
	"io"
	"net"
	"sync"
	"time"
)

const (
	// lastWordLimit is how long workers that read slowly have, after the end of a term, to take what was sent to them before.
	lastWordLimit = 5 * time.Second
	copyBytes     = 4 << 10 // of a buffer where connections are relayed by goroutines
)

// uplink is one that is forwarded: a worker's connection, and one to the leader.
type uplink struct {
	worker, leader net.Conn
	frames         frames // that the leader has sent
}

func (u *uplink) close() {
	_ = u.worker.Close()
	_ = u.leader.Close()
}

// relay carries the uplinks that are forwarded in one term of a leader. There are thousands of them, and most are idle: where the system allows it, one goroutine
// carries all of them (relayLoop), else two goroutines each.
type relay struct {
	mu     sync.Mutex // guards the rest
	ended  bool
	loop   *relayLoop // nil: it was not needed yet
	copied map[*uplink]bool
	tasks  sync.WaitGroup
}

// add relays an uplink until one side ends or the relay does. After the end of the relay, it is ended at once.
func (r *relay) add(u *uplink) {
	if r.start(u) {
		return
	}
	_ = send(u.worker, u.frames.closing())
	u.close()
}

// start is add before the end of the relay.
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

// end ends all uplinks, with a close frame where the leader has sent none. It does not wait.
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

// wait returns when all is closed.
func (r *relay) wait() { r.tasks.Wait() }

// copy relays with two goroutines, for connections that are more than a socket, and for systems without a loop.
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

// end closes the leader's side: what came from it before is still written to the worker, if that reads it soon.
func (u *uplink) end() {
	_ = u.worker.SetWriteDeadline(time.Now().Add(lastWordLimit))
	_ = u.leader.Close()
}

// onlyReader and onlyWriter hide that a connection could copy by itself, for which it would hold a pipe while it is idle.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)
