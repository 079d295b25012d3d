package worker

import (
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/clocktest"
)

func TestCapturesComeInRowsOfAboutTen(t *testing.T) {
	t.Parallel()
	for captures, want := range map[int]int{0: 1, 1: 1, 10: 1, 14: 1, 20: 2, 26: 3, 100: 10, 1000: 10} {
		var p capturePace
		for range captures {
			p.count(1)
		}
		p.count(2) // the round is over
		if got := p.slots(); got != want {
			t.Errorf("after %d captures in a round there are %d slots, want %d", captures, got, want)
		}
	}
}

func TestASessionIsCapturedInItsSlotOfEachRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &Worker{born: time.Now()}
		w.opts.Snapshots = time.Second
		began := time.Now()
		next := func(place float64) time.Duration {
			clocktest.Pass(w.untilCapture(place))
			return time.Since(began)
		}
		for round := 1; round <= 3; round++ {
			if at := next(0.7); at != time.Duration(round)*time.Second {
				t.Errorf("look %d of a few sessions is at %v", round, at)
			}
		}
		for range 40 {
			w.capturePace.count(1)
		}
		w.capturePace.count(2)
		if at := next(0.7); at != 3500*time.Millisecond {
			t.Errorf("a look among forty is at %v", at)
		}
		if at := next(0.2); at != 4*time.Second {
			t.Errorf("another one's is at %v", at)
		}
	})
}
