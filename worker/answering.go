package worker

import (
	"context"
	"sync"
	"time"
)

// The limits of the check whether the peer of a connection is alive.
const (
	pingEvery = 500 * time.Millisecond
	// pingCounts is the longest time that one answered ping may add. A frozen peer answers late, and in the
	// time before that answer it could not have done anything else.
	pingCounts = 2 * pingEvery
)

// pinger is a connection with pings that the peer answers without handling a frame.
type pinger interface{ Ping(context.Context) error }

// pulse adds up for how long the peer of a connection has answered, while a caller keeps asking for it.
type pulse struct {
	mu       sync.Mutex  // guards the fields below
	answered runningTime // up to the last answered ping; without pings, up to the last call of answering
	sent     time.Time   // when the last ping was sent
	asks     bool        // a ping is not answered yet
}

// answering returns for how long the orchestrator has answered on this connection, counted only while callers
// call this method. Each call may send a ping; it never waits.
func (l *link) answering() time.Duration {
	p := &l.pulse
	p.mu.Lock()
	defer p.mu.Unlock()
	conn, ok := l.conn.(pinger)
	switch {
	case !ok: // an in-memory connection answers for as long as it is open
		p.answered.count(time.Now(), pingCounts)
	case !p.asks && time.Since(p.sent) >= pingEvery:
		p.asks, p.sent = true, time.Now()
		l.tasks.Go(func() { l.ask(conn) })
	}
	return p.answered.total
}

// answeredFor returns the same total without sending a ping.
func (l *link) answeredFor() time.Duration {
	l.pulse.mu.Lock()
	defer l.pulse.mu.Unlock()
	return l.pulse.answered.total
}

// ask sends one ping and waits for its answer, at most until the connection ends.
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
