package arrivals

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/internal/clocktest"
)

func TestWorkersThatComeBackTogetherAreLinedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const workers, each = 5000, 1000 * time.Millisecond
		line := NewLine(AtOnce)
		entered, refused := make(chan struct{}, workers), make(chan error, workers)
		for range workers {
			go func() {
				leave, err := line.Enter(t.Context())
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
		if n := len(entered); n != AtOnce {
			t.Errorf("%d enter at once, want %d", n, AtOnce)
		}
		if n := len(refused); n != workers-AtOnce-mostWaiting {
			t.Errorf("%d are refused at once, want all but %d that wait", n, mostWaiting)
		}
		clocktest.Pass(longestWait + each/2)
		synctest.Wait()
		n := len(entered)
		if rounds := int(longestWait / each); n < AtOnce*rounds || n > AtOnce*(rounds+1) || len(refused) != workers-n {
			t.Errorf("%d entered and %d were refused, want those of %d or %d rounds and the rest", n, len(refused), rounds, rounds+1)
		}
		if err := <-refused; svc.CodeOf(err) != svc.CodeUnavailable || svc.RetryInOf(err) <= 0 {
			t.Errorf("one that would wait too long is told %v, turn in %v", err, svc.RetryInOf(err))
		}
		clocktest.Pass(each)
		leave, err := line.Enter(t.Context())
		if err != nil {
			t.Fatalf("one that comes later: %v", err)
		}
		leave()
	})
}

func TestAWorkerThatLeavesTheLineTakesNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := NewLine(AtOnce)
		var leave func()
		for range AtOnce {
			var err error
			if leave, err = line.Enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := line.Enter(ctx)
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
		if _, err := line.Enter(t.Context()); err != nil || time.Since(began) > 0 {
			t.Errorf("the next one waits %v (%v), want no wait", time.Since(began), err)
		}
		if len(line.places) != AtOnce {
			t.Errorf("%d places are taken, want %d", len(line.places), AtOnce)
		}
	})
}

// Workers that are refused come back when it is their turn. Then nearly all of them get a place, and no place stays
// empty meanwhile.
func TestARefusedWorkerHasItsTurn(t *testing.T) {
	t.Parallel()
	for name, each := range map[string]time.Duration{"a slow machine": 400 * time.Millisecond, "a fast machine": 40 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const workers = 10_000
				line := NewLine(AtOnce)
				var tries, active atomic.Int64
				var all sync.WaitGroup
				began := time.Now()
				for range workers {
					all.Go(func() {
						for {
							tries.Add(1)
							leave, err := line.Enter(t.Context())
							if err != nil {
								clocktest.Pass(svc.RetryInOf(err))
								continue
							}
							if active.Add(1) > AtOnce {
								t.Error("more than the limit connect at once")
							}
							clocktest.Pass(each)
							active.Add(-1)
							leave()
							return
						}
					})
				}
				all.Wait()
				best := max(each*workers/AtOnce, workers*time.Second/firstPace)
				if took := time.Since(began); took > best*5/4+time.Second {
					t.Errorf("all have entered after %v, want at most little more than %v", took, best)
				}
				if n := tries.Load(); n > 5*workers {
					t.Errorf("%d workers tried %d times", workers, n)
				}
			})
		})
	}
}

// A pace that was measured while the machine was slow must not hold up the next crowd.
func TestTheNextCrowdIsNotHeldUpByThePaceOfTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := NewLine(AtOnce)
		come := func(workers int, each time.Duration) time.Duration {
			began := time.Now()
			var all sync.WaitGroup
			for range workers {
				all.Go(func() {
					for {
						leave, err := line.Enter(t.Context())
						if err == nil {
							clocktest.Pass(each)
							leave()
							return
						}
						clocktest.Pass(svc.RetryInOf(err))
					}
				})
			}
			all.Wait()
			return time.Since(began)
		}
		if took := come(3000, time.Second); took < 40*time.Second { // 64 workers per second
			t.Errorf("the first crowd took %v", took)
		}
		clocktest.Pass(calmFor)
		if took := come(3000, 100*time.Millisecond); took > 3000*time.Second/firstPace+time.Second {
			t.Errorf("the next crowd took %v", took)
		}
	})
}
