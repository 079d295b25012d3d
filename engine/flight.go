package engine

import "context"

// The bounds of what one connection may have in flight.
const (
	mostChanges = 256 // that wait for their commit
	mostChunks  = 16  // of logs that wait for their file
)

// flight is the frames of one connection that were read and are not done yet.
// A worker that tells of many things in a row, such as one that is back after a
// while, is so taken at the speed of commits in groups; and a disk that is slow
// to take logs keeps nobody's keys waiting. They are done in their order. It
// belongs to the connection's reader.
type flight struct {
	most  int
	slots chan struct{} // made by the first frame: most connections are idle
	last  chan struct{} // closed when the newest one has landed; nil: none is in flight
}

// takeOff lets land run beside the reading of further frames, after those
// before it. It waits while too many are in flight.
func (f *flight) takeOff(land func()) {
	if f.slots == nil {
		f.slots = make(chan struct{}, f.most)
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
	c.changes.takeOff(func() {
		if err := wait(); err != nil && ctx.Err() == nil {
			c.complain(err)
		}
	})
}
