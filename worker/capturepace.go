package worker

import "sync"

// A capture by itself costs nearly twice as much as one that follows another, while the processor's cache
// still has the program. So a round is divided into slots with about capturesInARow captures each, up to
// mostSlots of them: captures are spread over the round, but not one by one.
const (
	capturesInARow = 10
	mostSlots      = 10
)

// capturePace counts the captures of a round.
type capturePace struct {
	mu    sync.Mutex // guards the fields below
	round int64
	now   int // captures in this round
	last  int // captures in the one before
}

// count notes a capture in a round, which is given by its number.
func (p *capturePace) count(round int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if round != p.round {
		p.round, p.last, p.now = round, p.now, 0
	}
	p.now++
}

// slots is the number of slots in a round.
func (p *capturePace) slots() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max((p.last+capturesInARow/2)/capturesInARow, 1), mostSlots)
}
