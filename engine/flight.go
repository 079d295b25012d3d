package engine

import "context"

// mostInFlight bounds the changes of one connection that wait for their commit.
const mostInFlight = 256

// flight is the changes of one connection that have their place in the queue
// and are not durable yet. A worker that tells of many things in a row, such as
// one that is back after a while, is so taken at the speed of commits in
// groups. What follows from the changes happens in their order. It belongs to
// the connection's reader.
type flight struct {
	slots chan struct{} // made by the first change: most connections are idle
	last  chan struct{} // closed when the newest change has landed; nil: none is in flight
}

// takeOff lets land run beside the reading of further frames, after those
// before it. It waits while too many are in flight.
func (f *flight) takeOff(land func()) {
	if f.slots == nil {
		f.slots = make(chan struct{}, mostInFlight)
	}
	f.slots <- struct{}{}
	before, landed := f.last, make(chan struct{})
	f.last = landed
	go func() {
		defer func() {
			close(landed)
			<-f.slots
		}()
		if before != nil {
			<-before
		}
		land()
	}()
}

// landed waits until none is in flight.
func (f *flight) landed() {
	if f.last != nil {
		<-f.last
		f.last = nil
	}
}

// inFlight waits for a change beside the reading of further frames.
func (c *uplinkConn) inFlight(ctx context.Context, wait func() error) {
	c.flight.takeOff(func() {
		if err := wait(); err != nil && ctx.Err() == nil {
			c.complain(err)
		}
	})
}
