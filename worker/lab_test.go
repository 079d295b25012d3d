package worker

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/config"
	"svc/internal/needtest"
	"svc/internal/textbuffer"
	"svc/internal/waittest"
	"svc/process"
	"svc/rundir"
	"svc/tmux"
	"svc/wire"
)

const catalog = `
[providers.shell]
bin = "/bin/sh"
argv_template = ["-c", "{prompt}"]
installed_detection = ["-c", "echo shell 1"]

[providers.absent]
bin = "no-such-tool-anywhere"
`

// lab is a worker's host: a data directory, a catalog, an orchestrator, and a worker that can be started and
// stopped.
type lab struct {
	t       *testing.T
	o       *orchestrator
	cfg     *config.Config
	dir     rundir.Dir
	runtime string
	opts    Options
	w       *Worker
	cancel  context.CancelFunc
	done    chan error
	logs    *textbuffer.Buffer
}

func newLab(t *testing.T) *lab {
	t.Helper()
	needtest.Program(t, "tmux")
	data := t.TempDir()
	runtime, err := os.MkdirTemp("/tmp", "svcw")
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, o: newOrchestrator(t), runtime: runtime, dir: rundir.Dir(data), logs: &textbuffer.Buffer{}}
	l.cfg = &config.Config{DataDir: data, CatalogPath: filepath.Join(data, "providers.toml")}
	l.cfg.Worker = config.Worker{
		ServerURL: l.o.http.URL, HostName: "lab", Cwd: data, HeartbeatInterval: 200 * time.Millisecond,
		StopGrace: [2]time.Duration{500 * time.Millisecond, 3 * time.Second}, Reap: true, MaxLogBytes: 1 << 30,
	}
	if err := os.WriteFile(l.cfg.CatalogPath, []byte(catalog), 0o600); err != nil {
		t.Fatal(err)
	}
	l.opts = quick(Options{
		Config: l.cfg, Token: testToken, RuntimeDir: runtime,
		Logger: slog.New(slog.NewTextHandler(l.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	t.Cleanup(l.tearDown)
	return l
}

// start runs a worker in this process and waits for its first heartbeat.
func (l *lab) start() {
	l.t.Helper()
	w, err := New(l.opts)
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.w, l.cancel, l.done = w, cancel, make(chan error, 1)
	online := l.o.online()
	go func() { l.done <- w.Run(ctx) }()
	l.wait("a heartbeat", online)
}

// stop ends the worker cleanly; its sessions live on.
func (l *lab) stop() {
	l.t.Helper()
	if l.cancel == nil {
		return
	}
	l.cancel()
	l.cancel = nil
	select {
	case err := <-l.done:
		if err != nil {
			l.t.Errorf("Run: %v", err)
		}
	case <-time.After(waittest.Patience):
		l.t.Fatal("the worker does not end")
	}
}

// dispatch sends a script to the worker as an attempt of a run.
func (l *lab) dispatch(runID string, attempt int, script string) {
	l.t.Helper()
	l.o.send(&wire.RunDispatch{
		RunID: runID, TaskID: svc.NewID(), Provider: "shell", SessionName: svc.SessionName(runID),
		Attempt: attempt, Prompt: script, SignalToken: runToken(runID),
	})
}

// begin dispatches a new run and waits until it has started.
func (l *lab) begin(script string) (runID string) {
	l.t.Helper()
	runID = svc.NewRunID()
	l.dispatch(runID, 1, script)
	l.started(runID, 1)
	if l.w == nil { // the worker is a separate process
		return runID
	}
	// The wrapper's report may arrive before the worker has found the session.
	l.wait("the session to be known", func() bool {
		s := l.w.session(runID, 1)
		return s == nil || s.where().pane != ""
	})
	return runID
}

func (l *lab) started(runID string, attempt int) {
	l.t.Helper()
	l.wait("started", func() bool { return len(l.o.signalsOf(runID, attempt, svc.SignalStarted)) > 0 })
}

// finished waits for the end of an attempt and returns it.
func (l *lab) finished(runID string, attempt int) svc.Signal {
	l.t.Helper()
	l.wait("finished", func() bool { return len(l.o.signalsOf(runID, attempt, svc.SignalFinished)) > 0 })
	return l.o.signalsOf(runID, attempt, svc.SignalFinished)[0]
}

// cleared waits until only the log and the tombstone of an attempt are left.
func (l *lab) cleared(runID string, attempt int) {
	l.t.Helper()
	l.wait("the attempt to be cleared away", func() bool { return !l.dir.Attempt(runID, attempt).Exists() })
}

// wait polls until the condition is true. If it does not become true, it fails the test with the worker's log.
func (l *lab) wait(what string, ok func() bool) {
	l.t.Helper()
	if !waittest.Within(waittest.Patience, ok) {
		l.t.Fatalf("timed out waiting for %s\nhistory: %v\nworker:\n%s", what, l.o.history(), l.logs)
	}
}

// tearDown stops the worker, ends the rest of its sessions, and fails the test if something was left that
// should be gone.
func (l *lab) tearDown() {
	l.stop()
	sockets, _ := filepath.Glob(filepath.Join(l.runtime, "*"))
	for _, socket := range sockets {
		ctx, cancel := context.WithTimeout(context.Background(), waittest.Patience)
		if err := (tmux.Server{Socket: socket}).Kill(ctx, process.ID{}); err != nil {
			l.t.Errorf("end session: %v", err)
		}
		cancel()
	}
	for _, pid := range l.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	l.wait("every process to be gone", func() bool { return len(l.processes()) == 0 })
	_ = os.RemoveAll(l.runtime)
	if strings.Contains(l.logs.String(), testToken) {
		l.t.Error("the worker's token is in its log")
	}
}

// processes returns the processes of this lab: those with its data directory or its sockets in their
// environment or arguments.
func (l *lab) processes() (pids []int) {
	marks := [][]byte{[]byte(string(l.dir)), []byte(l.runtime)}
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		pid, _ := strconv.Atoi(filepath.Base(entry))
		environ, _ := os.ReadFile(filepath.Join(entry, "environ"))
		cmdline, _ := os.ReadFile(filepath.Join(entry, "cmdline"))
		for _, mark := range marks {
			if pid != os.Getpid() && (bytes.Contains(environ, mark) || bytes.Contains(cmdline, mark)) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// idle fails the test if a process of the lab still runs.
func (l *lab) idle() {
	l.t.Helper()
	l.wait("every process of the session to be gone", func() bool { return len(l.processes()) == 0 })
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	p, err := process.Read(pid)
	return err == nil && !p.Ended
}

// pidIn reads a pid that a script has written to a file.
func (l *lab) pidIn(path string) int {
	l.t.Helper()
	var pid int
	l.wait("a pid in "+path, func() bool {
		text, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return pid
}

func quietLogger(b *textbuffer.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func configOf(heartbeat time.Duration) *config.Config {
	return &config.Config{Worker: config.Worker{HostName: "lab", HeartbeatInterval: heartbeat}}
}

func secret(s string) config.Secret { return config.Secret(s) }

func nameless() *config.Config { return &config.Config{} }
