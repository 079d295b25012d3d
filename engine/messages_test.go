package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// takesMessages connects a worker whose provider supports messages and reports turns.
func (s *site) takesMessages(name string) *worker {
	s.t.Helper()
	w := s.online(name)
	w.reports(svc.ProviderReport{Available: true, Message: "paste", Turns: true})
	return w
}

func (w *worker) reports(p svc.ProviderReport) {
	w.s.t.Helper()
	w.send(wire.Providers{Providers: map[string]svc.ProviderReport{"provider_a": p}})
	w.s.settle()
	w.s.news()
}

func (s *site) message(r svc.Run, text string, change ...func(*svc.NewMessage)) svc.Message {
	s.t.Helper()
	n := svc.NewMessage{Text: text}
	for _, c := range change {
		c(&n)
	}
	m, err := s.SendMessage(s.ctx, r.ID, n)
	s.no(err)
	s.settle()
	return m
}

func atTurnEnd(n *svc.NewMessage) { n.When = svc.MessageTurnEnd }
func asAnswer(n *svc.NewMessage)  { n.Answer = true }

// pastes returns the texts that the worker was asked to paste since the last call, and the requests' ids.
func (w *worker) pastes() (texts, ids []string) {
	for _, f := range w.take() {
		switch f := f.(type) {
		case *wire.Paste:
			texts, ids = append(texts, f.Text), append(ids, f.RequestID)
		case *wire.Keys:
			texts, ids = append(texts, "keys "+strings.Join(f.Keys, " ")), append(ids, f.RequestID)
		}
	}
	return texts, ids
}

// wantPastes checks what the worker was asked to paste, and answers ok.
func (w *worker) wantPastes(want ...string) {
	w.s.t.Helper()
	texts, ids := w.pastes()
	if !slices.Equal(texts, want) {
		w.s.t.Errorf("%s was asked for %q, want %q", w.host.Name, texts, want)
	}
	for _, id := range ids {
		w.send(wire.KeysResult{RequestID: id, OK: true})
	}
	w.s.settle()
}

// wantMessages checks the states of a run's messages, oldest first.
func (s *site) wantMessages(r svc.Run, want ...string) {
	s.t.Helper()
	s.settle()
	l, err := s.Messages(s.ctx, r.ID, svc.Page{Limit: 50})
	s.no(err)
	var got []string
	for _, m := range l.Items {
		got = append(got, strings.TrimSpace(m.Text+": "+string(m.State)+" "+string(m.Reason)))
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("the messages are %q, want %q", got, want)
	}
}

// wantJournaled checks the states in the run.message events since the last call.
func (s *site) wantJournaled(want ...svc.MessageState) {
	s.t.Helper()
	var got []svc.MessageState
	for _, e := range s.news() {
		if e.Topic != svc.TopicRunMessage {
			continue
		}
		state, _ := field(e, "state").(string)
		got = append(got, svc.MessageState(state))
		for _, id := range []string{"message_id", "run_id", "task_id", "project_id", "host_id"} {
			if text, _ := field(e, id).(string); !svc.IsID(text) {
				s.t.Errorf("%s has no %s", e.Payload, id)
			}
		}
		if field(e, "text") != nil {
			s.t.Errorf("the text is in the journal: %s", e.Payload)
		}
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("run.message told of %q, want %q", got, want)
	}
}

func submits(text string) func(*svc.Signal) {
	return func(sig *svc.Signal) { sig.Source, sig.Submitted = svc.FromHook, svc.PromptDigest(text) }
}

