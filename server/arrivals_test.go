package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/internal/clocktest"
)

func TestWorkersThatComeBackTogetherAreLinedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := newArrivals()
		began := time.Now()
		passed, refused := make(chan time.Duration, 5000), make(chan error, 5000)
		for range 5000 {
			go func() {
				if err := limit.pass(t.Context()); err != nil {
					refused <- err
					return
				}
				passed <- time.Since(began)
			}()
		}
		synctest.Wait()
		if n := len(passed); n != arrivalsAtOnce {
			t.Errorf("%d pass at once, want %d", n, arrivalsAtOnce)
		}
		clocktest.Pass(longestArrival)
		synctest.Wait()
		within := arrivalsAtOnce + arrivalsPerSecond*int(longestArrival/time.Second)
		if len(passed) != within || len(refused) != 5000-within {
			t.Errorf("%d passed and %d were refused, want %d and the rest", len(passed), len(refused), within)
		}
		if err := <-refused; svc.CodeOf(err) != svc.CodeUnavailable {
			t.Errorf("one that would wait too long is told %v", err)
		}
		clocktest.Pass(time.Second)
		if err := limit.pass(t.Context()); err != nil {
			t.Errorf("one that comes later: %v", err)
		}
	})
}

func TestAWorkerThatLeavesTheLineGivesItsTurnBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := newArrivals()
		for range arrivalsAtOnce {
			if err := limit.pass(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { left <- limit.pass(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("one that left was told %v", err)
		}
		began := time.Now()
		if err := limit.pass(t.Context()); err != nil || time.Since(began) > time.Second/arrivalsPerSecond {
			t.Errorf("the next one waits %v (%v), want one turn at most", time.Since(began), err)
		}
	})
}
