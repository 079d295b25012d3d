package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheTimeInWhichNobodyRunsIsNotCounted(t *testing.T) {
	t.Parallel()
	begin := time.Unix(0, 0)
	var waited runningTime
	for _, at := range []time.Duration{0, 500 * time.Millisecond, time.Second, time.Hour, time.Hour + 100*time.Millisecond} {
		waited.count(begin.Add(at), time.Second)
	}
	if want := 2100 * time.Millisecond; waited.total != want {
		t.Errorf("counted %v, want %v: of the hour no more than a second", waited.total, want)
	}
}

func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		ctx, cancel := patient(t.Context(), 10*time.Second)
		defer cancel()
		<-ctx.Done()
		if got := time.Since(begun); got != 10*time.Second {
			t.Errorf("it ended after %v, want 10 s", got)
		}
		ctx, cancel = patient(context.Background(), time.Hour)
		cancel()
		if ctx.Err() == nil {
			t.Error("it goes on after it was cancelled")
		}
	})
}