func TestAMessageIsPastedAndAcknowledgedByTheToolsHook(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.takesMessages("h")
		r := w.started(s.run())
		first, second := s.message(r, "one\n\ttwo"), s.message(r, "three")
		if first.State != svc.MessageQueued || first.When != svc.MessageNow || first.Attempt != 1 || first.RunID != r.ID || second.Number != 2 {
			t.Errorf("sent %+v and %+v", first, second)
		}
		w.wantPastes("one\n\ttwo") // one at a time
		s.wantMessages(r, "one\n\ttwo: pasted", "three: queued")
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(1), submits("the run's own prompt")))
		w.wantPastes()
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(2), submits("one two")))
		s.wantMessages(r, "one\n\ttwo: acknowledged", "three: queued")
		texts, ids := w.pastes()
		if !slices.Equal(texts, []string{"three"}) {
			t.Fatalf("asked for %q", texts)
		}
		// The hook reports it before the host's answer arrives.
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(3), submits("three")))
		s.wantMessages(r, "one\n\ttwo: acknowledged", "three: acknowledged")
		w.send(wire.KeysResult{RequestID: ids[0], OK: true})
		s.pass(time.Minute)
		w.wantPastes()
		s.wantMessages(r, "one\n\ttwo: acknowledged", "three: acknowledged")
		s.wantJournaled(svc.MessageQueued, svc.MessageQueued, svc.MessagePasted, svc.MessageAcknowledged, svc.MessageAcknowledged)
	})
}

func TestAMessageThatNoHookReportsGetsOneMoreEnterAndIsUnconfirmed(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.takesMessages("h")
		r := w.started(s.run())
		s.message(r, "hello")
		w.wantPastes("hello")
		s.pass(reportIn - 2*time.Second)
		w.wantPastes()
		s.pass(3 * time.Second)
		w.wantPastes("keys Enter")
		s.wantMessages(r, "hello: pasted")
		s.pass(reportAfter + 2*time.Second)
		s.wantMessages(r, "hello: unconfirmed not_reported")
		s.pass(2 * time.Minute)
		w.wantPastes()
		s.wantJournaled(svc.MessageQueued, svc.MessagePasted, svc.MessageUnconfirmed)
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(1), submits("hello"))) // a late report still counts
		s.wantMessages(r, "hello: acknowledged")
	})
}

func TestNoEnterAnswersAQuestion(t *testing.T) {
	for name, occupy := range map[string]func(*site, *worker, svc.Run){
		"the agent asks": func(s *site, _ *worker, r svc.Run) {
			s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(1), byHook, func(sig *svc.Signal) { sig.NeedsInput = true }))
		},
		"a person types": func(s *site, w *worker, r svc.Run) { s.attach(w, r) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.takesMessages("h")
				r := w.started(s.run())
				s.message(r, "hello")
				w.wantPastes("hello")
				occupy(s, w, r)
				s.pass(time.Minute)
				w.wantPastes()
				s.wantMessages(r, "hello: unconfirmed not_reported")
			})
		})
	}
}

func TestAMessageIsRefusedWhereItCannotBeMeant(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.takesMessages("h")
		r := w.started(s.run())
		code := func(what string, r svc.Run, n svc.NewMessage, want svc.Code) {
			t.Helper()
			_, err := s.SendMessage(s.ctx, r.ID, n)
			s.wantCode(what, err, want)
		}
		for what, text := range map[string]string{"empty": "", "blank": " \n", "escape": "a\x1b[201~", "cr": "a\r", "del": "a\x7f", "c1": "a\u009b", "nul": "a\x00",
			"not UTF-8": "a\xff", "too long": strings.Repeat("x", svc.MaxMessage+1)} {
			code(what, r, svc.NewMessage{Text: text}, svc.CodeValidation)
		}
		code("when", r, svc.NewMessage{Text: "a", When: "later"}, svc.CodeValidation)
		code("no run", svc.Run{ID: svc.NewRunID()}, svc.NewMessage{Text: "a"}, svc.CodeNotFound)

		holder := s.attach(w, r)
		code("while someone types", r, svc.NewMessage{Text: "a"}, svc.CodeLeaseHeld)
		holder.Leave()
		s.settle()
		asks := func(sig *svc.Signal) { sig.NeedsInput = true }
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(1), byHook, asks))
		code("while the agent asks", r, svc.NewMessage{Text: "a"}, svc.CodeNeedsInput)
		w.take()
		s.message(r, "yes", asAnswer)
		w.wantPastes("yes")
		if s.get(r).NeedsInput {
			t.Error("the question is not answered")
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(2), submits("yes")))
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(3), byHook, asks, func(sig *svc.Signal) { sig.Idle = true }))
		s.message(r, "next") // it waits for a prompt, which is not a question
		w.wantPastes("next")

		w.reports(svc.ProviderReport{Available: true, Message: "paste"})
		code("without turns", r, svc.NewMessage{Text: "a", When: svc.MessageTurnEnd}, svc.CodeNoTurns)
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		code("a run that ended", r, svc.NewMessage{Text: "a"}, svc.CodeRunNotActive)
	})
}

