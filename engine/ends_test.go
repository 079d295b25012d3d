package engine

import (
	"slices"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

func TestTheSecondEndOfAnAttemptIsOnlyRecorded(t *testing.T) {
	failed := func(sig *svc.Signal) { sig.Source, sig.Error = svc.FromHook, "out of ideas" }
	for name, c := range map[string]struct {
		first, second svc.SignalKind
		status        svc.RunStatus
		topic         svc.Topic
	}{
		"finished after failed": {svc.SignalFailed, svc.SignalFinished, svc.RunFailed, svc.TopicRunFailed},
		"failed after finished": {svc.SignalFinished, svc.SignalFailed, svc.RunExited, svc.TopicRunFinished},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.online("h")
				r := w.started(s.run())
				change := map[svc.SignalKind]func(*svc.Signal){svc.SignalFailed: failed, svc.SignalFinished: code(0)}
				s.want(svc.Applied)(s.signal(r, c.first, change[c.first]))
				e := s.wantTopics(c.topic)[0]
				if want := map[svc.SignalKind][2]any{svc.SignalFailed: {"out of ideas", nil}, svc.SignalFinished: {nil, 0.0}}[c.first]; field(e, "error") != want[0] || field(e, "exit_code") != want[1] {
					t.Errorf("journaled %s", e.Payload)
				}
				between := s.wantStatus(r, c.status)
				if ended := c.first == svc.SignalFinished; (between.SessionEndedAt != nil) != ended || (between.ExitCode != nil) != ended {
					t.Errorf("after %s: %+v", c.first, between)
				}
				if c.first == svc.SignalFailed && (between.Error == nil || *between.Error != "out of ideas") {
					t.Errorf("the error is %v", between.Error)
				}
				s.want(svc.Superseded)(s.signal(r, c.second, change[c.second]))
				s.wantTopics()
				got := s.wantStatus(r, c.status)
				if got.ExitCode == nil || *got.ExitCode != 0 || got.SessionEndedAt == nil {
					t.Errorf("after both: %+v", got)
				}
				if h, err := s.Host(s.ctx, "h"); err != nil || h.ActiveRuns != 0 {
					t.Errorf("%d active runs (%v)", h.ActiveRuns, err)
				}
			})
		})
	}
}

func TestStopAndFinishedAtOnceEndConsistently(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		for i := range 10 {
			r := w.started(s.run())
			var stopped error
			var wg sync.WaitGroup
			wg.Go(func() { _, stopped = s.StopRun(s.ctx, r.ID) })
			wg.Go(func() { s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(i%2))) })
			wg.Wait()
			var topics []svc.Topic
			for _, e := range s.news() {
				topics = append(topics, e.Topic)
			}
			want, status := []svc.Topic{svc.TopicRunStopped, svc.TopicRunFinished}, svc.RunStopped
			if stopped != nil { // the exit came first
				s.wantCode("a stop that came too late", stopped, svc.CodeRunNotActive)
				want, status = want[1:], []svc.RunStatus{svc.RunExited, svc.RunFailed}[i%2]
			}
			if !slices.Equal(topics, want) {
				t.Errorf("round %d journaled %v, want %v", i, topics, want)
			}
			if got := s.wantStatus(r, status); got.SessionEndedAt == nil || *got.ExitCode != i%2 {
				t.Errorf("round %d ended as %+v", i, got)
			}
		}
	})
}

func TestARunThatIsOverCannotBeStopped(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		for status, end := range map[svc.RunStatus]func(*svc.Signal){svc.RunExited: code(0), svc.RunFailed: code(1)} {
			r := w.started(s.run())
			s.want(svc.Applied)(s.signal(r, svc.SignalFinished, end))
			s.wantStatus(r, status)
			s.news()
			_, err := s.StopRun(s.ctx, r.ID)
			s.wantCode("a stop of a run that is "+string(status), err, svc.CodeRunNotActive)
			s.wantTopics()
			s.wantStatus(r, status)
			w.wantFrames()
		}
	})
}

