package engine

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/internal/clocktest"
	"svc/wire"
)

func TestAdmission(t *testing.T) {
	bubble(t, func(s *site) {
		task := s.task(s.project())
		s.news()
		r, err := s.CreateRun(s.ctx, svc.NewRun{TaskID: task.ID, Provider: "provider_d"})
		s.no(err)
		if r.Status != svc.RunPending || r.Attempt != 1 || r.SessionName != "svc-"+r.ID[:8] || r.RestartPolicy != svc.RestartNever ||
			r.MaxRestarts != 3 || r.HostID != nil || r.Args == nil || r.Env == nil || r.ProjectID != task.ProjectID {
			t.Errorf("admitted %+v", r)
		}
		e := s.wantTopics(svc.TopicRunCreated)[0]
		for f, want := range map[string]any{"run_id": r.ID, "attempt": 1.0, "task_id": task.ID, "project_id": task.ProjectID} {
			if got := field(e, f); got != want {
				t.Errorf("run.created has %s %v, want %v", f, got, want)
			}
		}
		if w, _ := s.WorkItem(s.ctx, task.ID); w.Status != svc.ItemTodo || w.Version != 1 {
			t.Errorf("admission moved the item: %+v", w)
		}
	})
}

func TestRefusedAdmissionsLeaveNothing(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		kind := func(k svc.Kind) string { return s.task(p, func(n *svc.NewWorkItem) { n.Kind = k }).ID }
		archived := s.task(s.project())
		gone := s.task(p)
		s.no(s.DeleteWorkItem(s.ctx, gone.ID, false, false, nil))
		_, err := s.ArchiveProject(s.ctx, archived.ProjectID, nil)
		s.no(err)
		task := kind(svc.KindSubtask)
		w := s.online("h")
		w.send(wire.Providers{Providers: map[string]svc.ProviderReport{"qwen": {Preset: true}}})
		s.settle()
		for what, c := range map[string]struct {
			run  svc.NewRun
			code svc.Code
			says string
		}{
			"a milestone":         {svc.NewRun{TaskID: kind(svc.KindMilestone), Provider: "provider_a"}, svc.CodeInvalidTaskKind, "milestone"},
			"an epic":             {svc.NewRun{TaskID: kind(svc.KindEpic), Provider: "provider_a"}, svc.CodeInvalidTaskKind, "epic"},
			"an unknown task":     {svc.NewRun{TaskID: svc.NewID(), Provider: "provider_a"}, svc.CodeValidation, "task_id"},
			"a deleted task":      {svc.NewRun{TaskID: gone.ID, Provider: "provider_a"}, svc.CodeValidation, "task_id"},
			"an archived project": {svc.NewRun{TaskID: archived.ID, Provider: "provider_a"}, svc.CodeProjectArchived, "archived"},
			"an unknown provider": {svc.NewRun{TaskID: task, Provider: "provider_x"}, svc.CodeUnknownProvider, "provider_x"},
			"a preset in no use":  {svc.NewRun{TaskID: task, Provider: "qwen"}, svc.CodeUnknownProvider, "qwen"},
			"an unknown host":     {svc.NewRun{TaskID: task, Provider: "provider_a", HostID: ptr(svc.NewID())}, svc.CodeValidation, "host_id"},
		} {
			s.news()
			_, err := s.CreateRun(s.ctx, c.run)
			s.wantCode(what, err, c.code)
			if err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v does not say %q", what, err, c.says)
			}
			s.wantTopics()
		}
		if list, err := s.Runs(s.ctx, svc.RunFilter{}, svc.Page{Limit: 10}); err != nil || len(list.Items) != 0 {
			t.Errorf("%d runs were made (%v)", len(list.Items), err)
		}
	})
}

