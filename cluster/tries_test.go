package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/clocktest"
)

func TestOneOfManyRequestsTriesALeaderThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var q tries
		if ok, _, _ := q.mayTry(time.Now()); !ok {
			t.Error("a request waits although none has failed")
		}
		q.tried(false)
		tried := make(chan time.Time, 10_000)
		through := make(chan time.Duration, 1000)
		fixed := time.Now().Add(5 * time.Second)
		for range 1000 {
			go func() {
				for {
					ok, answered, pause := q.mayTry(time.Now())
					if ok {
						tried <- time.Now()
						q.tried(!time.Now().Before(fixed))
						if !time.Now().Before(fixed) {
							through <- time.Since(fixed)
							return
						}
					}
					select {
					case <-answered:
					case <-time.After(pause):
					}
				}
			}()
		}
		clocktest.Pass(time.Until(fixed) - time.Nanosecond)
		synctest.Wait()
		if n, most := len(tried), int(5*time.Second/retryPause)+1; n < most/2 || n > most {
			t.Errorf("1000 requests tried %d times in 5 s, want one each %v", n, retryPause)
		}
		for range 1000 {
			if late := <-through; late > 2*retryPause {
				t.Fatalf("a request is sent %v after the leader answers, want soon", late)
			}
		}
	})
}
