package engine

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/store"
	"svc/wire"
)

func TestLifeOfARun(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		s.news()
		r := s.run(func(n *svc.NewRun) {
			n.Prompt, n.Args, n.Model, n.Env = "do it", []string{"-x"}, "m", map[string]string{"A": "1"}
		})
		s.wantTopics(svc.TopicProjectCreated, svc.TopicItemCreated, svc.TopicRunCreated, svc.TopicRunSpawning)
		d := w.wantFrames("run_dispatch 1")[0].(*wire.RunDispatch)
		if d.RunID != r.ID || d.TaskID != r.TaskID || d.Provider != "provider_a" || d.SessionName != r.SessionName || d.Cwd != "/project" ||
			d.Prompt != "do it" || !slices.Equal(d.Args, []string{"-x"}) || d.Model != "m" || d.Env["A"] != "1" || d.ProjectSlug != "p" || !s.tokenWorks(r, d.SignalToken) {
			t.Errorf("dispatched %+v", d)
		}
		w.ack(r, true)
		s.pass(6 * time.Minute) // an acknowledged run is neither pushed again nor failed
		w.wantFrames()
		s.wantStatus(r, svc.RunSpawning)
		s.news()
		s.want(svc.Applied)(s.signal(r, svc.SignalStarted))
		started := s.wantTopics(svc.TopicRunStarted)[0]
		for f, want := range map[string]any{"run_id": r.ID, "attempt": 1.0, "task_id": r.TaskID, "provider": "provider_a", "session_name": r.SessionName} {
			if got := field(started, f); got != want {
				t.Errorf("run.started has %s %v, want %v", f, got, want)
			}
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.wantTopics(svc.TopicRunFinished)
		got := s.wantStatus(r, svc.RunExited)
		if got.ExitCode == nil || *got.ExitCode != 0 || got.EndedAt == nil || got.SessionEndedAt == nil || got.StartedAt == nil {
			t.Errorf("ended as %+v", got)
		}
		w.wantFrames()
	})
}

func TestEndsOfARun(t *testing.T) {
	for name, c := range map[string]struct {
		start  bool
		signal svc.SignalKind
		change func(*svc.Signal)
		status svc.RunStatus
		topic  svc.Topic
		frames []string
	}{
		"finished with another code":         {true, svc.SignalFinished, code(2), svc.RunFailed, svc.TopicRunFinished, nil},
		"finished while still spawning":      {false, svc.SignalFinished, code(0), svc.RunExited, svc.TopicRunFinished, nil},
		"a session that was lost":            {true, svc.SignalFinished, func(s *svc.Signal) { s.ExitCode, s.Reason = -1, "session_lost" }, svc.RunFailed, svc.TopicRunFinished, nil},
		"a spawn failure":                    {false, svc.SignalFailed, code(0), svc.RunFailed, svc.TopicRunFailed, nil},
		"a hook that gives up ends the rest": {true, svc.SignalFailed, byHook, svc.RunFailed, svc.TopicRunFailed, []string{"run_stop 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.online("h")
				r := s.run()
				w.ack(r, true)
				if c.start {
					w.started(r)
				}
				w.take()
				s.news()
				s.want(svc.Applied)(s.signal(r, c.signal, c.change))
				s.wantTopics(c.topic)
				s.wantStatus(r, c.status)
				w.wantFrames(c.frames...)
				s.want(svc.Duplicate)(s.signal(r, c.signal, c.change))
				if !c.start {
					s.want(svc.Superseded)(s.signal(r, svc.SignalStarted))
				}
				if h, _ := s.Host(s.ctx, "h"); (h.ActiveRuns == 1) != (len(c.frames) == 1) {
					t.Errorf("%d active runs", h.ActiveRuns)
				}
				s.wantTopics()
			})
		})
	}
}

func TestFailedAndFinishedOfOneAttemptAreNeverBothJournaled(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		for i := range 12 {
			r := w.started(s.run())
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = s.signal(r, svc.SignalFailed, byHook) })
			wg.Go(func() { _, _ = s.signal(r, svc.SignalFinished, code(i%2)) })
			wg.Wait()
			events := s.news()
			if len(events) != 1 {
				t.Errorf("round %d journaled %d events", i, len(events))
			}
			got := s.get(r)
			if got.ExitCode == nil || *got.ExitCode != i%2 || got.SessionEndedAt == nil {
				t.Errorf("round %d: the exit was not kept: %+v", i, got)
			}
			failed := events[0].Topic == svc.TopicRunFailed
			if want := failed || i%2 == 1; (got.Status == svc.RunFailed) != want {
				t.Errorf("round %d: %s after %s", i, got.Status, events[0].Topic)
			}
		}
	})
}