func TestAProviderThatTakesNoMessagesLeavesThemUndelivered(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.takesMessages("h")
		w.reports(svc.ProviderReport{Available: true, Turns: true})
		r := w.started(s.run())
		if m := s.message(r, "a"); m.State != svc.MessageUndelivered || m.Reason != svc.MessageTakesNone {
			t.Errorf("sent %+v", m)
		}
		s.wantJournaled(svc.MessageUndelivered)
		plain := s.newHost("old")
		plain.register(wire.CapKeys)
		plain.connect()
		plain.beat()
		r = plain.started(s.run(on(plain)))
		s.message(r, "b") // it has reported no providers
		s.wantMessages(r, "b: undelivered provider_takes_none")
		w.wantPastes()
	})
}

func TestAMessageForTheEndOfATurnWaitsForIt(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.takesMessages("h")
		r := w.started(s.run())
		for _, text := range []string{"one", "two", "three"} {
			s.message(r, text, atTurnEnd)
		}
		s.pass(time.Minute)
		w.wantPastes()
		s.want(svc.Applied)(s.signal(r, svc.SignalCompleted, byHook))
		w.wantPastes("one")
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(1), submits("one")))
		s.pass(time.Minute)
		w.wantPastes() // its turn is not over
		s.want(svc.Duplicate)(s.signal(r, svc.SignalCompleted, byHook))
		texts, ids := w.pastes()
		if !slices.Equal(texts, []string{"two"}) {
			t.Fatalf("at the end of the second turn %q was pasted", texts)
		}
		// The tool has no hook for prompts, and its turn is over before the host's answer arrives.
		s.want(svc.Duplicate)(s.signal(r, svc.SignalCompleted, byHook))
		w.send(wire.KeysResult{RequestID: ids[0], OK: true})
		s.pass(reportIn + time.Second)
		w.wantPastes("keys Enter")
		s.pass(reportAfter + 2*time.Second)
		w.wantPastes("three")
		s.wantMessages(r, "one: acknowledged", "two: unconfirmed not_reported", "three: pasted")
	})
}

func TestAMessageWaitsUntilNobodyTypesAndNothingIsAsked(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.takesMessages("h")
		r := s.run()
		s.settle()
		s.message(r, "early") // before its session has started
		w.take()
		w.ack(r, true)
		s.want(svc.Applied)(s.signal(r, svc.SignalStarted))
		s.message(r, "second")
		w.wantPastes("early")
		holder := s.attach(w, r)
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(1), submits("early")))
		w.wantFrames("attach_open")
		s.pass(2 * time.Minute)
		w.wantPastes()
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(2), byHook, func(sig *svc.Signal) { sig.NeedsInput = true }))
		holder.Leave()
		s.pass(2 * time.Minute)
		w.wantPastes()
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(3), byHook))
		s.pass(2 * time.Second)
		w.wantPastes("second")
	})
}

func TestAMessageIsPastedAtMostOnce(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(*site, *worker, string)
		want string
	}{
		"the connection drops": {func(_ *site, w *worker, _ string) { w.drop() }, "a: unconfirmed outcome_unknown"},
		"the host is silent":   {func(s *site, _ *worker, _ string) { s.pass(keysGiveUp) }, "a: unconfirmed outcome_unknown"},
		"the host does not know": {func(_ *site, w *worker, id string) {
			w.send(wire.KeysResult{RequestID: id, Error: "tmux", Unknown: true})
		}, "a: unconfirmed outcome_unknown"},
		"the host could not": {func(_ *site, w *worker, id string) {
			w.send(wire.KeysResult{RequestID: id, Error: "the session has ended"})
		}, "a: undelivered refused"},
		"the run is over before that": {func(s *site, w *worker, _ string) { s.stopAll(); w.drop() }, "a: unconfirmed outcome_unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.takesMessages("h")
				r := w.started(s.run())
				s.message(r, "a")
				texts, ids := w.pastes()
				if len(texts) != 1 {
					t.Fatalf("asked for %q", texts)
				}
				c.lose(s, w, ids[0])
				s.wantMessages(r, c.want)
				if w.conn == nil {
					w.connect()
					w.beat()
				}
				s.pass(5 * time.Minute)
				w.wantPastes()
				s.wantMessages(r, c.want)
			})
		})
	}
}

