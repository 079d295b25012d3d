package fault

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/config"
	"svc/internal/proctest"
	"svc/worker"
)

func TestNothingDependsOnTheClockOfAWorker(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, proctest.ServeOptions{OfflineAfter: "3s"})
			w := s.worker(proctest.WorkerOptions{}) // for its host, token and directory
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
				t.Errorf("the ladder's first step, of one second, was over after %v", took)
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

// workerWithClock runs a worker inside the test, with a clock of its own.
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