func TestARunTakesWhatItsProjectAndTheServiceDecide(t *testing.T) {
	bubble(t, func(s *site) {
		claude, err := s.CreateProject(s.ctx, svc.NewProject{Name: "c", Cwd: "/srv/c", Provider: "provider_a", Model: "big"})
		s.no(err)
		bare, err := s.CreateProject(s.ctx, svc.NewProject{Name: "b"})
		s.no(err)
		for what, c := range map[string]struct {
			project svc.Project
			asked   svc.NewRun
			want    string
		}{
			"the project's":    {claude, svc.NewRun{}, "provider_a big /srv/c"},
			"the caller's own": {claude, svc.NewRun{Provider: "provider_b", Model: "small", Cwd: "/tmp"}, "provider_b small /tmp"},
			"another tool's":   {claude, svc.NewRun{Provider: "provider_c"}, "provider_c  /srv/c"},
			"the service's":    {bare, svc.NewRun{}, "provider_d tiny "},
		} {
			c.asked.TaskID = s.task(c.project).ID
			r, err := s.CreateRun(s.ctx, c.asked)
			s.no(err)
			if got := r.Provider + " " + r.Model + " " + r.Cwd; got != c.want {
				t.Errorf("%s: got %q, want %q", what, got, c.want)
			}
		}
		// A run keeps the values that it was admitted with when the project changes.
		r, err := s.CreateRun(s.ctx, svc.NewRun{TaskID: s.task(claude).ID})
		s.no(err)
		_, err = s.UpdateProject(s.ctx, claude.ID, svc.ProjectPatch{Cwd: ptr("/elsewhere"), Provider: ptr(""), Model: ptr("")}, nil)
		s.no(err)
		frames := s.online("h").take()
		if i := slices.IndexFunc(frames, func(f wire.Frame) bool {
			d, ok := f.(*wire.RunDispatch)
			return ok && d.RunID == r.ID && d.Cwd == "/srv/c"
		}); i < 0 {
			t.Errorf("the host was told %+v", frames)
		}
	}, func(c *Config) { c.RunDefaults = svc.RunDefaults{Provider: "provider_d", Model: "tiny"} })
}

func TestATaskIsMadeWithItsRunOrNotAtAll(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		s.news()
		task := svc.NewWorkItem{ProjectID: p.ID, Kind: svc.KindTask, Title: "Both"}
		r, err := s.CreateRun(s.ctx, svc.NewRun{Task: &task, Provider: "provider_a"})
		s.no(err)
		s.wantTopics(svc.TopicItemCreated, svc.TopicRunCreated)
		if w, err := s.WorkItem(s.ctx, r.TaskID); err != nil || w.Title != "Both" {
			t.Errorf("the task is %+v (%v)", w, err)
		}
		epic := svc.NewWorkItem{ProjectID: p.ID, Kind: svc.KindEpic, Title: "Too big"}
		for what, c := range map[string]struct {
			run  svc.NewRun
			code svc.Code
		}{
			"an unknown provider": {svc.NewRun{Task: &task, Provider: "nobody"}, svc.CodeUnknownProvider},
			"no provider at all":  {svc.NewRun{Task: &task}, svc.CodeValidation},
			"an unknown host":     {svc.NewRun{Task: &task, Provider: "provider_a", HostID: ptr(svc.NewID())}, svc.CodeValidation},
			"an epic":             {svc.NewRun{Task: &epic, Provider: "provider_a"}, svc.CodeInvalidTaskKind},
			"a title of nothing":  {svc.NewRun{Task: &svc.NewWorkItem{ProjectID: p.ID, Kind: svc.KindTask}, Provider: "provider_a"}, svc.CodeValidation},
		} {
			_, err := s.CreateRun(s.ctx, c.run)
			s.wantCode(what, err, c.code)
			s.wantTopics()
		}
		if items, err := s.WorkItems(s.ctx, svc.WorkItemFilter{ProjectID: p.ID}, svc.Page{Limit: 10}); err != nil || len(items.Items) != 1 {
			t.Errorf("%d items were made (%v)", len(items.Items), err)
		}
	})
}

func TestProvidersOfAnyCatalogAreAdmitted(t *testing.T) {
	bubble(t, func(s *site) {
		task := s.task(s.project())
		for _, p := range []string{"provider_a", "provider_b", "provider_c", "provider_d", "own"} {
			_, err := s.CreateRun(s.ctx, svc.NewRun{TaskID: task.ID, Provider: p})
			s.wantCode(p, err, "")
		}
	}, func(c *Config) { c.KnownProvider = func(id string) bool { return id == "own" } })
}

func TestAdmissionUnderAKeyHappensOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		n := svc.NewRun{TaskID: s.task(s.project()).ID, Provider: "provider_a"}
		s.news()
		first, err := s.CreateRun(WithIdempotency(s.ctx, "k", "f"), n)
		s.no(err)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				again, err := s.CreateRun(WithIdempotency(s.ctx, "k", "f"), n)
				if err != nil || again.ID != first.ID || again.Version != first.Version {
					t.Errorf("repeated: run %s version %d (%v), want %s version %d", again.ID, again.Version, err, first.ID, first.Version)
				}
			})
		}
		wg.Wait()
		_, err = s.CreateRun(WithIdempotency(s.ctx, "k", "other"), n)
		s.wantCode("the key with another request", err, svc.CodeIdempotency)
		s.wantTopics(svc.TopicRunCreated)
		for _, c := range []struct {
			after time.Duration
			same  bool
		}{{23 * time.Hour, true}, {2 * time.Hour, false}} { // over a restart
			s.stop()
			clocktest.Pass(c.after)
			s = start(t, dir)
			later, err := s.CreateRun(WithIdempotency(s.ctx, "k", "f"), n)
			if err != nil || (later.ID == first.ID) != c.same {
				t.Errorf("%v later the key answers %s (%v), first %s", c.after, later.ID, err, first.ID)
			}
		}
	})
}

