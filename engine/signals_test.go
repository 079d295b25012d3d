package engine

import (
	"errors"
	"sync"
	"testing"

	"svc"
	"svc/wire"
)

func TestAttemptIsJudgedBeforeAnythingIsWritten(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := s.run()
		w.ack(r, true)
		s.news()
		_, err := s.signal(r, svc.SignalStarted, func(sig *svc.Signal) { sig.NoAttempt = true })
		s.wantCode("no attempt", err, svc.CodeMissingAttempt)
		var e *svc.Error
		if !errors.As(err, &e) || e.Details["current_attempt"] != 1 {
			t.Errorf("details %v", e.Details)
		}
		_, err = s.signal(r, svc.SignalStarted, func(sig *svc.Signal) { sig.Attempt = 2 })
		s.wantCode("a greater attempt", err, svc.CodeInvalidAttempt)
		if !errors.As(err, &e) || e.Details["signal_attempt"] != 2 || e.Details["current_attempt"] != 1 {
			t.Errorf("details %v", e.Details)
		}
		s.want(svc.DeadAttempt)(s.signal(r, svc.SignalStarted, func(sig *svc.Signal) { sig.Attempt = 0 }))
		for _, attempt := range []bool{true, false} {
			_, err = s.Ingest(s.ctx, svc.Signal{RunID: svc.NewRunID(), Kind: svc.SignalStarted, Attempt: 1, NoAttempt: attempt, Source: svc.FromWrapper})
			s.wantCode("an unknown run", err, svc.CodeNotFound)
		}
		s.wantTopics()
		s.wantStatus(r, svc.RunSpawning)
		s.want(svc.Applied)(s.signal(r, svc.SignalStarted)) // none of the signals above left a record
	})
}

func TestOneShotSignalsAreAppliedOnce(t *testing.T) {
	for _, kind := range []svc.SignalKind{svc.SignalStarted, svc.SignalFinished, svc.SignalCompleted, svc.SignalFailed} {
		t.Run(string(kind), func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.online("h")
				r := s.run()
				w.ack(r, true)
				s.news()
				outcomes := map[svc.Outcome]int{}
				var mu sync.Mutex
				var wg sync.WaitGroup
				for i := range 50 {
					wg.Go(func() {
						if i%2 == 1 { // the same over the uplink
							sig := wire.FromSignal(svc.Signal{Kind: kind, Attempt: 1, Source: svc.FromWrapper, Result: svc.ResultSuccess, Error: "other", Timestamp: 1})
							w.send(wire.SignalFrame{RunID: r.ID, Signal: sig})
							return
						}
						got, err := s.signal(r, kind)
						mu.Lock()
						defer mu.Unlock()
						if err != nil {
							t.Error(err)
						}
						outcomes[got]++
					})
				}
				wg.Wait()
				if events := s.news(); len(events) != 1 {
					t.Errorf("50 signals journaled %d events", len(events))
				}
				if outcomes[svc.Applied] > 1 || outcomes[svc.Applied]+outcomes[svc.Duplicate] != 25 {
					t.Errorf("outcomes %v", outcomes)
				}
				w.wantFrames("run_dispatch 1")
			})
		})
	}
}

func TestProgressIsOrderedBySeq(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		applied := 0
		var mu sync.Mutex
		var wg sync.WaitGroup
		for n := range int64(50) {
			wg.Go(func() {
				got, err := s.signal(r, svc.SignalProgress, byHook, seq(n+1))
				mu.Lock()
				defer mu.Unlock()
				if err != nil || got != svc.Applied && got != svc.StaleSeq {
					t.Errorf("%s %v", got, err)
				}
				if got == svc.Applied {
					applied++
				}
			})
		}
		wg.Wait()
		events := s.news()
		last := 0.0
		for _, e := range events {
			if n, _ := field(e, "seq").(float64); n <= last {
				t.Errorf("seq %v journaled after %v", n, last)
			} else {
				last = n
			}
		}
		if got := s.get(r); len(events) != applied || got.LastProgressSeq != 50 || *got.ProgressMessage != "m50" {
			t.Errorf("%d events of %d applied; the run shows %d, %s", len(events), applied, got.LastProgressSeq, *got.ProgressMessage)
		}
	})
}

