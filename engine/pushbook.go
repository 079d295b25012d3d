package engine

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"svc/hub"
)

// pushWindow is how many bytes of unacknowledged dispatches one connection may have. Further dispatches wait. The
// last one sent may exceed it.
const pushWindow = 4 << 20

// pushBook tracks the pushes in progress. What must be pushed is in the database, not here. The pushBook prevents the
// sweep from repeating a push in progress, limits how much a connection is sent, and prevents that a host that is
// refusing an attempt is sent it again.
type pushBook struct {
	wake    *wake       // of the sweep
	crowded atomic.Bool // a host got no more runs because too many are unconfirmed

	mu         sync.Mutex // guards the rest
	runs       map[string]*pushed
	hosts      map[string]hostPushes // those with bytes in progress, or with dispatches that wait
	unInformed map[string]bool       // hosts that connected and were not yet ordered to end sessions
}

type hostPushes struct {
	bytes  int
	behind bool // a dispatch had no room
}

// pushed is a push in progress. The code that reserved it owns it until it is sent or dropped.
type pushed struct {
	runID   string
	hostID  string
	attempt int         // 0: of a claim that is being committed
	link    *hub.Uplink // nil: not sent yet
	size    int
	at      time.Time // when it was written to the connection; zero: not yet
	refused bool
	since   time.Time // when it was reserved
}

func newPushBook() *pushBook {
	return &pushBook{wake: newWake(), runs: map[string]*pushed{}, hosts: map[string]hostPushes{}, unInformed: map[string]bool{}}
}

// reserveClaim reserves the push of a run that is about to be claimed.
func (b *pushBook) reserveClaim(runID, hostID string) *pushed {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.put(&pushed{runID: runID, hostID: hostID})
}

// reserve reserves the push of an attempt on a connection. It returns nil if the push is already reserved, if it was
// sent on that connection and its acknowledgement is not overdue, or if the host is refusing the attempt.
func (b *pushBook) reserve(runID string, attempt int, link *hub.Uplink, overdue time.Time) *pushed {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.runs[runID]; p != nil {
		waits := p.link == link && (p.at.IsZero() || p.at.After(overdue))
		if p.link == nil || p.refused || waits {
			return nil
		}
	}
	return b.put(&pushed{runID: runID, hostID: link.HostID, attempt: attempt})
}

func (b *pushBook) put(p *pushed) *pushed {
	b.remove(b.runs[p.runID])
	p.since = time.Now()
	b.runs[p.runID] = p
	return p
}

// remove removes a push, and wakes the sweep if dispatches to its host wait for room.
func (b *pushBook) remove(p *pushed) {
	if p == nil || b.runs[p.runID] != p {
		return
	}
	delete(b.runs, p.runID)
	h := b.hosts[p.hostID]
	h.bytes -= p.size
	if h.behind && h.bytes < pushWindow {
		h.behind = false
		b.wake.up()
	}
	b.keepHost(p.hostID, h)
}

func (b *pushBook) keepHost(id string, h hostPushes) {
	if h == (hostPushes{}) {
		delete(b.hosts, id)
		return
	}
	b.hosts[id] = h
}

// drop ends a push that was reserved or sent.
func (b *pushBook) drop(p *pushed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(p)
}

// room reports whether a host may be sent another dispatch now. If not, the sweep is woken as soon as it may.
func (b *pushBook) room(hostID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.hosts[hostID]
	if h.bytes < pushWindow {
		return true
	}
	h.behind = true
	b.hosts[hostID] = h
	return false
}

// send sends a reserved push, unless the host refused the attempt meanwhile or another push replaced it. transmit
// must not block.
func (b *pushBook) send(p *pushed, attempt int, link *hub.Uplink, size int, transmit func(written func())) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.runs[p.runID] != p || p.refused {
		b.remove(p)
		return
	}
	p.attempt, p.link, p.size = attempt, link, size
	h := b.hosts[p.hostID]
	h.bytes += size
	b.hosts[p.hostID] = h
	transmit(func() { b.written(p) })
}

// written records that a push was written to the connection: the time for its acknowledgement begins.
func (b *pushBook) written(p *pushed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.at = time.Now()
}

// answered removes a push of that attempt or an older one. took is the time since the push was reserved; 0: there was
// none.
func (b *pushBook) answered(runID string, attempt int) (took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.runs[runID]
	if p == nil || p.link == nil || p.attempt > attempt {
		return 0
	}
	b.remove(p)
	return time.Since(p.since)
}

// forget drops pushes that were written before the given time and whose runs are not open: they were settled in
// another way.
func (b *pushBook) forget(before time.Time, open map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, p := range b.runs {
		if p.link != nil && !p.at.IsZero() && p.at.Before(before) && !open[id] {
			b.remove(p)
		}
	}
}

// keepLinks drops pushes on connections that are no longer their hosts' own.
func (b *pushBook) keepLinks(own func(*hub.Uplink) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.runs {
		if p.link != nil && !p.refused && !own(p.link) {
			b.remove(p)
		}
	}
}

// refuse records a refusal before it is committed: from now on the host is not sent that attempt. counts is false if
// the attempt was sent again on another connection of the host since: then the answer on that connection counts.
func (b *pushBook) refuse(runID string, attempt int, link *hub.Uplink) (p *pushed, counts bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p = b.runs[runID]
	if p == nil || p.attempt != attempt || p.hostID != link.HostID {
		return nil, true // sent by an earlier process, or not this host's attempt
	}
	if p.link != nil && p.link != link {
		return nil, false
	}
	p.refused = true
	return p, true
}

// refused ends a refusal. If it is durable, the push is removed: a later read of the run sees the refusal.
func (b *pushBook) refused(p *pushed, durable bool) {
	if p == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if durable {
		b.remove(p)
	}
	p.refused = false
}

// inform marks a host that must be sent the orders that it missed, and wakes the sweep.
func (b *pushBook) inform(hostID string) {
	b.markUninformed([]string{hostID})
	b.wake.up()
}

func (b *pushBook) markUninformed(hostIDs []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range hostIDs {
		b.unInformed[id] = true
	}
}

// takeUninformed returns the marked hosts and removes the marks. The caller informs the hosts, or marks them again.
func (b *pushBook) takeUninformed() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := slices.Collect(maps.Keys(b.unInformed))
	clear(b.unInformed)
	return ids
}
