package engine

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"svc"
)

// What all connections of one host may cost together. The holder of a host's token can open many connections and send
// anything; these limits protect the rest of the orchestrator.
const (
	mostUplinks        = 4                // open at the same time; a new one ends an old one
	identifiedIn       = 10 * time.Second // time for a connection to name its host
	largeFrame         = 64 << 10         // bytes; of larger frames, one at a time is read and handled
	chunksAtOnce       = 4 << 20          // bytes of log chunks that wait to be written
	tokenSweep         = 5 * time.Second  // between checks for connections whose token was replaced
	reasonCrowded      = "this host has newer connections"
	reasonUnidentified = "the connection did not name its host in time"
	reasonRotated      = "the host's token was replaced"
)

// linkBook lists the open connections by the host whose limits they use: the host that their token belongs to,
// otherwise the host that they name. Connections with the worker token that have not named a host yet share one
// entry.
type linkBook struct {
	mu    sync.Mutex // guards all below
	hosts map[string]*hostLinks
}

type hostLinks struct {
	open   []*uplinkConn // has one element while a large frame is read or handled
	large  chan struct{} // holds a token while a large frame is read or handled
	chunks *semaphore.Weighted
}

func newLinkBook() *linkBook { return &linkBook{hosts: map[string]*hostLinks{}} }

// enter adds a connection to a host and returns the limits that the host's connections share. crowded is a connection
// that exceeds the limit; the caller must end it.
func (b *linkBook) enter(c *uplinkConn, hostID string, own func(*uplinkConn) bool) (h *hostLinks, crowded *uplinkConn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h = b.hosts[hostID]; h == nil {
		h = &hostLinks{large: make(chan struct{}, 1), chunks: semaphore.NewWeighted(chunksAtOnce)}
		b.hosts[hostID] = h
	}
	h.open = append(h.open, c)
	if hostID == anyHost || len(h.open) <= mostUplinks {
		return h, nil
	}
	for _, old := range h.open[:len(h.open)-1] {
		if !old.crowded && !own(old) {
			old.crowded = true
			return h, old
		}
	}
	return h, nil
}

// leave removes a connection.
func (b *linkBook) leave(c *uplinkConn, hostID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.hosts[hostID]
	for i, x := range h.open {
		if x == c {
			h.open = append(h.open[:i:i], h.open[i+1:]...)
			break
		}
	}
	if len(h.open) == 0 {
		delete(b.hosts, hostID)
	}
}

// withTokens returns the open connections, of all hosts, that were opened with a host's own token.
func (b *linkBook) withTokens() (found []*uplinkConn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.hosts {
		for _, c := range h.open {
			if c.hello.OnlyHost != anyHost {
				found = append(found, c)
			}
		}
	}
	return found
}

// enter charges the connection to a host from now on.
func (c *uplinkConn) enter(hostID string) {
	if c.payer == nil || c.payerID != hostID {
		c.leaveBook()
		var crowded *uplinkConn
		c.payerID = hostID
		c.payer, crowded = c.e.links.enter(c, hostID, func(x *uplinkConn) bool {
			own, ok := c.e.Hub.Uplinks.Of(hostID)
			return ok && own == x.link
		})
		if crowded != nil {
			crowded.end(reasonCrowded)
		}
	}
}

func (c *uplinkConn) leaveBook() {
	c.freeLarge()
	if c.payer != nil {
		c.e.links.leave(c, c.payerID)
	}
}

// end ends the connection. Frames that arrive later are ignored; the peer gets a moment to read the reason.
func (c *uplinkConn) end(reason string) {
	c.sendError(svc.Errorf(svc.CodeUnavailable, "%s", reason))
	c.ended.Store(true)
	c.link.Finish()
	time.AfterFunc(closeGrace, c.stop)
}

// acquireLarge waits until the host may have another large frame read.
func (c *uplinkConn) acquireLarge(ctx context.Context) error {
	select {
	case c.payer.large <- struct{}{}:
		c.holdsLarge = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *uplinkConn) freeLarge() {
	if c.holdsLarge {
		c.holdsLarge = false
		<-c.payer.large
	}
}

// tokenLoop ends connections whose token was replaced, after the grace period.
func (e *Engine) tokenLoop(ctx context.Context) error {
	tick := time.NewTicker(tokenSweep)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := e.endReplaced(ctx); err != nil && ctx.Err() == nil {
			e.Log.Error("replaced tokens cannot be looked up; trying again", "error", err)
		}
	}
}

func (e *Engine) endReplaced(ctx context.Context) error {
	open := e.links.withTokens()
	if len(open) == 0 {
		return nil
	}
	dead, err := e.Store.ReplacedHostTokens(ctx, e.now().Add(-rotationGrace))
	if err != nil {
		return err
	}
	for _, c := range open {
		if last, replaced := dead[c.hello.OnlyHost]; replaced && c.hello.Generation <= last {
			c.end(reasonRotated)
		}
	}
	return nil
}
