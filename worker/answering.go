package worker

import (
	"context"
	"sync"
	"time"
)

// How it is found out whether the other side of a connection lives.
const (
	pingEvery = 500 * time.Millisecond
	// pingCounts is what one answer proves at most. A peer that was frozen answers late: the time
	// before its answer was no time in which it could have done anything else.
	pingCounts = 2 * pingEvery
)

// pinger is a connection whose other end answers without the help of its frames.
type pinger interface{ Ping(context.Context) error }

// pulse counts for how long the other side of a connection has been answering, as long as someone
// wants to know.
type pulse struct {
	mu       sync.Mutex  // guards the fields below
	answered runningTime // up to the last answer, or the last look of those that cannot ask
	sent     time.Time   // the last question
	asks     bool        // a question is under way
}

// answering is for how long the orchestrator has been answering on this connection while someone
// asked here. Each call may send a question; it never waits.
func (l *link) answering() time.Duration {
	p := &l.pulse
	p.mu.Lock()
	defer p.mu.Unlock()
	conn, ok := l.conn.(pinger)
	switch {
	case !ok: // in memory: it answers for as long as it is open
		p.answered.count(time.Now(), pingCounts)
	case !p.asks && time.Since(p.sent) >= pingEvery:
		p.asks, p.sent = true, time.Now()
		l.tasks.Go(func() { l.ask(conn) })
	}
	return p.answered.total
}

// answeredFor is the same for one who does not want to know anything new.
func (l *link) answeredFor() time.Duration {
	l.pulse.mu.Lock()
	defer l.pulse.mu.Unlock()
	return l.pulse.answered.total
}

// ask waits for one answer. It ends with the connection at the latest.
func (l *link) ask(conn pinger) {
	err := conn.Ping(l.ctx)
	p := &l.pulse
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asks = false
	if err == nil {
		p.answered.count(time.Now(), pingCounts)
	}
}
