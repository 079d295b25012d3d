package engine

import (
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// tokenWorks reports whether a token is accepted for a run.
func (s *site) tokenWorks(r svc.Run, token string) bool {
	_, err := s.ReporterOfRun(s.ctx, r.ID, token)
	return err == nil
}

// given waits for the dispatch of a run and returns the run's token.
func (w *worker) given(r svc.Run) string {
	w.s.t.Helper()
	for _, f := range w.take() {
		if d, ok := f.(*wire.RunDispatch); ok && d.RunID == r.ID {
			return d.SignalToken
		}
	}
	w.s.t.Fatalf("%s was not given run %s", w.host.Name, r.ID)
	return ""
}

// tell reports a signal of the run's attempt as the given reporter.
func (s *site) tell(who Reporter, r svc.Run, kind svc.SignalKind, change ...func(*svc.Signal)) (svc.Outcome, error) {
	sig := svc.Signal{RunID: r.ID, Kind: kind, Attempt: r.Attempt, Source: svc.FromWrapper, Timestamp: 1, Via: "http"}
	for _, c := range change {
		c(&sig)
	}
	return s.Report(s.ctx, who, sig)
}

func TestAHostReportsNothingOfAnothersRuns(t *testing.T) {
	bubble(t, func(s *site) {
		mine, victim := s.online("mine"), s.online("victim")
		r := victim.started(s.run(on(victim)))
		text := func(f wire.Frame) []byte { b, err := wire.Encode(f); s.no(err); return b }
		s.no(victim.conn.Write(s.ctx, text(wire.LogChunk{RunID: r.ID, Text: []byte("whole\n"), Timestamp: 1, Attempt: 1, Offset: ptr(int64(0))})))
		victim.send(wire.Snapshot{RunID: r.ID, Capture: "screen", Timestamp: 1})
		s.pass(time.Minute) // until its output is journaled
		victim.beat()
		mine.beat()
		victim.take()
		s.news()
		exit := wire.FromSignal(svc.Signal{Kind: svc.SignalFinished, Attempt: 1, Source: svc.FromWrapper, Timestamp: 1})
		for _, attack := range []struct {
			frame wire.Frame
			want  []string
		}{
			{wire.SignalFrame{RunID: r.ID, Signal: exit}, []string{"error forbidden"}},
			{wire.RunDispatchAck{RunID: r.ID, Attempt: 1}, nil},
			{wire.RunDispatchAck{RunID: r.ID, Attempt: 1, Accepted: true}, nil},
			{wire.LogChunk{RunID: r.ID, Text: []byte("forged\n"), Timestamp: 1, Attempt: 1, Offset: ptr(int64(6))}, []string{"error forbidden"}},
			{wire.LogChunk{RunID: r.ID, Text: []byte("forged\n"), Timestamp: 1}, []string{"error forbidden"}},
			{wire.LogEnd{RunID: r.ID, Attempt: 1, Bytes: 1}, []string{"log_ack"}},
			{wire.Snapshot{RunID: r.ID, Capture: "forged", Timestamp: 2}, []string{"error forbidden"}},
			{wire.Snapshot{RunID: r.ID, Capture: "forged", Timestamp: 2, Attempt: 1, Final: true}, []string{"screen_ack", "error forbidden"}},
			{wire.RunHint{RunID: r.ID, Attempt: 1, Hint: "forged"}, []string{"error forbidden"}},
			{wire.LogGone{RunID: r.ID, Attempt: 1}, []string{"error forbidden"}},
			{wire.ScreenGone{RunID: r.ID, Attempt: 1}, []string{"error forbidden"}},
			{wire.RunUnknown{Runs: []wire.LiveRun{{RunID: r.ID, Attempt: 1}}}, nil},
			{wire.Orphan{SessionName: r.SessionName, RunID: r.ID, Attempt: 1, Action: "stopped"}, []string{"error forbidden"}},
			{wire.Heartbeat{HostID: mine.host.ID, InstanceID: mine.instance, Timestamp: 1, Runs: &[]wire.LiveRun{{RunID: r.ID, Attempt: 1}}}, nil},
		} {
			mine.send(attack.frame)
			mine.wantFrames(attack.want...)
		}
		s.wantTopics()
		victim.wantFrames()
		got := s.wantStatus(r, svc.RunRunning)
		if got.Hint != nil {
			t.Errorf("the run has the hint %q", *got.Hint)
		}
		if state, err := s.Hub.Relay.State(r.ID, 1); err != nil || state.Size != 6 || state.End >= 0 {
			t.Errorf("the log has %+v (%v), want its 6 bytes", state, err)
		}
		if pane, _, err := s.Hub.Panes.Latest(r.ID); err != nil || pane.Capture != "screen" {
			t.Errorf("the screen shows %q (%v)", pane.Capture, err)
		}
		_, err := s.tell(Reporter{Host: mine.host.ID}, r, svc.SignalFinished)
		s.wantCode("posted with the token of another host", err, svc.CodeForbidden)
		s.want(svc.Applied)(s.tell(Reporter{Host: victim.host.ID}, r, svc.SignalFinished))
	})
}

func TestAConnectionReportsNothingBeforeItIsKnownWhoseItIs(t *testing.T) {
	bubble(t, func(s *site) {
		w, other := s.online("h"), s.newHost("other")
		r := w.started(s.run(on(w)))
		send, next := w.raw(Hello{OnlyHost: other.host.ID})
		exit := wire.FromSignal(svc.Signal{Kind: svc.SignalFinished, Attempt: 1, Source: svc.FromWrapper, Timestamp: 1})
		for _, c := range []struct {
			frame wire.Frame
			code  string
		}{
			{wire.LogChunk{RunID: r.ID, Text: []byte("forged"), Timestamp: 1}, "not_identified"},
			{wire.Snapshot{RunID: r.ID, Capture: "forged", Timestamp: 1}, "not_identified"},
			{wire.LogEnd{RunID: r.ID, Attempt: 1, Bytes: 1}, "not_identified"},
			{wire.LogGone{RunID: r.ID, Attempt: 1}, "not_identified"},
			{wire.ScreenGone{RunID: r.ID, Attempt: 1}, "not_identified"},
			{wire.Orphan{SessionName: "svc-00000000", Action: "none"}, "not_identified"},
			{wire.SignalFrame{RunID: r.ID, Signal: exit}, "forbidden"}, // its token belongs to another host
		} {
			send(c.frame)
			if f, ok := next().(*wire.Error); !ok || f.Code != c.code {
				t.Errorf("%s was answered with %+v, want %s", c.frame.Type(), f, c.code)
			}
		}
		s.wantStatus(r, svc.RunRunning)
		s.wantTopics()
		// The worker token is valid for every host: a plain peer replays its spool before it is identified.
		send, _ = w.raw(Hello{})
		send(wire.SignalFrame{RunID: r.ID, Signal: exit})
		s.wantStatus(r, svc.RunExited)
	})
}

func TestAnAttemptIsReportedByTheHostThatHadIt(t *testing.T) {
	bubble(t, func(s *site) {
		first, second := s.online("first"), s.online("second")
		r := s.run(policy(svc.RestartAlways))
		s.settle()
		old, present := first, second
		if value(s.get(r).HostID) == second.host.ID {
			old, present = second, first
		}
		r = old.started(r)
		s.want(svc.Applied)(s.tell(Reporter{Host: old.host.ID}, r, svc.SignalFinished))
		_, err := s.DisableHost(s.ctx, old.host.ID)
		s.no(err)
		s.pass(10 * time.Second) // the back-off
		if next := s.get(r); next.Attempt != 2 || value(next.HostID) != present.host.ID {
			t.Fatalf("attempt %d is on %v", next.Attempt, next.HostID)
		}
		old.take()
		present.take()
		old.send(wire.LogChunk{RunID: r.ID, Text: []byte("late\n"), Timestamp: 1, Attempt: 1, Offset: ptr(int64(0))})
		old.wantFrames("log_ack")
		old.send(wire.LogChunk{RunID: r.ID, Text: []byte("forged\n"), Timestamp: 1, Attempt: 2, Offset: ptr(int64(0))})
		old.wantFrames("error forbidden")
		present.send(wire.LogChunk{RunID: r.ID, Text: []byte("forged\n"), Timestamp: 1, Attempt: 1, Offset: ptr(int64(5))})
		present.wantFrames("error forbidden")
		s.want(svc.DeadAttempt)(s.tell(Reporter{Host: old.host.ID}, r, svc.SignalFinished))
		s.want(svc.DeadAttempt)(s.tell(Reporter{Host: present.host.ID}, r, svc.SignalFinished))
	})
}

func TestARunsTokenIsGoodForItsAttemptAtItsHost(t *testing.T) {
	bubble(t, func(s *site) {
		a, b := s.online("a"), s.online("b")
		r := s.run()
		s.settle()
		first, second := a, b
		if value(s.get(r).HostID) == b.host.ID {
			first, second = b, a
		}
		kept := first.given(r)
		if !s.tokenWorks(r, kept) || s.tokenWorks(svc.Run{ID: svc.NewRunID()}, kept) || s.tokenWorks(r, "") || s.tokenWorks(r, kept+"0") || s.tokenWorks(r, s.unboundToken(r.ID)) {
			t.Fatal("a run's token is good for the wrong things")
		}
		first.ack(r, false)
		fresh := second.given(r)
		if fresh == kept || s.tokenWorks(r, kept) || !s.tokenWorks(r, fresh) {
			t.Error("the token of the host that refused the run works on")
		}
		r = second.started(r)
		who, err := s.ReporterOfRun(s.ctx, r.ID, fresh)
		s.no(err)
		s.want(svc.Applied)(s.tell(Reporter{Host: second.host.ID}, r, svc.SignalFinished))
		s.pass(9 * time.Minute)
		s.want(svc.Applied)(s.tell(who, r, svc.SignalCompleted, byHook, func(s *svc.Signal) { s.Result = svc.ResultSuccess }))
		s.pass(time.Minute)
		if s.tokenWorks(r, fresh) {
			t.Error("the token works ten minutes after the session's end")
		}
	})
}

func TestATokenOfAnAttemptIsNoneOfTheNext(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := s.run(policy(svc.RestartAlways))
		s.settle()
		old := w.given(r)
		r = w.started(r)
		who, err := s.ReporterOfRun(s.ctx, r.ID, old)
		s.no(err)
		s.want(svc.Applied)(s.tell(Reporter{Host: w.host.ID}, r, svc.SignalFinished))
		s.pass(5 * time.Second)
		next := s.wantStatus(r, svc.RunSpawning)
		_, err = s.tell(who, next, svc.SignalStarted)
		s.wantCode("the next attempt", err, svc.CodeForbidden)
		s.want(svc.DeadAttempt)(s.tell(who, r, svc.SignalFinished))
		s.pass(10 * time.Minute)
		if s.tokenWorks(r, old) {
			t.Error("the token of a superseded attempt works on")
		}
	})
}

func TestATokenOfAnEarlierVersionWorksForTheAttemptItWasGivenFor(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		r.PastHosts = nil // as after an upgrade
		s.runs.put(r)
		if !s.tokenWorks(r, s.unboundToken(r.ID)) {
			t.Error("a session that was alive at the upgrade can report nothing")
		}
	})
}
