package hub

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/internal/clocktest"
)

// follower reads a followed log in the background.
type follower struct {
	mu   sync.Mutex
	text strings.Builder
	done chan struct{}
	err  error
}

func follow(t *testing.T, r *Relay, runID string, q LogQuery) *follower {
	t.Helper()
	lr, err := r.Open(t.Context(), runID, q)
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		defer lr.Close()
		b := make([]byte, 100)
		for {
			n, err := lr.Read(b)
			f.mu.Lock()
			f.text.Write(b[:n])
			f.err = err
			f.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return f
}

func (f *follower) got() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.String()
}

func (f *follower) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

func TestAFollowerGetsWhatIsThereWhatComesAndTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, run := newRelay(t), svc.NewRunID()
		var live atomic.Bool
		live.Store(true)
		all := follow(t, r, run, LogQuery{Tail: -1, Follow: live.Load})
		appendLog(t, r, run, 1, "early\n")
		late := follow(t, r, run, LogQuery{Tail: -1, Follow: live.Load})
		last := follow(t, r, run, LogQuery{Tail: 0, Follow: live.Load})
		synctest.Wait()
		if all.got() != "early\n" || late.got() != "early\n" || last.got() != "" {
			t.Errorf("got %q, %q and %q", all.got(), late.got(), last.got())
		}
		appendLog(t, r, run, 1, "live\n")
		synctest.Wait()
		if all.got() != "early\nlive\n" || last.got() != "live\n" || all.ended() {
			t.Errorf("got %q and %q, ended %v", all.got(), last.got(), all.ended())
		}
		appendLog(t, r, run, 1, "last words")
		live.Store(false)
		r.Ended(run)
		synctest.Wait()
		for _, f := range []*follower{all, late} {
			if !f.ended() || f.err != io.EOF || f.got() != "early\nlive\nlast words" {
				t.Errorf("ended %v with %v after %q", f.ended(), f.err, f.got())
			}
		}
	})
}

func TestAFollowerOfAllAttemptsGoesOnWithTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, run := newRelay(t), svc.NewRunID()
		var live atomic.Bool
		live.Store(true)
		all := follow(t, r, run, LogQuery{Tail: -1, Follow: live.Load})
		second := follow(t, r, run, LogQuery{Tail: -1, Attempt: 2, Follow: live.Load})
		appendLog(t, r, run, 1, "one\n")
		r.Ended(run) // the first attempt has ended, the run itself continues
		synctest.Wait()
		appendLog(t, r, run, 1, "late of one\n")
		appendLog(t, r, run, 2, "two\n")
		synctest.Wait()
		appendLog(t, r, run, 2, "more\n")
		synctest.Wait()
		if all.got() != "one\nlate of one\ntwo\nmore\n" || second.got() != "two\nmore\n" {
			t.Errorf("got %q and %q", all.got(), second.got())
		}
		live.Store(false)
		r.Ended(run)
		synctest.Wait()
		if !all.ended() || !second.ended() {
			t.Error("the followers go on after the end")
		}
	})
}

func TestAFollowerEndsEvenWhenNobodyAnnouncesTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, run := newRelay(t), svc.NewRunID()
		var live atomic.Bool
		live.Store(true)
		f := follow(t, r, run, LogQuery{Tail: -1, Follow: live.Load})
		synctest.Wait()
		live.Store(false)
		clocktest.Pass(followPoll + time.Millisecond)
		synctest.Wait()
		if !f.ended() {
			t.Error("it still waits")
		}
	})
}

func TestAFollowerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, run := newRelay(t), svc.NewRunID()
		ctx, cancel := context.WithCancel(t.Context())
		lr, err := r.Open(ctx, run, LogQuery{Tail: -1, Text: true, Follow: func() bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		defer lr.Close()
		got := make(chan error)
		go func() {
			_, err := lr.Read(make([]byte, 10))
			got <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAFollowerThatDoesNotReadBlocksNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, run := newRelay(t), svc.NewRunID()
		var live atomic.Bool
		live.Store(true)
		stuck, err := r.Open(t.Context(), run, LogQuery{Tail: -1, Follow: live.Load})
		if err != nil {
			t.Fatal(err)
		}
		defer stuck.Close()
		reader := follow(t, r, run, LogQuery{Tail: -1, Follow: live.Load})
		chunk := strings.Repeat("w", 64<<10)
		for range 64 {
			appendLog(t, r, run, 1, chunk)
		}
		live.Store(false)
		r.Ended(run)
		<-reader.done
		if n := len(reader.got()); n != 4<<20 {
			t.Errorf("the one that reads got %d bytes", n)
		}
		if b, err := io.ReadAll(stuck); len(b) != 4<<20 || err != nil {
			t.Errorf("the one that reads late got %d bytes, %v", len(b), err)
		}
	})
}

func TestAReaderThatDoesNotFollowEndsWhereTheLogStoodWhenItBegan(t *testing.T) {
	t.Parallel()
	r, run := newRelay(t), svc.NewRunID()
	appendLog(t, r, run, 1, "then")
	lr, err := r.Open(t.Context(), run, LogQuery{Tail: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer lr.Close()
	appendLog(t, r, run, 1, " and now")
	if b, err := io.ReadAll(lr); string(b) != "then" || err != nil {
		t.Errorf("got %q, %v", b, err)
	}
}