func TestCompletedAndProgressChangeNoStatus(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		s.want(svc.Applied)(s.signal(r, svc.SignalCompleted, byHook, func(sig *svc.Signal) { sig.Result, sig.Reason = svc.ResultPartialSuccess, "half" }))
		e := s.wantTopics(svc.TopicRunSignal)[0]
		if field(e, "kind") != "completed" || field(e, "result") != "partial_success" || field(e, "reason") != "half" {
			t.Errorf("journaled %s", e.Payload)
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalProgress, byHook, seq(1<<53+1)))
		s.want(svc.StaleSeq)(s.signal(r, svc.SignalProgress, byHook, seq(1<<53)))
		s.want(svc.StaleSeq)(s.signal(r, svc.SignalProgress, byHook, seq(1<<53+1), func(sig *svc.Signal) { sig.NeedsInput = true }))
		got := s.wantStatus(r, svc.RunRunning)
		if got.LastProgressSeq != 1<<53+1 || *got.ProgressMessage != fmt.Sprint("m", 1<<53+1) || got.NeedsInput || *got.Result != svc.ResultPartialSuccess {
			t.Errorf("kept %+v", got)
		}
		s.wantTopics(svc.TopicRunSignal)
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.want(svc.Duplicate)(s.signal(r, svc.SignalCompleted, byHook))
		s.wantTopics(svc.TopicRunFinished)
	})
}

func TestStop(t *testing.T) {
	bubble(t, func(s *site) {
		waiting := s.run()
		s.news()
		stopped, err := s.StopRun(s.ctx, waiting.ID)
		s.no(err)
		if stopped.Status != svc.RunStopped || stopped.SessionEndedAt == nil {
			t.Errorf("a pending run became %+v", stopped)
		}
		s.wantTopics(svc.TopicRunStopped)
		s.pass(10 * time.Minute)
		s.wantTopics() // there is no timeout any more

		w := s.online("h")
		spawning := s.run()
		w.wantFrames("run_dispatch 1")
		s.news()
		_, err = s.StopRun(s.ctx, spawning.ID)
		s.no(err)
		s.wantTopics(svc.TopicRunStopped)
		w.wantFrames("run_stop 1")
		w.ack(spawning, true)
		w.wantFrames("run_stop 1") // its dispatch had been sent
		s.want(svc.Superseded)(s.signal(spawning, svc.SignalStarted))
		w.wantFrames("run_stop 1")
		s.wantTopics()

		running := w.started(s.run())
		var wg sync.WaitGroup
		var won, refused int
		var mu sync.Mutex
		for range 20 {
			wg.Go(func() {
				_, err := s.StopRun(s.ctx, running.ID)
				mu.Lock()
				defer mu.Unlock()
				switch svc.CodeOf(err) {
				case "":
					won++
				case svc.CodeRunNotActive:
					refused++
				}
			})
		}
		wg.Wait()
		if won != 1 || refused != 19 {
			t.Errorf("of 20 stops %d won and %d were refused", won, refused)
		}
		s.wantTopics(svc.TopicRunStopped)
		w.wantFrames("run_stop 1")
		if h, _ := s.Host(s.ctx, "h"); h.ActiveRuns != 2 {
			t.Errorf("%d active runs, want the two whose sessions are not known to be over", h.ActiveRuns)
		}
		s.want(svc.Applied)(s.signal(running, svc.SignalFinished, code(130)))
		s.wantTopics(svc.TopicRunFinished)
		s.wantStatus(running, svc.RunStopped)
		s.want(svc.Superseded)(s.signal(running, svc.SignalFailed, byHook))
		s.wantTopics()
		_, err = s.StopRun(s.ctx, running.ID)
		s.wantCode("a stop of a stopped run", err, svc.CodeRunNotActive)
	})
}

func TestStopOfARunWhoseHostIsAwayIsGivenWhenItIsBack(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		done := w.started(s.run())
		w.drop()
		s.want(svc.Applied)(s.signal(done, svc.SignalFinished))
		_, err := s.StopRun(s.ctx, r.ID)
		s.no(err)
		w.connect()
		w.wantFrames()
		w.beat()
		w.wantFrames("run_stop 1") // none for the session that has ended
	})
}

