package worker

import "sync"

// A look by itself costs nearly twice as much as one that follows another, while the processor still
// has the program at hand. So about looksInARow of them come after each other, and as many moments of
// a round as that takes, up to mostMoments: what there is to look at is spread, but not one by one.
const (
	looksInARow = 10
	mostMoments = 10
)

// lookPace counts how many looks a round has.
type lookPace struct {
	mu    sync.Mutex // guards the fields below
	round int64
	now   int // looks in this round
	last  int // looks in the one before
}

// count notes a look in a round, which is its number.
func (p *lookPace) count(round int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if round != p.round {
		p.round, p.last, p.now = round, p.now, 0
	}
	p.now++
}

// moments is at how many moments of a round sessions look.
func (p *lookPace) moments() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max((p.last+looksInARow/2)/looksInARow, 1), mostMoments)
}
