package fault

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/config"
	"svc/internal/proctest"
	"svc/internal/waittest"
	"svc/worker"
)

func TestNothingDependsOnTheClockOfAWorker(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, proctest.ServeOptions{OfflineAfter: "3s"})
			w := s.worker(proctest.WorkerOptions{}) // only its host, token and directory are used
			w.Stop()
			w.AwaitStatus(svc.HostOffline)
			stop := workerWithClock(t, s, w, func() time.Time { return time.Now().Add(wrong) })
			w.AwaitStatus(svc.HostOnline)
			script, want := steps(5, "1")
			r, stopped := s.run(script+"exit 2"), s.run("trap '' INT; sleep 300")
			s.follower.AwaitRun(stopped.ID, svc.TopicRunStarted)
			if _, err := s.client.StopRun(t.Context(), stopped.ID); err != nil {
				t.Fatal(err)
			}
			asked := time.Now()
			s.follower.AwaitRun(stopped.ID, svc.TopicRunFinished)
			if took := time.Since(asked); took < time.Second {
				t.Errorf("the run ended %v after the stop, before the first step of the ladder, one second, was over", took)
			}
			s.awaitEnd(r.ID)
			s.wantOneLife(r.ID, 2)
			if got := strings.Join(s.messages(r.ID), ","); got != strings.Join(want, ",") {
				t.Errorf("progress in the journal: %q", got)
			}
			if offline := s.follower.Of(w.HostID, svc.TopicWorkerOffline); len(offline) != 1 {
				t.Errorf("the host went offline %d times, want once, before its clock was wrong", len(offline))
			}
			host, err := s.client.Host(t.Context(), w.HostID)
			if err != nil || host.LastSeenAt == nil || time.Since(host.LastSeenAt.Std()).Abs() > time.Minute {
				t.Errorf("last seen at %v, %v", host.LastSeenAt, err)
			}
			stop()
		})
	}
}

// workerWithClock runs a worker inside the test process, with the given clock.
func workerWithClock(t *testing.T, s *site, w *proctest.Worker, now func() time.Time) (stop func()) {
	t.Helper()
	binary := proctest.Binary(t)
	src := config.OS()
	src.DataDir = w.Dir
	cfg, err := config.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.client.HostToken(t.Context(), w.HostID)
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := worker.New(worker.Options{
		Config: cfg, Token: config.Secret(token), Now: now, RuntimeDir: filepath.Join(s.lab.Dir, "rt", "clock"),
		Logger:      slog.New(slog.NewTextHandler(io.Discard, nil)),
		WrapperArgv: []string{binary, "exec", "run"}, SinkArgv: []string{binary, "exec", "sink"},
		Environ: []string{"PATH=" + filepath.Dir(binary) + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + s.lab.Dir},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- daemon.Run(ctx) }()
	var ended bool
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("worker: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// An orchestrator may be frozen by a debugger, by a full swap space or by a
// paused virtual machine. It has not received the heartbeats of that time, and
// must not take a host as offline because of them.
func TestAFrozenOrchestratorGivesNobodyUp(t *testing.T) {
	t.Parallel()
	const offlineAfter = 8 * time.Second
	s := newSite(t, proctest.ServeOptions{OfflineAfter: offlineAfter.String(), Config: "[runs]\nack_timeout = \"500ms\"\nlost_after = \"1s\"\n"})
	w := s.worker(proctest.WorkerOptions{})
	always := func(b *api.CreateRun) { b.RestartPolicy = api.Some(svc.RestartAlways) }
	running := s.run("read -r _ </dev/tty", always)
	s.follower.AwaitRun(running.ID, svc.TopicRunStarted)
	w.Signal(syscall.SIGSTOP)
	unheard := s.run("read -r _ </dev/tty", always) // its acknowledgement is delayed during the whole freeze
	s.follower.AwaitRun(unheard.ID, svc.TopicRunSpawning)
	s.o.Signal(syscall.SIGSTOP)
	proctest.Pause(offlineAfter + time.Second) // the fault itself takes this long
	s.o.Signal(syscall.SIGCONT)
	thawed := time.Now()
	if got := s.get(unheard.ID); got.Attempt != 1 { // the response also shows that the orchestrator runs again
		t.Errorf("the dispatch was given up: attempt %d", got.Attempt)
	}
	w.Signal(syscall.SIGCONT)
	s.follower.AwaitRun(unheard.ID, svc.TopicRunStarted)
	waittest.Eventually(t, "a new heartbeat of the host arrives", func() bool {
		h, err := s.client.Host(t.Context(), w.HostID)
		return err == nil && h.LastSeenAt != nil && h.LastSeenAt.Std().After(thawed)
	})
	for _, id := range []string{running.ID, unheard.ID} {
		if got := s.get(id); got.Attempt != 1 || got.Status != svc.RunRunning {
			t.Errorf("run %s is %s at attempt %d", id, got.Status, got.Attempt)
		}
	}
	if offline := s.follower.Of(w.HostID, svc.TopicWorkerOffline); len(offline) > 0 {
		t.Errorf("the host was declared offline: %v", offline)
	}
}
