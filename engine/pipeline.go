package engine

import "context"

// The limits of one connection's pipelines.
const (
	mostChanges = 256 // that wait for their commit
	mostChunks  = 16  // of logs that wait to be written
)

// pipeline processes frames of one connection in order, while the reader reads further ones. So the frames of a
// worker that reports much at once, such as after a reconnect, share group commits; and a disk that is slow to write
// logs does not delay keys. Only the connection's reader uses it.
type pipeline struct {
	most  int
	slots chan struct{} // made for the first frame: most connections are idle
	last  chan struct{} // closed when the newest frame is finished; nil: none is in the pipeline
}

// start runs process after the frames before it are finished. It waits while the pipeline is full.
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

// awaitChange waits for a change of the database while further frames are read.
func (c *uplinkConn) awaitChange(ctx context.Context, wait func() error) {
	c.changes.start(func() {
		if err := wait(); err != nil && ctx.Err() == nil {
			c.sendError(err)
		}
	})
}
