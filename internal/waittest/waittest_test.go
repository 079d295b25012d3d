package waittest_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/waittest"
)

func TestWithinWaitsForTheCondition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		after, limit time.Duration
		want         bool
	}{
		{"it holds at once", 0, time.Second, true},
		{"it holds at once, without time to wait", 0, 0, true},
		{"it holds later", 5 * time.Second, 6 * time.Second, true},
		{"it holds at the last moment", 6 * time.Second, 6 * time.Second, true},
		{"it holds too late", 7 * time.Second, 6 * time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				got := waittest.Within(c.limit, func() bool { return time.Since(begun) >= c.after })
				if took := time.Since(begun); got != c.want || took > c.limit {
					t.Errorf("got %v after %v", got, took)
				}
			})
		})
	}
}

// spy is a testing.TB that records a failure.
type spy struct {
	testing.TB
	said string
}

func (*spy) Helper() {}

func (s *spy) Fatalf(format string, args ...any) {
	s.said = format
	runtime.Goexit()
}

func TestEventuallyEndsTheTestAfterALongTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		s, done := &spy{}, make(chan struct{})
		go func() {
			defer close(done)
			waittest.Eventually(s, "anything", func() bool { return false })
		}()
		<-done
		if took := time.Since(begun); s.said == "" || took != waittest.Patience {
			t.Errorf("it said %q after %v", s.said, took)
		}
	})
}
