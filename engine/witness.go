package engine

import (
	"sync"
	"time"
)

// witness measures the silence of others by what this process has itself
// watched. Durations are taken from the monotonic clock, which nobody sets. Time
// in which we could not have noticed a heartbeat is ours: the process was frozen,
// the machine slept, the database did not answer. After it everyone has the whole
// window again.
type witness struct {
	wall  func() time.Time
	late  time.Duration // a break is longer
	pause time.Duration // a look that is late by more may have unread heartbeats behind it

	mu       sync.Mutex // guards the rest
	looked   time.Time  // the last look, by both clocks
	wallThen time.Time
	since    time.Time // watched without a break since
	woken    time.Time // the last look that came after a pause
	answered time.Time // when the database last answered
}

// mostLate bounds the break that is held against others; leastPause and mostPause the time after which
// what lies in the sockets is read before anyone is declared gone.
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

// look is the present by the monotonic clock. It notes a break: the look before
// is too long ago, or the two clocks disagree about how long (a machine that
// slept stops only one of them; a clock that was set cannot be told from it).
// Whoever decides anything looks first, so that the break is noted before.
func (w *witness) look() time.Time {
	wall := w.wall().Round(0) // without its monotonic reading
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Before(w.looked) {
		return now // someone was faster
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

// probed notes what became of a question to the database that was asked at a
// time. A late answer is a break like none.
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

// watched is the present and since when we watch without a break. It is not ok
// while the database owes an answer, nor right after a pause, however short:
// nobody may be declared gone whose heartbeat only has not been read yet.
func (w *witness) watched() (now, since time.Time, ok bool) {
	now = w.look()
	w.mu.Lock()
	defer w.mu.Unlock()
	return now, w.since, now.Sub(w.answered) <= w.late && now.Sub(w.woken) >= w.pause
}
