// Package arrivals lines up workers that connect at the same moment. After an outage all workers connect again within
// seconds, and an orchestrator must do its other work meanwhile.
package arrivals

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"svc"
)

const (
	// AtOnce is how many workers connect to a leader at a time. The limit is a number and not a rate: so the pace is what
	// the machine and its database can do.
	AtOnce = 64
	// AtOnceForward is how many requests of workers a follower sends to the leader at a time. There they stand in line
	// together with those that came to the leader itself, and have a fair share of it.
	AtOnceForward = 4 * AtOnce

	mostWaiting = 1024             // more are refused at once: each that waits takes memory
	longestWait = 8 * time.Second  // after it a worker is refused too
	lastTurn    = 20 * time.Second // the latest turn

	// The pace of a line, in workers per second: before it was measured, and the bounds of what is measured. A pace that
	// is too high has some workers refused once more. One that is too low lets the machine wait for workers. So the pace
	// is high when a crowd begins, rises at once, and falls slowly.
	firstPace, leastPace, mostPace = 500, 100, 5000
	paceFalls                      = 0.8              // to this part of it per second
	calmFor                        = 10 * time.Second // time in which nobody has to wait, between two crowds
	// refusalWork is the work of a refusal, as a part of that of a worker that connects. The pace that is told is that of
	// later, when each refused worker comes at its turn and none is refused any more.
	refusalWork = 1.0 / 8
)

// Line limits how many workers connect at a time. The others wait in the order of their arrival. A worker that is
// refused, because too many wait already, is told when it has its turn. Otherwise it could only guess, and thousands of
// workers that try again too early cost more than those that connect.
type Line struct {
	places chan struct{}

	mu       sync.Mutex // guards the rest
	waiting  int
	pace     float64   // workers per second, as last measured
	since    time.Time // when the current measurement began; zero: there is none, because nobody waits
	passed   int       // the workers that have left since then
	refused  int       // those that were refused since then
	queued   time.Time // when a worker last began to wait
	promised time.Time // the last turn that was given to a refused worker
}

// NewLine returns an empty line with a number of places.
func NewLine(places int) *Line { return &Line{places: make(chan struct{}, places), pace: firstPace} }

// Enter waits for a place. The caller must call leave, and may call it repeatedly. The error for a refused worker
// contains its turn, see svc.RetryInOf.
func (l *Line) Enter(ctx context.Context) (leave func(), err error) {
	leave = sync.OnceFunc(l.leave)
	select {
	case l.places <- struct{}{}:
		return leave, nil
	default:
	}
	if err := l.queue(); err != nil {
		return nil, err
	}
	limit := time.NewTimer(longestWait)
	defer limit.Stop()
	select {
	case l.places <- struct{}{}:
		l.unqueue()
		return leave, nil
	case <-limit.C:
		l.unqueue()
		return nil, l.refusal()
	case <-ctx.Done():
		l.unqueue()
		return nil, ctx.Err()
	}
}

// queue adds a worker to those that wait.
func (l *Line) queue() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.waiting >= mostWaiting {
		return crowded(l.turn(now))
	}
	if now.Sub(l.queued) > calmFor {
		l.pace = max(l.pace, firstPace)
	}
	l.queued = now
	l.waiting++
	return nil
}

func (l *Line) unqueue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
}

func (l *Line) refusal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return crowded(l.turn(time.Now()))
}

// turn returns after which time a refused worker has its turn: when half of those that wait have passed, and those that
// were refused before it. So the line is never full and never empty while there are refused workers. Those whose turn
// would be later than lastTurn are spread, since the pace is not known so far ahead.
func (l *Line) turn(now time.Time) time.Duration {
	l.refused++
	each := time.Duration(float64(time.Second) / l.pace)
	at := now.Add(time.Duration(l.waiting/2) * each)
	if l.promised.After(at) {
		at = l.promised
	}
	l.promised = at.Add(each)
	if last := now.Add(lastTurn); l.promised.After(last) {
		l.promised = last
		return lastTurn - rand.N(lastTurn/2) //nolint:gosec // spreads load, guards nothing
	}
	return l.promised.Sub(now)
}

// leave frees a place and measures the pace. Only the time in which workers wait counts.
func (l *Line) leave() {
	<-l.places
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.waiting == 0 || l.since.IsZero() {
		l.since, l.passed, l.refused = time.Time{}, 0, 0
		if l.waiting > 0 {
			l.since = now
		}
		return
	}
	l.passed++
	if took := now.Sub(l.since); took >= time.Second {
		measured := (float64(l.passed) + float64(l.refused)*refusalWork) / took.Seconds()
		l.pace = min(max(measured, l.pace*paceFalls, leastPace), mostPace)
		l.since, l.passed, l.refused = now, 0, 0
	}
}

func crowded(turn time.Duration) error {
	return svc.Errorf(svc.CodeUnavailable, "too many workers are connecting at once; try again").RetryIn(turn)
}
