package engine

import (
	"sync"
	"time"
)

// witness measures the silence of hosts only by time in which this process was able to receive heartbeats. Durations
// are from the monotonic clock, which cannot be set. A break is time in which a heartbeat could not have been
// noticed: the process was frozen, the machine was suspended, or the database did not respond. After a break, every
// host has the whole window again.
type witness struct {
	wall  func() time.Time
	late  time.Duration // a longer interval between two looks is a break
	pause time.Duration // after a longer interval, heartbeats may be unread

	mu       sync.Mutex // guards the rest
	looked   time.Time  // the last look, by both clocks
	wallThen time.Time
	since    time.Time // end of the last break
	woken    time.Time // the last look after an interval longer than pause
	answered time.Time // when the database last answered
}

// mostLate limits the interval that does not yet count as a break. leastPause and mostPause limit the interval after
// which frames in the sockets are read before any host is declared offline.
const (
	mostLate   = 15 * time.Second
	leastPause = 100 * time.Millisecond
	mostPause  = 2 * time.Second
)

func newWitness(wall func() time.Time, offlineAfter time.Duration) *witness {
	now := time.Now()
	pause := max(min(offlineAfter/10, mostPause), leastPause)
	return &witness{wall: wall, late: min(offlineAfter/2, mostLate), pause: pause, looked: now, wallThen: wall().Round(0), since: now, answered: now}
}

// look returns the present by the monotonic clock, and detects a break: the last look is too long ago, or the two
// clocks disagree about the interval. (Suspending the machine stops only one of them; setting the wall clock looks
// the same.) Code that decides about silence must call look first, so that a break is detected before.
func (w *witness) look() time.Time {
	wall := w.wall().Round(0) // removes its monotonic reading
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Before(w.looked) {
		return now // a concurrent call was later
	}
	passed := now.Sub(w.looked)
	if apart := wall.Sub(w.wallThen) - passed; passed > w.late || apart.Abs() > w.late {
		w.since = now
	}
	if passed > w.pause {
		w.woken = now
	}
	w.looked, w.wallThen = now, wall
	return now
}

// probed records the result of a probe of the database that began at asked. An error or a late response is a break.
func (w *witness) probed(asked time.Time, err error) {
	now := w.look()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil || now.Sub(asked) > w.late {
		w.since = now
	}
	if err == nil {
		w.answered = now
	}
}

// watched returns the present and the end of the last break. ok is false while a response of the database is overdue,
// and right after a pause, however short: a host must not be declared offline while its heartbeat may be unread.
func (w *witness) watched() (now, since time.Time, ok bool) {
	now = w.look()
	w.mu.Lock()
	defer w.mu.Unlock()
	return now, w.since, now.Sub(w.answered) <= w.late && now.Sub(w.woken) >= w.pause
}