func TestPlacement(t *testing.T) {
	bubble(t, func(s *site) {
		a, b := s.online("a"), s.online("b", func(n *svc.NewHost) { n.MaxRuns = ptr(2) })
		pinned := s.run(on(b))
		b.wantFrames("run_dispatch 1")
		a.wantFrames()
		first := s.run()
		a.wantFrames("run_dispatch 1") // it has the fewest active runs
		s.run()
		if n := len(a.take()) + len(b.take()); n != 1 {
			t.Errorf("one run was pushed %d times", n)
		}
		for range 6 {
			s.run()
		}
		s.settle()
		hostB, _ := s.Host(s.ctx, "b")
		if hostB.ActiveRuns != 2 {
			t.Errorf("a host of two has %d active runs", hostB.ActiveRuns)
		}
		full := s.run(on(b))
		s.wantStatus(full, svc.RunPending)
		a.take()
		b.take()
		s.want(svc.Applied)(s.signal(pinned, svc.SignalFinished))
		s.wantStatus(full, svc.RunSpawning)
		b.wantFrames("run_dispatch 1")
		a.wantFrames()
		s.wantStatus(first, svc.RunSpawning)
		list, err := s.Runs(s.ctx, svc.RunFilter{HostID: b.host.ID}, svc.Page{Limit: 10})
		if err != nil || len(list.Items) != 3 {
			t.Errorf("the host's list has %d runs (%v), want the ended one and two more", len(list.Items), err)
		}
		s.wantCode("a delete of a host with active runs", s.DeleteHost(s.ctx, "b", nil), svc.CodeActiveRuns)
	})
}

func TestEachOf40RunsIsPushedToExactlyOneOf3Workers(t *testing.T) {
	bubble(t, func(s *site) {
		workers := []*worker{s.online("a"), s.online("b"), s.online("c")}
		task := s.task(s.project())
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() { s.run(func(n *svc.NewRun) { n.TaskID = task.ID }) })
		}
		wg.Wait()
		pushed := map[string]int{}
		for _, w := range workers {
			frames := w.take()
			if len(frames) < 13 {
				t.Errorf("%s got %d runs, want its share", w.host.Name, len(frames))
			}
			for _, f := range frames {
				pushed[f.(*wire.RunDispatch).RunID]++
			}
		}
		for id, n := range pushed {
			if n != 1 {
				t.Errorf("run %s was pushed %d times", id, n)
			}
		}
		if len(pushed) != 40 {
			t.Errorf("%d runs were pushed", len(pushed))
		}
	})
}

func TestProviderDecidesAmongHosts(t *testing.T) {
	bubble(t, func(s *site) {
		with, without := s.online("with"), s.online("without")
		with.send(wire.Providers{Providers: map[string]svc.ProviderReport{"special": {Available: true}}})
		without.send(wire.Providers{Providers: map[string]svc.ProviderReport{"special": {Reason: "missing"}}})
		s.settle()
		for range 5 {
			s.run(func(n *svc.NewRun) { n.Provider = "special" })
		}
		if got := len(with.take()); got != 5 {
			t.Errorf("the host that has it got %d of 5", got)
		}
		without.wantFrames()
		s.run(on(without), func(n *svc.NewRun) { n.Provider = "special" })
		without.wantFrames("run_dispatch 1") // so that it fails at once and the error names what is missing
	})
}

func TestNack(t *testing.T) {
	bubble(t, func(s *site) {
		a := s.online("a")
		r := s.run()
		since := s.get(r).PendingSince
		a.wantFrames("run_dispatch 1")
		s.news()
		s.pass(time.Second)
		a.send(wire.RunDispatchAck{RunID: r.ID, Attempt: 1, Reason: "no room"})
		e := s.wantTopics(svc.TopicRunRequeued)[0]
		got := s.wantStatus(r, svc.RunPending)
		if field(e, "reason") != "no room" || field(e, "attempt") != 1.0 || got.Attempt != 1 || got.PendingSince != since || got.HostID != nil {
			t.Errorf("journaled %s; the run is %+v", e.Payload, got)
		}
		s.pass(time.Minute)
		a.wantFrames() // it does not get the attempt again
		b := s.online("b")
		b.wantFrames("run_dispatch 1")
		a.ack(r, false)
		a.ack(r, true)
		if got := s.wantStatus(r, svc.RunSpawning); got.Acked || *got.HostID != b.host.ID {
			t.Errorf("answers of a host that was not given the run changed it: %+v", got)
		}
		b.started(r)
		b.ack(r, false)
		s.wantStatus(r, svc.RunRunning)
		s.wantTopics()
	})
}

