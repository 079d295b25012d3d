package engine

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"svc"
)

// What the connections of one host may cost, all together. Whoever holds a
// host's token can open as many as it likes and send what it likes; the rest of
// the orchestrator does not notice.
const (
	mostUplinks   = 4                // open at the same time; a new one ends the oldest
	identifiedIn  = 10 * time.Second // a connection says whose it is, or ends
	largeFrame    = 64 << 10         // bytes; of larger frames one at a time is read and handled
	chunksAtOnce  = 4 << 20          // bytes of log chunks that wait for their file
	tokenSweep    = 5 * time.Second  // between looks for connections whose token was replaced
	reasonCrowded = "this host has newer connections"
	reasonNobody  = "the connection did not say in time whose it is"
	reasonRotated = "the host's token was replaced"
)

// linkBook knows the open connections by the host that pays for them: the one
// that the token is good for, else the one that they name. Connections with the
// worker token that have not named a host yet share an entry of their own.
type linkBook struct {
	mu    sync.Mutex // guards all below
	hosts map[string]*hostLinks
}

type hostLinks struct {
	open   []*uplinkConn // in the order they came
	large  chan struct{} // holds a token while a large frame is read or handled
	chunks *semaphore.Weighted
}

func newLinkBook() *linkBook { return &linkBook{hosts: map[string]*hostLinks{}} }

// enter adds a connection to a host and gives what it shares with the host's
// others. One that is too many comes back: it must end.
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

// withTokens is every open connection of a host that was opened with the host's
// own token.
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

// enter has a host pay for the connection from now on.
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

// end ends the connection from outside. Nothing more of it is taken; its peer
// has a moment to read why.
func (c *uplinkConn) end(reason string) {
	c.complain(svc.Errorf(svc.CodeUnavailable, "%s", reason))
	c.ended.Store(true)
	c.link.Finish()
	time.AfterFunc(lastWord, c.stop)
}

// acquireLarge waits until the host may have one more large frame read.
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

// tokenLoop ends connections whose token was replaced longer ago than its grace.
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