func TestNeedsInput(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		ask := func(n int64) {
			s.want(svc.Applied)(s.signal(r, svc.SignalProgress, byHook, seq(n), func(sig *svc.Signal) { sig.NeedsInput, sig.Message = true, "which?" }))
			if got := s.get(r); !got.NeedsInput || *got.ProgressMessage != "which?" {
				t.Errorf("after a question: %+v", got)
			}
		}
		clear := func(what string) {
			t.Helper()
			if s.get(r).NeedsInput {
				t.Errorf("%s left needs_input", what)
			}
		}
		ask(1)
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, byHook, seq(2)))
		clear("a later progress")
		ask(3)
		w.send(wire.Snapshot{RunID: r.ID, Capture: "Continue? [y/n]", Timestamp: 1})
		s.want(svc.StaleSeq)(s.signal(r, svc.SignalProgress, byHook, seq(3)))
		if !s.get(r).NeedsInput {
			t.Error("a screen or a stale progress cleared it")
		}
		s.news()
		s.touched(r.ID, "ann")
		clear("input")
		s.wantTopics(svc.TopicRunSignal)
		s.touched(r.ID, "ann")
		s.wantTopics()
		ask(4)
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		clear("the end")
	})
}

func TestSignalFramesThatAreRefused(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := s.run()
		w.ack(r, true)
		w.take()
		s.news()
		good := wire.Signal{Kind: svc.SignalStarted, Attempt: ptr(1), Source: svc.FromWrapper, Payload: []byte("{}"), Timestamp: 1}
		send := func(runID string, change func(*wire.Signal)) {
			sig := good
			change(&sig)
			w.send(wire.SignalFrame{RunID: runID, Signal: sig})
		}
		send(r.ID, func(sig *wire.Signal) { sig.Attempt = ptr(2) })
		send(r.ID, func(sig *wire.Signal) { sig.Attempt = nil })
		send(r.ID, func(sig *wire.Signal) { sig.Source = svc.FromUser })
		send(r.ID, func(sig *wire.Signal) { sig.Kind, sig.Payload = svc.SignalFinished, []byte(`{"exit_code":"x"}`) })
		send(svc.NewRunID(), func(*wire.Signal) {})
		w.wantFrames("error invalid_attempt", "error missing_attempt", "error validation_failed", "error validation_failed", "error not_found")
		s.wantTopics()
		send(r.ID, func(*wire.Signal) {})
		s.wantTopics(svc.TopicRunStarted)
		w.wantFrames()
	})
}

func TestSpoolIsReplayedBeforeAnyHeartbeat(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		w.drop()
		w.connect()
		for range 2 {
			for n := range int64(3) {
				w.send(wire.SignalFrame{RunID: r.ID, Signal: wire.FromSignal(svc.Signal{Kind: svc.SignalProgress, Attempt: 1, Seq: n + 1, Source: svc.FromHook, Timestamp: 1})})
			}
			w.send(wire.SignalFrame{RunID: r.ID, Signal: wire.FromSignal(svc.Signal{Kind: svc.SignalFinished, Attempt: 1, Source: svc.FromWrapper, Timestamp: 1})})
		}
		s.wantTopics(svc.TopicRunSignal, svc.TopicRunSignal, svc.TopicRunSignal, svc.TopicRunFinished)
		w.wantFrames()
	})
}

func TestRunOfANackedDispatchHearsNobody(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := s.run()
		w.ack(r, false)
		s.news()
		for _, kind := range []svc.SignalKind{svc.SignalStarted, svc.SignalFinished, svc.SignalFailed, svc.SignalCompleted, svc.SignalProgress} {
			s.want(svc.Superseded)(s.signal(r, kind, seq(1)))
		}
		s.wantTopics()
		b := s.online("b")
		s.wantStatus(r, svc.RunSpawning)
		b.started(r) // none of the signals above left a record
	})
}
