package server

import "sync"

// gate counts the streams and sockets that are being served, and can be shut: then no more can enter, and the caller
// of shut can wait until all have left. The zero gate is open.
type gate struct {
	mu     sync.Mutex // guards the fields below
	inside int
	closed bool
	empty  chan struct{} // made by the first shut; closed when all have left
}

// enter returns false when the gate is shut. Each successful enter needs one leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

// leave must be called once for each successful enter.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.closed && g.inside == 0 {
		close(g.empty)
	}
}

// shut shuts the gate. The returned channel is closed when all have left.
func (g *gate) shut() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed, g.empty = true, make(chan struct{})
		if g.inside == 0 {
			close(g.empty)
		}
	}
	return g.empty
}
