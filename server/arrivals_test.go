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
		const workers, each = 5000, 200 * time.Millisecond
		line := newArrivals()
		entered, refused := make(chan struct{}, workers), make(chan error, workers)
		for range workers {
			go func() {
				leave, err := line.enter(t.Context())
				if err != nil {
					refused <- err
					return
				}
				defer leave()
				entered <- struct{}{}
				clocktest.Pass(each)
				leave()
			}()
		}
		synctest.Wait()
		if n := len(entered); n != arrivalsAtOnce {
			t.Errorf("%d enter at once, want %d", n, arrivalsAtOnce)
		}
		if n := len(refused); n != workers-arrivalsAtOnce-mostWaiting {
			t.Errorf("%d are refused at once, want all but %d that wait", n, mostWaiting)
		}
		clocktest.Pass(longestArrival + each/2)
		synctest.Wait()
		n := len(entered)
		if rounds := int(longestArrival / each); n < arrivalsAtOnce*rounds || n > arrivalsAtOnce*(rounds+1) || len(refused) != workers-n {
			t.Errorf("%d entered and %d were refused, want those of %d or %d rounds and the rest", n, len(refused), rounds, rounds+1)
		}
		if err := <-refused; svc.CodeOf(err) != svc.CodeUnavailable {
			t.Errorf("one that would wait too long is told %v", err)
		}
		clocktest.Pass(each)
		leave, err := line.enter(t.Context())
		if err != nil {
			t.Fatalf("one that comes later: %v", err)
		}
		leave()
	})
}

func TestAWorkerThatLeavesTheLineTakesNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := newArrivals()
		var leave func()
		for range arrivalsAtOnce {
			var err error
			if leave, err = line.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := line.enter(ctx)
			left <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("one that left was told %v", err)
		}
		leave()
		leave() // has no effect
		began := time.Now()
		if _, err := line.enter(t.Context()); err != nil || time.Since(began) > 0 {
			t.Errorf("the next one waits %v (%v), want no wait", time.Since(began), err)
		}
		if len(line.places) != arrivalsAtOnce {
			t.Errorf("%d places are taken, want %d", len(line.places), arrivalsAtOnce)
		}
	})
}