func TestRepeatedStopUnderAKeyIsNotAnotherStop(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run())
		for i := range 3 {
			got, err := s.StopRun(WithIdempotency(s.ctx, "k", "f"), r.ID)
			if err != nil || got.Status != svc.RunStopped {
				t.Errorf("stop %d: %s (%v)", i, got.Status, err)
			}
		}
		s.wantTopics(svc.TopicRunStopped)
		w.wantFrames("run_stop 1")
	})
}

func TestWaitingTooLong(t *testing.T) {
	type option = func(*site) *worker
	silent := func(s *site) *worker { w := s.online("h"); w.drop(); s.pass(2 * time.Minute); return w }
	for name, c := range map[string]struct {
		host   option
		pinned bool
		events []svc.Topic // before the failure
		reason svc.FailureReason
	}{
		"no host at all":             {func(*site) *worker { return nil }, false, nil, svc.ReasonNoEligibleHost},
		"a host never seen":          {func(s *site) *worker { return s.newHost("h") }, true, nil, svc.ReasonNoEligibleHost},
		"an offline host":            {silent, true, nil, svc.ReasonNoEligibleHost},
		"an offline host, not named": {silent, false, nil, svc.ReasonNoEligibleHost},
		"a disabled host": {func(s *site) *worker {
			w := s.online("h")
			w.keepBeating()
			_, err := s.DisableHost(s.ctx, "h")
			s.no(err)
			return w
		}, true, nil, svc.ReasonNoEligibleHost},
		"a suspect host": {func(s *site) *worker {
			w := s.online("h")
			w.keepBeating()
			s.no(s.suspect(s.ctx, w.host.ID, svc.NewID()))
			return w
		}, true, nil, svc.ReasonNoEligibleHost},
		"a full host": {func(s *site) *worker {
			w := s.online("h", func(n *svc.NewHost) { n.MaxRuns = ptr(0) })
			w.keepBeating()
			return w
		}, false, nil, svc.ReasonDispatchTimeout},
		"another host than the named one": {func(s *site) *worker {
			s.online("other").keepBeating()
			return s.newHost("h")
		}, true, nil, svc.ReasonNoEligibleHost},
		"a host without uplink": {func(s *site) *worker {
			w := s.online("h")
			w.drop()
			return w
		}, true, []svc.Topic{svc.TopicWorkerGone, svc.TopicWorkerOffline}, svc.ReasonDispatchTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *site) {
				w := c.host(s)
				r := s.run(policy(svc.RestartNever), func(n *svc.NewRun) {
					if c.pinned {
						n.HostID = &w.host.ID
					}
				})
				s.news()
				s.pass(5*time.Minute - time.Second)
				s.wantStatus(r, svc.RunPending)
				s.wantTopics(c.events...)
				s.pass(2 * time.Second)
				got := s.wantStatus(r, svc.RunFailed)
				if got.FailureReason == nil || *got.FailureReason != c.reason || got.SessionEndedAt == nil {
					t.Errorf("failed as %v, want %s", got.FailureReason, c.reason)
				}
				if e := s.wantTopics(svc.TopicRunFailed)[0]; field(e, "failure_reason") != string(c.reason) {
					t.Errorf("journaled %s", e.Payload)
				}
			})
		})
	}
}

func TestHostThatFittedOnceCountsAsMatched(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h", func(n *svc.NewHost) { n.MaxRuns = ptr(0) })
		w.keepBeating()
		r := s.run(on(w))
		s.pass(time.Second)
		_, err := s.DisableHost(s.ctx, "h")
		s.no(err)
		s.pass(5 * time.Minute)
		if got := s.wantStatus(r, svc.RunFailed); *got.FailureReason != svc.ReasonDispatchTimeout {
			t.Errorf("failed as %s", *got.FailureReason)
		}
	})
}

