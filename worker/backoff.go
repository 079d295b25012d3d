package worker

import "time"

// The wait between two tries to reach the orchestrator.
const (
	backoffFirst = 500 * time.Millisecond
	backoffMost  = 30 * time.Second
)

// backoff spreads the tries of many workers: the bound doubles with each
// failure, and the wait is drawn evenly from nothing up to the bound, so that a
// fleet that lost its server together does not come back together.
type backoff struct {
	failures int
	random   func() float64 // [0, 1)
}

// next is how long to wait after one more failure.
func (b *backoff) next() time.Duration {
	bound := backoffMost
	if b.failures < 7 {
		bound = min(backoffFirst<<b.failures, backoffMost)
	}
	b.failures++
	return time.Duration(b.random() * float64(bound))
}

// slow is the wait after an answer that only a person can change, such as a
// wrong token: long, but not forever, since that person may be at it now.
func (b *backoff) slow() time.Duration {
	b.failures++
	return backoffMost/2 + time.Duration(b.random()*float64(backoffMost/2))
}

// reset begins anew after a success.
func (b *backoff) reset() { b.failures = 0 }