func TestAStoppedRunIsActiveUntilItsSessionEnds(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		active := func(want int) {
			t.Helper()
			if h, err := s.Host(s.ctx, "h"); err != nil || h.ActiveRuns != want {
				t.Errorf("%d active runs (%v), want %d", h.ActiveRuns, err, want)
			}
		}
		active(1)
		s.pass(time.Second)
		got, err := s.StopRun(s.ctx, r.ID)
		if err != nil || got.Status != svc.RunStopped || got.EndedAt == nil || got.SessionEndedAt != nil {
			t.Errorf("stopped as %+v (%v)", got, err)
		}
		active(1)
		s.wantCode("a delete of its host", s.DeleteHost(s.ctx, "h", nil), svc.CodeActiveRuns)
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished, code(0))) // an agent that handles Ctrl-C ends well
		s.wantStatus(r, svc.RunStopped)
		active(0)
		s.wantTopics(svc.TopicRunStopped, svc.TopicRunFinished)
		s.wantCode("a delete of its host", s.DeleteHost(s.ctx, "h", nil), "")
	})
}

func TestWhatASignalSaysIsKept(t *testing.T) {
	for result, reason := range map[svc.Result]string{svc.ResultSuccess: "", svc.ResultPartialSuccess: "half", svc.ResultUserRejected: ""} {
		t.Run(string(result), func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.online("h")
				r := w.started(s.run())
				for _, percent := range []int{0, 255} {
					s.want(svc.Applied)(s.signal(r, svc.SignalProgress, byHook, seq(int64(percent+1)), func(sig *svc.Signal) { sig.Percent = &percent }))
					if got := s.get(r); *got.ProgressPercent != percent {
						t.Errorf("percent %d is kept as %d", percent, *got.ProgressPercent)
					}
				}
				e := s.wantTopics(svc.TopicRunSignal, svc.TopicRunSignal)[1]
				if field(e, "kind") != "progress" || field(e, "percent") != 255.0 || field(e, "message") != "m256" {
					t.Errorf("journaled %s", e.Payload)
				}
				s.want(svc.StaleSeq)(s.signal(r, svc.SignalProgress, byHook, seq(7), func(sig *svc.Signal) { sig.Percent = ptr(7) }))
				s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
				s.want(svc.Applied)(s.signal(r, svc.SignalCompleted, byHook, func(sig *svc.Signal) { sig.Result, sig.Reason = result, reason }))
				got := s.wantStatus(r, svc.RunExited)
				if *got.Result != result || value(got.ResultReason) != reason || *got.ProgressPercent != 255 || *got.ProgressMessage != "m256" {
					t.Errorf("kept %+v", got)
				}
				// A signal is identified by run, attempt and kind. Other values of a repetition are ignored.
				s.want(svc.Duplicate)(s.signal(r, svc.SignalFinished, code(9)))
				s.want(svc.Duplicate)(s.signal(r, svc.SignalCompleted, func(sig *svc.Signal) { sig.Result, sig.Reason = svc.ResultPartialSuccess, "other" }))
				if again := s.get(r); *again.ExitCode != 0 || *again.Result != result || again.Version != got.Version {
					t.Errorf("a repetition changed the run: %+v", again)
				}
				s.wantTopics(svc.TopicRunFinished, svc.TopicRunSignal)
			})
		})
	}
}

func TestTheSameProgressPostedAtOnceIsAppliedOnce(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		outcomes := make(chan svc.Outcome, 50)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				got, err := s.signal(r, svc.SignalProgress, byHook, seq(1<<53+1))
				if err != nil {
					t.Error(err)
				}
				outcomes <- got
			})
		}
		wg.Wait()
		close(outcomes)
		count := map[svc.Outcome]int{}
		for o := range outcomes {
			count[o]++
		}
		if count[svc.Applied] != 1 || count[svc.StaleSeq] != 49 {
			t.Errorf("outcomes %v", count)
		}
		s.wantTopics(svc.TopicRunSignal)
	})
}

// Otherwise its host would be ordered to end it for ever, and have one slot less.
func TestARunThatIsStoppedBeforeItsHostFailsToStartItHasNoSession(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := s.run()
		w.wantFrames("run_dispatch 1")
		s.news()
		_, err := s.StopRun(s.ctx, r.ID)
		s.no(err)
		s.want(svc.Superseded)(s.signal(r, svc.SignalFailed))
		if got := s.get(r); got.Status != svc.RunStopped || got.SessionEndedAt == nil || got.Error != nil {
			t.Errorf("the run is %+v", got)
		}
		s.want(svc.Duplicate)(s.signal(r, svc.SignalFailed))
		s.wantTopics(svc.TopicRunStopped, svc.TopicRunSessionEnded)
	})
}

