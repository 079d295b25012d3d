// Package waittest waits in tests for what must happen.
package waittest

import (
	"testing"
	"time"
)

// Patience is how long a test waits for something that must happen. It is long because a loaded machine is slow, not
// broken, and only a test that fails waits that long. A shorter limit is for a test of the time itself.
const Patience = 2 * time.Minute

const poll = 10 * time.Millisecond

// Eventually waits until the condition holds, and ends the test if it does not within Patience.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	if !Within(Patience, holds) {
		tb.Fatalf("never: %s", what)
	}
}

// Within reports whether the condition holds within the limit.
func Within(limit time.Duration, holds func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			return holds() // the last answer may be old when the machine is slow
		case <-tick.C:
		}
	}
	return true
}
