package server

import "sync"

// gate counts what is inside and can be shut: then nothing more comes in, and
// whoever shut it learns when all have left. The zero gate is open.
type gate struct {
	mu     sync.Mutex // guards all below
	inside int
	closed bool
	empty  chan struct{} // made by the first shut, closed when all have left
}

// enter reports whether the gate is still open.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

// leave is called once for each enter that succeeded.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.closed && g.inside == 0 {
		close(g.empty)
	}
}

// shut closes the gate. The channel it gives is closed when all have left.
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
