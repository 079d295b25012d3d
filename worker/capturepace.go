package worker

import "sync"

// A single capture costs nearly twice as much as one that directly follows another, because the program is then
// still in the processor's cache. So a round is divided into slots with about capturesInARow captures each, and
// at most mostSlots slots: captures are spread over the round, but run in groups.
const (
	capturesInARow = 10
	mostSlots      = 10
)

// capturePace counts the captures of a round.
type capturePace struct {
	mu    sync.Mutex // guards the fields below
	round int64
	now   int // captures in this round
	last  int // captures in the previous round
}

// count counts one capture in the round with this number.
func (p *capturePace) count(round int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if round != p.round {
		p.round, p.last, p.now = round, p.now, 0
	}
	p.now++
}

// slots returns the number of slots in a round.
func (p *capturePace) slots() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max((p.last+capturesInARow/2)/capturesInARow, 1), mostSlots)
}
