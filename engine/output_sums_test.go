package engine

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/hub"
	"svc/store"
	"svc/wire"
)

// outputSums adds up the output that is journaled for an attempt, and checks that no event of the attempt comes after
// its end.
func (s *site) outputSums(r svc.Run) (bytes, lines int64) {
	s.t.Helper()
	s.settle()
	events, err := s.Store.EventsAfter(s.ctx, 0, 1<<20)
	s.no(err)
	over := svc.Topic("")
	for _, e := range events {
		if field(e, "run_id") != r.ID || field(e, "attempt") != float64(r.Attempt) {
			continue
		}
		switch e.Topic {
		case svc.TopicRunFinished, svc.TopicRunFailed, svc.TopicRunStopped:
			over = e.Topic
		case svc.TopicRunOutput:
			if over != "" {
				s.t.Errorf("output of attempt %d follows its %s: %s", r.Attempt, over, e.Payload)
			}
			n, _ := field(e, "byte_count").(float64)
			bytes += int64(n)
			n, _ = field(e, "line_count").(float64)
			lines += int64(n)
		}
	}
	return bytes, lines
}

func (s *site) wantOutput(r svc.Run, log string) {
	s.t.Helper()
	bytes, lines := s.outputSums(r)
	if bytes != int64(len(log)) || lines != int64(strings.Count(log, "\n")) {
		s.t.Errorf("the journal has %d bytes and %d lines, the log %d and %d", bytes, lines, len(log), strings.Count(log, "\n"))
	}
}

func TestOutputThatWasRelayedBeforeACrashIsToldOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		w := s.online("h")
		r, quiet := w.started(s.run()), w.started(s.run())
		w.log(r, "one\n", 0)
		w.log(r, "two\n", 4)
		w.log(quiet, "a\n", 0)
		s.stop()
		// The state after a crash: the bytes are relayed, but not journaled.
		relay := hub.NewRelay(filepath.Join(dir, "relay"), slog.Default())
		for offset, id := range map[int64]string{8: r.ID, 2: quiet.ID} {
			if _, err := relay.Append("", id, 1, &offset, []byte("three\n")); err != nil {
				t.Fatal(err)
			}
		}
		relay.Close()
		s = start(t, dir)
		w.s = s
		w.connect()
		w.beat()
		s.pass(10 * time.Second)
		s.wantOutput(quiet, "a\nthree\n") // although it writes nothing more
		w.log(r, "four", 14)
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.wantOutput(r, "one\ntwo\nthree\nfour")
	})
}

func TestTheEndTellsOfOutputThatThisProcessHasNotSeen(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		offset := int64(0)
		if _, err := s.Hub.Relay.Append("", r.ID, 1, &offset, []byte("one\ntwo\n")); err != nil {
			t.Fatal(err)
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.wantOutput(r, "one\ntwo\n")
	})
}

// A chunk may be in the log before the connection on which it arrived has counted it: another connection of the host
// found it there and went on to report the end.
func TestTheEndTellsOfOutputThatIsNotCountedYet(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		w.log(r, "one\n", 0)
		s.wantOutput(r, "one\n")
		offset := int64(4)
		if _, err := s.Hub.Relay.Append("", r.ID, 1, &offset, []byte("two\nthree")); err != nil {
			t.Fatal(err)
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.wantOutput(r, "one\ntwo\nthree")
	})
}

func TestAUnitThatFailsCountsNothing(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		w.log(r, "one\n", 0)
		gone, cancel := context.WithCancel(s.ctx)
		cancel()
		log := "one\n"
		for range 5 {
			w.log(r, "more\n", int64(len(log)))
			log += "more\n"
			s.journalOutput(gone, []attemptKey{{r.ID, 1}}) // the database does not respond
			s.pass(time.Second)
			s.journalOutput(s.ctx, []attemptKey{{r.ID, 1}})
			s.journalOutput(s.ctx, []attemptKey{{r.ID, 1}})
			s.wantOutput(r, log)
		}
		w.log(r, "the last", int64(len(log)))
		// The unit of work of an end is rolled back; then the same end arrives again.
		err := s.Store.Write(s.ctx, func(tx *store.Tx) error {
			locked, err := tx.LockRun(s.ctx, r.ID)
			if err != nil {
				return err
			}
			s.emitOutput(tx, &locked)
			if err := tx.UpdateRun(s.ctx, &locked); err != nil {
				return err
			}
			return context.DeadlineExceeded
		})
		if err == nil {
			t.Fatal("the unit was meant to fail")
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.wantOutput(r, log+"the last")
	}, func(c *Config) { c.Log = slog.New(slog.DiscardHandler) })
}

