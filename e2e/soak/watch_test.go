package soak

import (
	"context"
	"errors"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
)

// index updates, from the event stream, which runs have ended and which have asked a question.
func (s *site) index(ctx context.Context) {
	next := 0
	for ctx.Err() == nil {
		events := s.reader.Events()
		s.mu.Lock()
		for ; next < len(events); next++ {
			e := events[next]
			id := e.Text("run_id")
			switch e.Topic {
			case svc.TopicRunFinished, svc.TopicRunFailed, svc.TopicRunStopped:
				s.ended[id] = true
			case svc.TopicRunRequeued:
				delete(s.ended, id)
			case svc.TopicRunSignal:
				s.asking[id] = s.asking[id] || e.Payload["needs_input"] == true
			}
		}
		s.mu.Unlock()
		proctest.Pause(20 * time.Millisecond)
	}
}

// watch reads the log of each attempt as soon as its run.finished has arrived. The log must be complete then.
func (s *site) watch(ctx context.Context) {
	c, next := s.o.Client(), 0
	for ctx.Err() == nil {
		events := s.reader.Events()
		for ; next < len(events) && ctx.Err() == nil; next++ {
			e := events[next]
			if e.Topic != svc.TopicRunFinished {
				continue
			}
			a := event{Payload: e.Payload}.attempt()
			if text, ok := s.readLogSoon(ctx, c, a); ok {
				s.mu.Lock()
				s.atEnd[a] = text
				s.mu.Unlock()
			}
		}
		proctest.Pause(20 * time.Millisecond)
	}
}

// readLogSoon reads a log, and repeats the request until it succeeds or ctx ends.
func (s *site) readLogSoon(ctx context.Context, c *api.Client, a attempt) ([]byte, bool) {
	for ctx.Err() == nil {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		text, err := readLog(try, c, a)
		cancel()
		if err == nil {
			return text, true
		}
		proctest.Pause(20 * time.Millisecond)
	}
	return nil, false
}

// answer waits until a run asks a question, types a unique text, and then the text that ends the agent. A
// request without a response is repeated with the same key.
func (s *site) answer(runID, mark string) {
	c := s.o.Client()
	for {
		s.mu.Lock()
		ended, asks := s.ended[runID], s.asking[runID]
		s.mu.Unlock()
		if ended {
			return
		}
		if asks {
			break
		}
		proctest.Pause(100 * time.Millisecond)
	}
	text := keyText(mark)
	if s.sendKeys(c, runID, mark+"-keys", text) {
		s.mu.Lock()
		s.ledger = append(s.ledger, write{wroteKeys, runID, text})
		s.mu.Unlock()
	}
	s.sendKeys(c, runID, mark+"-end", "end")
}

// keyText returns a mark as a text that can be typed: it has only letters and digits.
func keyText(mark string) string {
	text := []byte("typed")
	for _, b := range []byte(mark) {
		if b != '-' {
			text = append(text, b)
		} else {
			text = append(text, 'x')
		}
	}
	return string(text)
}

// sendKeys types a text and Enter. It reports whether this was acknowledged.
func (s *site) sendKeys(c *api.Client, runID, key, text string) bool {
	ctx := api.WithIdempotencyKey(context.Background(), key)
	for range 40 {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := c.SendKeys(try, runID, []string{text, "Enter"})
		cancel()
		var refused *svc.Error
		switch {
		case err == nil:
			return true
		case errors.As(err, &refused) && refused.Code == "outcome_unknown":
			return false
		case errors.As(err, &refused) && refused.Code == svc.CodeInternal:
			s.complain("keys %s: %v", key, err)
		case errors.As(err, &refused) && !transient(refused.Code) && refused.Code != svc.CodeHostNotConnected:
			return false
		}
		proctest.Pause(200 * time.Millisecond)
	}
	return false
}
