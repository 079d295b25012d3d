package worker

import "time"

// The bounds of the wait between two connection attempts.
const (
	backoffFirst = 500 * time.Millisecond
	backoffMost  = 10 * time.Second
	// refusedMost is the longest wait after a refusal that only an operator can fix.
	refusedMost = 30 * time.Second
)

// backoff spreads the connection attempts of many workers: the bound doubles with each failure, and the wait is
// random between zero and the bound, so that workers that lost their server at the same time do not reconnect
// at the same time.
type backoff struct {
	failures int
	random   func() float64 // [0, 1)
}

// next returns how long to wait after one more failure.
func (b *backoff) next() time.Duration {
	bound := backoffMost
	if b.failures < 5 {
		bound = min(backoffFirst<<b.failures, backoffMost)
	}
	b.failures++
	return time.Duration(b.random() * float64(bound))
}

// slow returns the wait after a refusal that only an operator can fix, such as a wrong token. It is long but
// bounded, since the operator may be fixing it now.
func (b *backoff) slow() time.Duration {
	b.failures++
	return refusedMost/2 + time.Duration(b.random()*float64(refusedMost/2))
}

// turn returns the wait after a refusal of a crowded orchestrator that tells when it is this worker's turn.
func (b *backoff) turn(in time.Duration) time.Duration {
	return min(in, refusedMost) + time.Duration(b.random()*float64(backoffFirst))
}

// reset starts from the first bound again, after a success.
func (b *backoff) reset() { b.failures = 0 }