func (s *site) stopAll() {
	s.t.Helper()
	l, err := s.Runs(s.ctx, svc.RunFilter{}, svc.Page{Limit: 50})
	s.no(err)
	for _, r := range l.Items {
		_, err := s.StopRun(s.ctx, r.ID)
		s.no(err)
	}
}

func TestMessagesSurviveARestartOfTheOrchestrator(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		w := s.takesMessages("h")
		asked, pasted, waiting := w.started(s.run()), w.started(s.run()), w.started(s.run())
		s.message(pasted, "pasted")
		w.wantPastes("pasted")
		s.message(waiting, "waiting", atTurnEnd)
		s.message(asked, "asked")
		s.message(asked, "behind")
		if texts, _ := w.pastes(); !slices.Equal(texts, []string{"asked"}) {
			t.Fatalf("asked for %q", texts)
		}
		s.stop()

		s = start(t, dir)
		w.s = s
		w.register(wire.Capabilities...)
		w.connect()
		w.beat()
		s.pass(2 * time.Second)
		w.wantPastes("behind")
		s.wantMessages(asked, "asked: unconfirmed outcome_unknown", "behind: pasted")
		s.want(svc.Applied)(s.signal(waiting, svc.SignalCompleted, byHook))
		w.wantPastes("waiting")
		s.want(svc.Applied)(s.signal(pasted, svc.SignalProgress, seq(1), submits("pasted")))
		s.wantMessages(pasted, "pasted: acknowledged")
	})
}

func TestAMessageWhoseHostOrRunIsGoneIsUndelivered(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.takesMessages("h")
		away, ended, again := w.started(s.run()), w.started(s.run()), w.started(s.run(policy(svc.RestartOnFailure)))
		w.drop()
		for _, r := range []svc.Run{away, ended, again} {
			s.message(r, "a")
		}
		s.want(svc.Applied)(s.signal(ended, svc.SignalFinished))
		s.want(svc.Applied)(s.signal(again, svc.SignalFinished, code(1)))
		s.pass(messageAway - 2*time.Second)
		s.wantMessages(away, "a: queued")
		s.wantMessages(ended, "a: undelivered run_ended")
		s.wantMessages(again, "a: undelivered run_ended") // the message was not for the next attempt
		s.pass(3 * time.Second)
		s.wantMessages(away, "a: undelivered host_away")

		s.message(away, "b")
		s.pass(messageAway / 2)
		w.connect()
		w.beat()
		s.pass(2 * time.Second)
		w.wantPastes("b")
		s.want(svc.Applied)(s.signal(away, svc.SignalFinished))
		s.pass(2 * time.Second)
		s.wantMessages(away, "a: undelivered host_away", "b: unconfirmed run_ended")
	})
}

func TestOnlySoManyMessagesOfARunWait(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.takesMessages("h")
		r := w.started(s.run())
		for range svc.MaxOpenMessages {
			s.message(r, "a", atTurnEnd)
		}
		_, err := s.SendMessage(s.ctx, r.ID, svc.NewMessage{Text: "b"})
		s.wantCode("one more", err, svc.CodeConflict)
		ctx := WithIdempotency(s.ctx, "key", "f")
		s.want(svc.Applied)(s.signal(r, svc.SignalCompleted, byHook))
		w.wantPastes("a")
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, seq(1), submits("a")))
		first, err := s.SendMessage(ctx, r.ID, svc.NewMessage{Text: "b"})
		s.no(err)
		repeated, err := s.SendMessage(ctx, r.ID, svc.NewMessage{Text: "b"})
		if err != nil || repeated.ID != first.ID {
			t.Errorf("repeated: %+v (%v), want %s", repeated, err, first.ID)
		}
	})
}