func TestRefusingHostCountsAsMatched(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		w.keepBeating()
		r := s.run()
		w.ack(r, false)
		s.pass(5*time.Minute + time.Second)
		if got := s.wantStatus(r, svc.RunFailed); *got.FailureReason != svc.ReasonDispatchTimeout {
			t.Errorf("failed as %s", *got.FailureReason)
		}
	})
}

func TestNoRestartAfterNoEligibleHost(t *testing.T) {
	bubble(t, func(s *site) {
		r := s.run(policy(svc.RestartAlways))
		s.news()
		s.pass(6 * time.Minute)
		s.wantTopics(svc.TopicRunFailed)
		s.wantStatus(r, svc.RunFailed)
	})
}

func TestHostThatComesInTimeGetsTheRun(t *testing.T) {
	bubble(t, func(s *site) {
		r := s.run()
		s.pass(4 * time.Minute)
		w := s.online("h")
		w.wantFrames("run_dispatch 1")
		w.ack(r, true)
		w.keepBeating()
		s.pass(6 * time.Minute)
		s.wantStatus(r, svc.RunSpawning)
	})
}

func TestUnconfirmedDispatchOfAHostThatWentAway(t *testing.T) {
	for _, p := range []svc.RestartPolicy{svc.RestartNever, svc.RestartOnFailure, svc.RestartAlways} {
		t.Run(string(p), func(t *testing.T) {
			bubble(t, func(s *site) {
				w := s.online("h")
				r := s.run(policy(p))
				w.wantFrames("run_dispatch 1")
				w.drop()
				s.pass(89 * time.Second)
				s.wantStatus(r, svc.RunSpawning)
				s.news()
				s.pass(4 * time.Second)
				if p == svc.RestartNever {
					s.wantTopics(svc.TopicWorkerOffline)
					s.pass(6 * time.Minute)
					s.wantStatus(r, svc.RunSpawning)
					w.connect()
					w.beat()
					w.wantFrames("run_dispatch 1")
					w.started(r)
					return
				}
				events := s.wantTopics(svc.TopicWorkerOffline, svc.TopicRunRequeued)
				got := s.wantStatus(r, svc.RunPending)
				if got.Attempt != 2 || field(events[1], "attempt") != 2.0 || got.HostID != nil {
					t.Errorf("requeued as %+v: %s", got, events[1].Payload)
				}
				s.want(svc.DeadAttempt)(s.signal(r, svc.SignalStarted))
				w.connect()
				w.beat()
				s.pass(3 * time.Second)
				w.wantFrames("run_dispatch 2")
			})
		})
	}
}

func TestStopOfAnUnconfirmedRunWhoseHostIsAway(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := s.run()
		w.take()
		w.drop()
		s.pass(6 * time.Minute)
		_, err := s.StopRun(s.ctx, r.ID)
		s.no(err)
		w.connect()
		w.beat()
		w.wantFrames("run_stop 1")
	})
}

func TestRunningRunOfAnOfflineHostStaysRunning(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		r := w.started(s.run(policy(svc.RestartAlways)))
		w.drop()
		s.pass(6 * time.Minute)
		s.wantStatus(r, svc.RunRunning)
		s.wantTopics(svc.TopicWorkerGone, svc.TopicWorkerOffline)
		s.want(svc.Applied)(s.signal(r, svc.SignalCompleted))
	})
}

func TestLostAfter(t *testing.T) {
	bubble(t, func(s *site) {
		w := s.online("h")
		again := w.started(s.run(policy(svc.RestartOnFailure)))
		s.pass(time.Second)
		never := w.started(s.run())
		w.drop()
		s.pass(90*time.Second + 10*time.Minute - 6*time.Second)
		s.wantStatus(never, svc.RunRunning)
		s.wantTopics(svc.TopicWorkerGone, svc.TopicWorkerOffline)
		s.pass(10 * time.Second)
		if got := s.wantStatus(never, svc.RunFailed); *got.FailureReason != svc.ReasonHostLost || got.SessionEndedAt != nil {
			t.Errorf("lost as %+v", got)
		}
		if got := s.wantStatus(again, svc.RunPending); got.Attempt != 2 {
			t.Errorf("the one that may restart is at attempt %d", got.Attempt)
		}
		s.wantTopics(svc.TopicRunFailed, svc.TopicRunRequeued, svc.TopicRunFailed)
		s.want(svc.Superseded)(s.signal(never, svc.SignalFinished, code(3)))
		s.wantTopics()
	}, func(c *Config) { c.LostAfter = 10 * time.Minute })
}
