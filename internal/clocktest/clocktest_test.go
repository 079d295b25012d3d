package clocktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/clocktest"
)

func TestPassMovesTheClockOfABubble(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	synctest.Test(t, func(t *testing.T) {
		before := time.Now()
		clocktest.Pass(10 * 365 * 24 * time.Hour)
		if passed := time.Since(before); passed != 10*365*24*time.Hour {
			t.Errorf("%v have passed", passed)
		}
	})
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

func TestPassIsRefusedOutsideOfABubble(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("it waits in real time")
		}
	}()
	clocktest.Pass(time.Nanosecond)
}

func TestPauseTakesRealTime(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	clocktest.Pause(time.Millisecond)
	if took := time.Since(begun); took < time.Millisecond {
		t.Errorf("it took %v", took)
	}
}