func TestNothingOfAnAttemptFollowsItsEnd(t *testing.T) {
	for name, end := range map[string]func(*site, svc.Run){
		"finished and requeued": func(s *site, r svc.Run) { s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(1))) },
		"a hook's failed":       func(s *site, r svc.Run) { s.want(svc.Applied)(s.signal(r, svc.SignalFailed, byHook)) },
		"a stop": func(s *site, r svc.Run) {
			_, err := s.StopRun(s.ctx, r.ID)
			s.no(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.online("h")
				w.keepBeating()
				r := w.started(s.run(policy(svc.RestartOnFailure)))
				w.log(r, "before\n", 0)
				end(s, r)
				w.send(wire.LogChunk{RunID: r.ID, Text: wire.LogText("late\n"), Timestamp: 1, Attempt: 1, Offset: ptr(int64(7)), Bytes: 5})
				s.pass(20 * time.Second)
				_, _ = s.signal(r, svc.SignalFinished, code(1)) // for a session that was stopped
				s.wantOutput(r, "before\n")
				log, err := s.Hub.Relay.Length(r.ID, 1, hub.LogLength{})
				s.no(err)
				if log.Bytes != 12 {
					t.Errorf("the log has %d bytes, want all 12: it is relayed as ever", log.Bytes)
				}
			})
		})
	}
}

func TestALogThatIsRelayedAgainIsNotToldAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		w := s.online("h")
		r := w.started(s.run())
		w.log(r, "one\ntwo\n", 0)
		s.wantOutput(r, "one\ntwo\n")
		s.stop()
		if err := os.RemoveAll(filepath.Join(dir, "relay")); err != nil {
			t.Fatal(err)
		}
		s = start(t, dir)
		w.s = s
		w.connect()
		w.beat()
		w.log(r, "one\n", 0)
		w.log(r, "two\nthree\n", 4)
		s.pass(10 * time.Second)
		s.wantOutput(r, "one\ntwo\nthree\n")
	})
}

// TestALogThatLostAPartIsCountedOnce has an orchestrator take over with a copy of the log that is shorter than what
// is journaled.
func TestALogThatLostAPartIsCountedOnce(t *testing.T) {
	t.Parallel()
	for _, left := range []int64{0, 2, 4, 7} {
		t.Run(fmt.Sprint(left, " bytes are left"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			inBubble(t, func(t *testing.T) {
				s := start(t, dir)
				w := s.online("h")
				r, ends := w.started(s.run()), w.started(s.run())
				for _, r := range []svc.Run{r, ends} {
					w.log(r, "one\ntwo\n", 0)
					s.wantOutput(r, "one\ntwo\n")
				}
				s.stop()
				for _, r := range []svc.Run{r, ends} {
					if err := os.Truncate(filepath.Join(dir, "relay", r.ID, "1.log"), left); err != nil {
						t.Fatal(err)
					}
				}
				s = start(t, dir)
				w.s = s
				w.connect()
				w.beat()
				s.pass(10 * time.Second)
				const log = "one\ntwo\nthree\nfour"
				for _, r := range []svc.Run{r, ends} {
					w.log(r, log[8:], 8) // refused: the copy ends before it
					w.log(r, log[left:9], left)
					s.pass(10 * time.Second)
					w.log(r, log[9:], 9)
				}
				s.want(svc.Applied)(s.signal(ends, svc.SignalFinished))
				s.pass(10 * time.Second)
				for _, r := range []svc.Run{r, ends} {
					s.wantOutput(r, log)
					if got := s.get(r); got.OutputBytes != int64(len(log)) || got.OutputLines != 3 {
						t.Errorf("the row has %d bytes and %d lines", got.OutputBytes, got.OutputLines)
					}
				}
			})
		})
	}
}