// Otherwise a restart would leave two sessions alive.
func TestAHooksFailedEndsItsSessionAlsoWhenTheRunIsRestarted(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := w.started(s.run(policy(svc.RestartOnFailure)))
		s.want(svc.Applied)(s.signal(r, svc.SignalFailed, byHook))
		s.wantStatus(r, svc.RunPending)
		stop := w.wantFrames("run_stop 1")[0].(*wire.RunStop)
		if stop.RunID != r.ID || stop.Reason == "" {
			t.Errorf("told %+v", stop)
		}
		s.pass(5 * time.Second)
		w.wantFrames("run_dispatch 2")
	})
}

func TestANamedHostIsWhatWasAskedForAndNotYetWhatItGot(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		_, err := s.DisableHost(s.ctx, "h")
		s.no(err)
		r := s.run(on(w))
		if *r.PinnedHostID != w.host.ID || r.HostID != nil || r.Status != svc.RunPending {
			t.Errorf("admitted %+v", r)
		}
		_, err = s.EnableHost(s.ctx, "h")
		s.no(err)
		if got := s.wantStatus(r, svc.RunSpawning); *got.HostID != w.host.ID || *got.PinnedHostID != w.host.ID {
			t.Errorf("claimed as %+v", got)
		}
	})
}

func TestAmongEquallyBusyHostsTheLongestIdleIsNext(t *testing.T) {
	bubble(t, func(s *site) {
		hosts := []*worker{s.online("a"), s.online("b"), s.online("c")}
		for _, w := range hosts {
			w.keepBeating()
		}
		var order []string
		for range 9 {
			r := s.get(s.run())
			for _, w := range hosts {
				if *r.HostID == w.host.ID {
					order = append(order, w.host.Name)
				}
			}
			s.want(svc.Applied)(s.signal(r, svc.SignalFailed)) // no host is busy any more
			s.pass(time.Second)
		}
		for i, name := range order {
			if i >= 3 && name != order[i-3] || i == 2 && (name == order[0] || name == order[1]) {
				t.Fatalf("the runs went to %v, want each in turn", order)
			}
		}
	})
}

func TestTheWorkingDirectoryIsTheRunsThenTheProjects(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		nowhere, err := s.CreateProject(s.ctx, svc.NewProject{Name: "nowhere"})
		s.no(err)
		somewhere := s.task(s.project()).ID
		for _, c := range []struct{ task, cwd, want string }{
			{somewhere, "/run", "/run"}, {somewhere, "", "/project"}, {s.task(nowhere).ID, "/run", "/run"}, {s.task(nowhere).ID, "", ""},
		} {
			s.run(func(n *svc.NewRun) { n.TaskID, n.Cwd = c.task, c.cwd })
			if d := w.wantFrames("run_dispatch 1")[0].(*wire.RunDispatch); d.Cwd != c.want {
				t.Errorf("a run of %q goes to %q, want %q", c.cwd, d.Cwd, c.want)
			}
		}
	})
}

func TestRunsMadeAtOnceHaveSessionNamesOfTheirOwn(t *testing.T) {
	bubble(t, func(s *site) {
		task := s.task(s.project()).ID
		var mu sync.Mutex
		var wg sync.WaitGroup
		names := map[string]bool{}
		for range 300 {
			wg.Go(func() {
				r, err := s.CreateRun(s.ctx, svc.NewRun{TaskID: task, Provider: "provider_a"})
				mu.Lock()
				defer mu.Unlock()
				if err != nil || r.SessionName != "svc-"+r.ID[:8] || r.ID[14] != '4' {
					t.Errorf("made %s of %s (%v)", r.SessionName, r.ID, err)
				}
				names[r.SessionName] = true
			})
		}
		wg.Wait()
		if len(names) != 300 {
			t.Errorf("300 runs have %d names", len(names))
		}
	})
}

func TestADisabledHostsScreensAndLogsStillCount(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		_, err := s.DisableHost(s.ctx, "h")
		s.no(err)
		s.news()
		w.send(wire.Snapshot{RunID: r.ID, Capture: "screen", Timestamp: 1})
		w.log(r, "line\n", 0)
		if got, ok, err := s.Hub.Panes.Latest(r.ID); err != nil || !ok || got.Capture != "screen" {
			t.Errorf("the screen is %+v (%v)", got, err)
		}
		s.want(svc.Applied)(s.signal(r, svc.SignalFinished))
		s.wantTopics(svc.TopicRunOutput, svc.TopicRunFinished)
		s.wantStatus(r, svc.RunExited)
	})
}
