package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"svc/hub"
)

// pushWindow is how many bytes of unanswered dispatches one connection may
// have before the rest waits its turn. The last one may exceed it.
const pushWindow = 4 << 20

// pushBook knows which dispatches are on their way. It is no memory of what
// must be pushed, that is the database: it keeps the sweep from pushing what
// someone else pushes, bounds what a connection is sent, and keeps a host that
// refuses from being sent the same attempt again.
type pushBook struct {
	wake    *wake       // of the sweep
	crowded atomic.Bool // a host was not given runs because of those it has not confirmed

	mu         sync.Mutex // guards the rest
	runs       map[string]*pushed
	hosts      map[string]hostPushes // those with bytes on their way, or that are behind
	unInformed map[string]bool       // hosts that connected and were not told what must end
}

type hostPushes struct {
	bytes  int
	behind bool // something had no room
}

// pushed is a dispatch on its way. Who reserved it holds it until it is sent or
// dropped.
type pushed struct {
	runID   string
	hostID  string
	attempt int         // 0: of a claim that is being committed
	link    *hub.Uplink // nil: it is not sent yet
	size    int
	at      time.Time // when it was written to the connection; zero: it waits there
	refused bool
	since   time.Time // when the push was begun
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

// reserve reserves the push of an attempt down a connection. It is nil when
// that is under way: it is reserved, or went down that connection and its
// answer is not overdue; or when the host just refused it.
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

// remove forgets a push, and wakes the sweep when its host waits for the room.
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

// drop gives up a push that was reserved or sent.
func (b *pushBook) drop(p *pushed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(p)
}

// room says whether a host may be sent another dispatch now. When not, the
// sweep is woken as soon as it may.
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

// send sends a reserved push, unless the host refused the attempt meanwhile or
// another push took its place. transmit must not wait.
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

// written notes that a push left our queue: the time for its answer begins.
func (b *pushBook) written(p *pushed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.at = time.Now()
}

// answered forgets a push of that attempt or an older one.
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

// forget drops the pushes written before a time whose runs are not open: their
// answers came some other way.
func (b *pushBook) forget(before time.Time, open map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, p := range b.runs {
		if p.link != nil && !p.at.IsZero() && p.at.Before(before) && !open[id] {
			b.remove(p)
		}
	}
}

// keepLinks drops what went down connections that are not their hosts' own any
// more.
func (b *pushBook) keepLinks(own func(*hub.Uplink) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.runs {
		if p.link != nil && !p.refused && !own(p.link) {
			b.remove(p)
		}
	}
}

// refuse takes a refusal before it is written down: from here on the host is
// not sent that attempt. It counts unless the attempt went down another
// connection of the host since: then the answer to that one counts.
func (b *pushBook) refuse(runID string, attempt int, link *hub.Uplink) (p *pushed, counts bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p = b.runs[runID]
	if p == nil || p.attempt != attempt || p.hostID != link.HostID {
		return nil, true // of before this process began, or not the host's to refuse
	}
	if p.link != nil && p.link != link {
		return nil, false
	}
	p.refused = true
	return p, true
}

// refused notes whether a refusal is written down: if so, whoever reads the run
// from now on sees it.
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

// inform notes a host that must be told what it missed.
func (b *pushBook) inform(hostID string) {
	b.mu.Lock()
	b.unInformed[hostID] = true
	b.mu.Unlock()
	b.wake.up()
}

func (b *pushBook) uninformed() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := make([]string, 0, len(b.unInformed))
	for id := range b.unInformed {
		ids = append(ids, id)
	}
	return ids
}

func (b *pushBook) informed(hostID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.unInformed, hostID)
}
