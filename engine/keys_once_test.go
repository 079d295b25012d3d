package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"svc"
	"svc/wire"
)

// repeat begins to send keys under an idempotency key. The returned function waits for the result.
func (s *site) repeat(ctx context.Context, r svc.Run, key string) (answer func() error) {
	answered := make(chan error, 1)
	go func() { answered <- s.SendKeys(WithIdempotency(ctx, key, "f"), r.ID, []string{"yes"}) }()
	s.settle()
	return func() error { return <-answered }
}

// typed answers the requests that arrived and returns how many there were.
func (w *worker) typed(result wire.KeysResult) int {
	w.s.t.Helper()
	frames := w.keysFrames()
	for _, f := range frames {
		result.RequestID = f.RequestID
		w.send(result)
	}
	w.s.settle()
	return len(frames)
}

func TestKeysOfAClientThatLeftAreTypedOnce(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		ctx, cancel := context.WithCancel(s.ctx)
		left := s.repeat(ctx, r, "k")
		cancel()
		if err := left(); !errors.Is(err, context.Canceled) {
			t.Errorf("the client that left was told %v", err)
		}
		again := s.repeat(s.ctx, r, "k") // while the first is in progress
		if n := w.typed(wire.KeysResult{OK: true}); n != 1 {
			t.Errorf("they were typed %d times", n)
		}
		s.wantCode("the second request", again(), "")
		s.wantCode("the third request", s.repeat(s.ctx, r, "k")(), "")
		s.wantCode("another request", s.SendKeys(WithIdempotency(s.ctx, "k", "g"), r.ID, []string{"no"}), svc.CodeIdempotency)
		if n := w.typed(wire.KeysResult{OK: true}); n != 0 {
			t.Errorf("they were typed %d times more", n)
		}
	})
}

func TestARepeatedKeyAnswersTheSameRefusal(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		first := s.repeat(s.ctx, r, "k")
		w.typed(wire.KeysResult{Error: "only letters"})
		one, two := first(), s.repeat(s.ctx, r, "k")()
		s.wantCode("the first", one, svc.CodeInvalidKeys)
		s.wantCode("the second", two, svc.CodeInvalidKeys)
		if two == nil || two.Error() != one.Error() {
			t.Errorf("first %v, then %v", one, two)
		}
		if n := w.typed(wire.KeysResult{OK: true}); n != 0 {
			t.Errorf("they were asked for %d times more", n)
		}
	})
}

func TestKeysWhoseAnswerIsLostAreNeverTypedAgain(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		cut := s.repeat(s.ctx, r, "k")
		if n := len(w.keysFrames()); n != 1 {
			t.Fatalf("%d requests reached the worker", n)
		}
		w.drop()
		s.wantCode("an uplink that drops", cut(), svc.CodeOutcomeUnknown)
		w.connect()
		w.beat()
		s.settle()
		s.wantCode("the same again", s.repeat(s.ctx, r, "k")(), svc.CodeOutcomeUnknown)
		if n := len(w.keysFrames()); n != 0 {
			t.Errorf("they were sent %d times more", n)
		}
	})
}

func TestKeysThatNeverLeftMayBeSentAgain(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		w.drop()
		s.wantCode("no uplink", s.repeat(s.ctx, r, "k")(), svc.CodeHostNotConnected)
		w.connect()
		w.beat()
		s.settle()
		again := s.repeat(s.ctx, r, "k")
		if n := w.typed(wire.KeysResult{OK: true}); n != 1 {
			t.Errorf("they were typed %d times", n)
		}
		s.wantCode("when it is back", again(), "")
	})
}

func TestALateAnswerIsWhatARepeatedKeyGets(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		slow := s.repeat(s.ctx, r, "k")
		s.wantCode("in time", slow(), svc.CodeOutcomeUnknown)
		again := s.repeat(s.ctx, r, "k")
		if n := w.typed(wire.KeysResult{OK: true}); n != 1 {
			t.Errorf("they were typed %d times", n)
		}
		s.wantCode("one that waits meanwhile", again(), "")
		s.wantCode("afterwards", s.repeat(s.ctx, r, "k")(), "")
	})
}

// An orchestrator that was killed between the frame and its answer leaves a reserved key. Its successor types nothing
// and reports that the outcome is unknown.
func TestKeysOfAnOrchestratorThatDiedAreNotTypedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		before := start(t, dir)
		w := before.online("h")
		r := w.started(before.run())
		cut := before.repeat(before.ctx, r, "k")
		if n := len(w.keysFrames()); n != 1 {
			t.Fatalf("%d requests reached the worker", n)
		}
		before.stop()
		before.wantCode("at the shutdown", cut(), svc.CodeOutcomeUnknown)
		_ = w.conn.Close("")
		<-w.ended

		s := start(t, dir)
		w.s = s
		w.register(wire.Capabilities...)
		w.connect()
		w.beat()
		s.settle()
		w.take()
		s.wantCode("after the restart", s.repeat(s.ctx, r, "k")(), svc.CodeOutcomeUnknown)
		if n := len(w.keysFrames()); n != 0 {
			t.Errorf("they were sent %d times more", n)
		}
	})
}
