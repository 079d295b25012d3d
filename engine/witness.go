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
	wall func() time.Time
	late time.Duration // a break is longer

	mu       sync.Mutex // guards the rest
	looked   time.Time  // the last look, by both clocks
	wallThen time.Time
	since    time.Time // watched without a break since
	answered time.Time // when the database last answered
}

// mostLate bounds the break that is held against others.
const mostLate = 15 * time.Second

func newWitness(wall func() time.Time, offlineAfter time.Duration) *witness {
	now := time.Now()
	return &witness{wall: wall, late: min(offlineAfter/2, mostLate), looked: now, wallThen: wall().Round(0), since: now, answered: now}
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
// while the database owes an answer: nobody may be declared gone then.
func (w *witness) watched() (now, since time.Time, ok bool) {
	now = w.look()
	w.mu.Lock()
	defer w.mu.Unlock()
	return now, w.since, now.Sub(w.answered) <= w.late
}
