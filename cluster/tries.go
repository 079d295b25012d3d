package cluster

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	retryPause = 50 * time.Millisecond // between the tries of all requests together
	waitPause  = time.Second           // longest time until a waiting request looks whether it may try
)

// tries decides which requests try to reach a leader that does not serve requests at the moment: it has died, or does
// not lead yet. Thousands of requests may wait for it, those of all workers. One of them tries at a time; when it is
// answered, all others follow at once.
type tries struct {
	mu       sync.Mutex    // guards the rest
	answered chan struct{} // closed when a request is answered; nil: the last one was, or none was sent yet
	next     time.Time     // when the next request may try
}

// mayTry reports whether a request may be sent now. If not, the caller waits for wait, at most for pause, and asks
// again.
func (t *tries) mayTry(now time.Time) (ok bool, wait <-chan struct{}, pause time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answered == nil {
		return true, nil, 0
	}
	if now.Before(t.next) {
		return false, t.answered, retryPause + rand.N(waitPause) //nolint:gosec // spreads load, guards nothing
	}
	t.next = now.Add(retryPause)
	return true, t.answered, retryPause
}

// tried records whether a request was answered.
func (t *tries) tried(answered bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !answered && t.answered == nil:
		t.answered = make(chan struct{})
	case answered && t.answered != nil:
		close(t.answered)
		t.answered = nil
	}
}
