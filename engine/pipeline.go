package engine

import "context"

// The bounds of one connection's pipelines.
const (
	mostChanges = 256 // that wait for their commit
	mostChunks  = 16  // of logs that wait for their file
)

// pipeline processes frames of one connection beside the reading of further
// ones, in their order. A worker that reports much at once, such as one that is
// back after a while, is processed at the speed of group commits; and a disk
// that is slow to take logs delays no keys. It belongs to the connection's
// reader.
type pipeline struct {
	most  int
	slots chan struct{} // made by the first frame: most connections are idle
	last  chan struct{} // closed when the newest frame is finished; nil: none is in the pipeline
}

// start runs process after that of the frames before it. It waits while the
// pipeline is full.
func (p *pipeline) start(process func()) {
	if p.slots == nil {
		p.slots = make(chan struct{}, p.most)
	}
	p.slots <- struct{}{}
	before, finished := p.last, make(chan struct{})
	p.last = finished
	go func() {
		defer func() {
			close(finished)
			<-p.slots
		}()
		if before != nil {
			<-before
		}
		process()
	}()
}

// finish waits until the pipeline is empty.
func (p *pipeline) finish() {
	if p.last != nil {
		<-p.last
		p.last = nil
	}
}

// awaitChange waits for a change of the database beside the reading of further
// frames.
func (c *uplinkConn) awaitChange(ctx context.Context, wait func() error) {
	c.changes.start(func() {
		if err := wait(); err != nil && ctx.Err() == nil {
			c.complain(err)
		}
	})
}