func TestUnansweredDispatchIsPushedAgainToTheSameHostOnly(t *testing.T) {
	bubble(t, func(s *site) {
		a, b := s.online("a"), s.online("b")
		r := s.run(func(n *svc.NewRun) { n.HostID = nil })
		if len(a.take()) == 0 {
			a, b = b, a
		}
		b.take()
		s.pass(14 * time.Second)
		a.wantFrames()
		s.pass(3 * time.Second)
		a.wantFrames("run_dispatch 1")
		a.drop()
		s.pass(20 * time.Second)
		a.connect()
		a.beat()
		a.wantFrames("run_dispatch 1")
		// An answer by another host does not count.
		b.ack(r, true)
		s.pass(17 * time.Second)
		a.wantFrames("run_dispatch 1")
		b.wantFrames()
		a.ack(r, true)
		a.ack(r, true)
		s.pass(time.Minute)
		a.wantFrames()
		s.wantStatus(r, svc.RunSpawning)
	})
}

func TestPlainWorkerIsSentOnlyWhatTheInterfaceShows(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.newHost("plain")
		if answer := w.register(); len(answer.Capabilities) != 0 || answer.Status != svc.HostRegistered {
			t.Errorf("the registration was answered with %+v", answer)
		}
		w.connect()
		w.beat()
		r := s.run()
		w.wantFrames("run_dispatch 1")
		w.started(r)
		_, err := s.StopRun(s.ctx, r.ID)
		s.no(err)
		w.send(wire.LogChunk{RunID: r.ID, Text: wire.LogText("out\n"), Timestamp: 1})
		w.send(wire.Snapshot{RunID: svc.NewRunID(), Capture: "x"})
		w.wantFrames("error not_found")
		s.wantCode("keys", s.SendKeys(s.ctx, s.run(on(w)).ID, []string{"Enter"}), svc.CodeRunNotRunning)
	})
}

// A run that was read before it was refused must not be sent to that host any more: another host may have it by then.
func TestARefusedDispatchIsNotSentToThatHostAgain(t *testing.T) {
	bubble(t, func(s *site) {
		a := s.online("a")
		a.keepBeating()
		r := s.get(s.run())
		a.wantFrames("run_dispatch 1")
		link, _ := s.Hub.Uplinks.Of(a.host.ID)
		push, counts := s.pushes.refuse(r.ID, 1, link)
		if !counts {
			t.Error("the refusal of the push that is waited for does not count")
		}
		s.pass(20 * time.Second)
		a.wantFrames() // while the refusal is not committed
		s.pushes.refused(push, false)
		s.pass(2 * time.Second)
		a.wantFrames("run_dispatch 1") // the commit failed

		read := s.get(r)
		s.pass(16 * time.Second)
		a.wantFrames("run_dispatch 1")
		held := s.pushes.reserve(r.ID, 1, link, time.Now().Add(time.Minute))
		a.ack(r, false)
		s.push(s.ctx, read, held, map[string]string{})
		a.wantFrames()
		listed := store.Incarnation{RunID: r.ID, Attempt: 1, Status: svc.RunSpawning}
		s.no(s.pushUnconfirmed(s.ctx, link, listed, map[string]string{}))
		a.wantFrames()
		b := s.online("b")
		b.wantFrames("run_dispatch 1")
		s.no(s.pushUnconfirmed(s.ctx, link, listed, map[string]string{}))
		a.wantFrames()
		b.wantFrames()
	})
}

// A late answer arrives after the same attempt was sent on a newer connection.
func TestARefusalOfAnOlderConnectionDoesNotCount(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := s.get(s.run())
		w.wantFrames("run_dispatch 1")
		older := w.conn
		w.connect()
		w.beat()
		w.wantFrames("run_dispatch 1")
		newer := w.conn
		w.conn = older
		w.ack(r, false)
		if got := s.get(r); got.Status != svc.RunSpawning || value(got.HostID) != w.host.ID {
			t.Errorf("the run is %s on %v, want that it waits for the newer answer", got.Status, got.HostID)
		}
		w.conn = newer
		w.ack(r, false)
		if got := s.get(r); got.Status != svc.RunPending {
			t.Errorf("the run is %s after the refusal, want pending", got.Status)
		}
	})
}

// A claim and the worker's first heartbeat may push the same run at the same time.
func TestDispatchIsPushedOncePerConnection(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := s.get(s.run())
		s.hostReady(w.host.ID)
		s.no(s.sweep(s.ctx))
		w.wantFrames("run_dispatch 1")
		w.ack(r, true)
		s.hostReady(w.host.ID)
		w.wantFrames()
		unanswered := s.get(s.run())
		w.wantFrames("run_dispatch 1")
		w.drop()
		w.connect()
		w.beat()
		w.wantFrames("run_dispatch 1") // the other one was acknowledged
		w.ack(unanswered, false)
		s.wantStatus(unanswered, svc.RunPending)
	})
}
