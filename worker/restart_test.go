package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/process"
	"svc/rundir"
	"svc/tmux"
	"svc/wire"
)

// spawnWorker runs a worker in a separate process and waits for its first heartbeat.
func (l *lab) spawnWorker() *exec.Cmd {
	l.t.Helper()
	spec, err := json.Marshal(processSpec{Config: *l.cfg, Token: testToken, RuntimeDir: l.runtime})
	if err != nil {
		l.t.Fatal(err)
	}
	file := filepath.Join(l.t.TempDir(), "spec")
	if err := os.WriteFile(file, spec, 0o600); err != nil {
		l.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "as-worker", file)
	cmd.Stderr = l.logs
	online := l.o.online()
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	l.wait("a heartbeat of the process", online)
	return cmd
}

func TestAKilledWorkerLeavesItsSessionsToTheNextOne(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first := l.spawnWorker()
	pidFile := string(l.dir) + "/pid"
	run := l.begin(`echo $$ > ` + pidFile + `; echo before; read line; echo "after $line"; exit 5`)
	pid := l.pidIn(pidFile)
	if err := first.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	if !alive(pid) {
		t.Fatal("the provider died with the worker")
	}
	l.start()
	l.wait("the session in the inventory", func() bool {
		beats := framesOf[*wire.Heartbeat](l.o)
		last := beats[len(beats)-1]
		return last.Runs != nil && slices.Contains(*last.Runs, wire.LiveRun{RunID: run, Attempt: 1})
	})
	l.foundAgain()
	if !alive(pid) {
		t.Fatal("re-adoption ended the provider")
	}
	l.o.send(&wire.Keys{RequestID: "k", RunID: run, Attempt: 1, Keys: []string{"yes", "Enter"}})
	if end := l.finished(run, 1); end.ExitCode != 5 {
		t.Errorf("finished = %+v, want exit code 5", end)
	}
	l.cleared(run, 1)
	if got := l.o.log(run, 1); !strings.Contains(got, "before") || !strings.Contains(got, "after yes") {
		t.Errorf("log %q, want what came before and after the restart", got)
	}
	for _, s := range l.o.signalsOf(run, 1, svc.SignalStarted) { // more than one if it was killed before it got the answer
		if s.PID == nil || *s.PID != pid {
			t.Errorf("started = %+v, want pid %d", s, pid)
		}
	}
	l.idle()
}

func TestARunThatEndsWhileNoWorkerLivesIsReportedByTheNext(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`read line; echo done; exit 4`)
	l.record(run)
	l.stop()
	l.o.set(func(o *orchestrator) { o.down = true }) // the wrapper must not reach the orchestrator either
	l.typeInto(run, "\r")
	l.wait("the wrapper's record", func() bool {
		_, err := l.dir.Attempt(run, 1).ReadExit()
		return err == nil
	})
	l.o.set(func(o *orchestrator) { o.down = false })
	l.start()
	if end := l.finished(run, 1); end.ExitCode != 4 || end.Reason != "" {
		t.Errorf("finished = %+v, want the wrapper's exit code 4", end)
	}
	l.cleared(run, 1)
	if got := l.o.log(run, 1); !strings.Contains(got, "done") {
		t.Errorf("log %q, want what was written without a worker", got)
	}
}

// typeInto types into a session without a worker.
func (l *lab) typeInto(run, keys string) {
	l.t.Helper()
	rec, err := l.dir.Attempt(run, 1).ReadDispatch()
	if err != nil || rec.Session == nil {
		l.t.Fatalf("no session on record: %v", err)
	}
	server := tmux.Server{Socket: rec.Session.Socket, Bin: l.opts.TmuxBin}
	if err := server.SendKeys(l.t.Context(), rec.Session.PaneID, keys); err != nil {
		l.t.Fatal(err)
	}
}

func TestALastScreenThatMayBeLostIsSentAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.o.set(func(o *orchestrator) { // an orchestrator that cannot acknowledge it
		o.caps = slices.DeleteFunc(slices.Clone(o.caps), func(c string) bool { return c == wire.CapFinal })
	})
	l.start()
	run := l.begin(`read line; echo farewell`)
	l.o.set(func(o *orchestrator) { o.deaf = true }) // it acknowledges nothing
	l.o.send(&wire.Keys{RequestID: "1", RunID: run, Attempt: 1, Keys: []string{"Enter"}})
	l.finished(run, 1)
	l.wait("the last screen", l.o.shows(run, "farewell"))
	before := len(framesOf[*wire.Snapshot](l.o))
	l.o.set(func(o *orchestrator) { o.deaf = false })
	l.o.cut()
	l.wait("the last screen once more", func() bool { return len(framesOf[*wire.Snapshot](l.o)) > before })
	l.cleared(run, 1)
	if got := framesOf[*wire.Snapshot](l.o); len(got) != before+1 || !strings.Contains(got[before].Capture, "farewell") {
		t.Errorf("%d snapshots followed, want one of the last screen", len(got)-before)
	}
}

func TestAnAcceptedAttemptThatWasNeverStartedIsStartedByTheNextWorker(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	run := svc.NewRunID()
	l.plant(run, rundir.Dispatch{State: rundir.StateAccepted}, `exit 6`)
	l.start()
	if end := l.finished(run, 1); end.ExitCode != 6 {
		t.Errorf("finished = %+v, want exit code 6", end)
	}
	l.cleared(run, 1)
}

func TestAStartThatAShutdownInterruptsIsLeftToTheNextWorker(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w, err := New(l.opts)
	if err != nil {
		t.Fatal(err)
	}
	run := svc.NewRunID()
	s := newSession(w, l.dir.Attempt(run, 1), nil)
	s.accept(&wire.RunDispatch{RunID: run, TaskID: svc.NewID(), Provider: "shell", Attempt: 1, Prompt: "exit 12"})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.start(ended); !errors.Is(err, context.Canceled) {
		t.Fatalf("start = %v, want that it was cancelled", err)
	}
	l.start()
	if end := l.finished(run, 1); end.ExitCode != 12 {
		t.Errorf("finished = %+v, want exit code 12", end)
	}
	l.cleared(run, 1)
}

// plant writes the record of an earlier worker to disk.
func (l *lab) plant(run string, rec rundir.Dispatch, script string) rundir.Attempt {
	l.t.Helper()
	if _, err := rundir.Open(string(l.dir)); err != nil {
		l.t.Fatal(err)
	}
	rec.Run = wire.RunDispatch{
		RunID: run, TaskID: svc.NewID(), Provider: "shell", SessionName: svc.SessionName(run), Attempt: 1, Prompt: script,
	}
	if rec.State != rundir.StateAccepted {
		rec.Session = &rundir.Session{Socket: filepath.Join(l.runtime, run[:8])}
	}
	a := l.dir.Attempt(run, 1)
	if err := a.Create(); err != nil {
		l.t.Fatal(err)
	}
	if err := a.WriteDispatch(rec); err != nil {
		l.t.Fatal(err)
	}
	return a
}

func TestAnAttemptThatWasBeingStartedIsStartedOnlyWhenNobodyTookItsLaunch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	taken, untaken := svc.NewRunID(), svc.NewRunID()
	mark := string(l.dir) + "/started-"
	l.plant(taken, rundir.Dispatch{State: rundir.StateSpawning}, `touch `+mark+`taken`)
	a := l.plant(untaken, rundir.Dispatch{State: rundir.StateSpawning}, `touch `+mark+`untaken`)
	if _, err := a.Grant(rundir.Launch{RunID: untaken, Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	l.start()
	if end := l.finished(untaken, 1); end.ExitCode != 0 {
		t.Errorf("untaken launch: finished = %+v, want it started and ended well", end)
	}
	if end := l.finished(taken, 1); end.ExitCode != -1 || end.Reason != reasonLost {
		t.Errorf("taken launch: finished = %+v, want session_lost", end)
	}
	if _, err := os.Stat(mark + "taken"); err == nil {
		t.Error("an attempt whose launch was taken was started a second time")
	}
}

func TestASessionThatWasNotYetOnRecordIsFoundByItsSocket(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	file := string(l.dir) + "/pid"
	run := l.begin(`echo $$ >> ` + file + `; read line; exit 10`)
	pid := l.pidIn(file)
	rec := l.record(run)
	l.stop()
	rec.State, rec.Session = rundir.StateSpawning, &rundir.Session{Socket: rec.Session.Socket} // as if the worker was killed in between
	if err := l.dir.Attempt(run, 1).WriteDispatch(rec); err != nil {
		t.Fatal(err)
	}
	l.start()
	l.foundAgain()
	l.o.send(&wire.Keys{RequestID: "k", RunID: run, Attempt: 1, Keys: []string{"Enter"}})
	if end := l.finished(run, 1); end.ExitCode != 10 {
		t.Errorf("finished = %+v, want exit code 10", end)
	}
	if again := l.pidIn(file); again != pid {
		t.Errorf("provider %d became %d", pid, again)
	}
}

// TestASessionThatEndedBeforeItWasOnRecordIsFoundByEveryWorker: its processes have ended when the first worker
// finds the session, and that worker may be killed before it has reported the end.
func TestASessionThatEndedBeforeItWasOnRecordIsFoundByEveryWorker(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]rundir.State{"by the first": rundir.StateSpawning, "by one after a worker that did not know the wrapper": rundir.StateRunning} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			run := svc.NewRunID()
			a := l.plant(run, rundir.Dispatch{State: state}, "exit 10")
			rec, err := a.ReadDispatch()
			if err != nil {
				t.Fatal(err)
			}
			server := tmux.Server{Socket: rec.Session.Socket, Bin: l.opts.TmuxBin}
			made, err := server.Start(t.Context(), tmux.Spec{Name: rec.Run.SessionName, Argv: []string{"/bin/sh", "-c", "exit 10"}, Dir: "/", LogFile: l.dir.LogPath(run)})
			if err != nil {
				t.Fatal(err)
			}
			l.wait("the pane to be dead", func() bool { found, err := server.Inspect(t.Context(), process.ID{}); return err == nil && found.Dead })
			if state == rundir.StateRunning {
				rec.Session.Server, rec.Session.PaneID = made.Server, made.Pane
			}
			if err := errors.Join(a.WriteDispatch(rec), a.WriteExit(rundir.Exit{Code: 10, At: svc.TimeOf(time.Now())})); err != nil {
				t.Fatal(err)
			}
			l.start()
			if end := l.finished(run, 1); end.ExitCode != 10 {
				t.Errorf("finished = %+v, want exit code 10", end)
			}
			l.cleared(run, 1)
			if want := fmt.Sprintf("pid=%d dead=true", made.Process.PID); !strings.Contains(l.logs.String(), want) {
				t.Errorf("the log does not have %q:\n%s", want, l.logs.String())
			}
			if _, err := server.Inspect(t.Context(), process.ID{}); !errors.Is(err, tmux.ErrNoServer) {
				t.Errorf("its tmux lives on: %v", err)
			}
		})
	}
}

func TestASessionThatVanishesIsReportedAsLost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`echo hello; while :; do read line; done`)
	rec := l.record(run)
	wrapper, err := l.dir.Attempt(run, 1).ReadWrapper()
	if err != nil || wrapper.Child == nil {
		t.Fatalf("wrapper record %+v, %v", wrapper, err)
	}
	for _, pid := range []int{rec.Session.Pane.PID, rec.Session.Server.PID, wrapper.Child.PID} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if end := l.finished(run, 1); end.ExitCode != -1 || end.Reason != reasonLost {
		t.Errorf("finished = %+v, want -1 and session_lost", end)
	}
	l.cleared(run, 1)
	l.idle()
}

// record waits until the session is recorded and reads the record.
func (l *lab) record(run string) rundir.Dispatch {
	l.t.Helper()
	var rec rundir.Dispatch
	l.wait("the session's record", func() bool {
		var err error
		rec, err = l.dir.Attempt(run, 1).ReadDispatch()
		return err == nil && rec.State == rundir.StateRunning
	})
	return rec
}

func TestATmuxThatDoesNotAnswerIsUnknownAndNotLost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`read line; exit 7`)
	server := l.record(run).Session.Server.PID
	l.stop()
	if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resumed := false
	defer func() {
		if !resumed {
			_ = syscall.Kill(server, syscall.SIGCONT)
		}
	}()
	l.start() // its verification waits for the suspended server
	for range 5 {
		beats := l.o.count("heartbeat")
		l.wait("another heartbeat", func() bool { return l.o.count("heartbeat") > beats })
	}
	if ends := l.o.signalsOf(run, 1, svc.SignalFinished); len(ends) != 0 {
		t.Fatalf("a session that cannot be asked was reported: %+v", ends)
	}
	resumed = true
	if err := syscall.Kill(server, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	l.foundAgain()
	l.o.send(&wire.Keys{RequestID: "k", RunID: run, Attempt: 1, Keys: []string{"Enter"}})
	if end := l.finished(run, 1); end.ExitCode != 7 {
		t.Errorf("finished = %+v, want exit code 7", end)
	}
}

func (l *lab) foundAgain() {
	l.t.Helper()
	l.wait("the session to be found again", func() bool { return strings.Contains(l.logs.String(), "session found again") })
}

func TestADeletedSocketIsRestored(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`read line; exit 8`)
	socket := l.record(run).Session.Socket
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	l.wait("the socket", func() bool { _, err := os.Stat(socket); return err == nil })
	l.o.send(&wire.Keys{RequestID: "k", RunID: run, Attempt: 1, Keys: []string{"Enter"}})
	if end := l.finished(run, 1); end.ExitCode != 8 {
		t.Errorf("finished = %+v, want exit code 8", end)
	}
}

func TestASessionWhoseAttemptIsSupersededIsEndedAndReported(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`trap 'exit 25' INT; echo ready; while :; do sleep 0.05; done`)
	l.wait("the trap", func() bool { return strings.Contains(l.o.log(run, 1), "ready") })
	l.stop()
	l.start()
	l.foundAgain()
	// The orchestrator finds the attempt in the inventory, and a newer attempt is on another host.
	l.o.send(&wire.RunStop{RunID: run, Attempt: 1, Reason: "superseded"})
	if end := l.finished(run, 1); end.ExitCode != 25 {
		t.Errorf("finished = %+v, want exit code 25", end)
	}
	l.wait("the orphan", func() bool {
		orphans := framesOf[*wire.Orphan](l.o)
		return len(orphans) == 1 && orphans[0].RunID == run && orphans[0].Attempt == 1 && orphans[0].Action == "stopped"
	})
}

func TestAWorkerThatComesBackWithTwoAttemptsEndsTheOlder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`trap 'exit 26' INT; echo ready; while :; do sleep 0.05; done`)
	l.wait("the trap", func() bool { return strings.Contains(l.o.log(run, 1), "ready") })
	l.record(run)
	l.stop()
	rec, err := l.dir.Attempt(run, 1).ReadDispatch()
	if err != nil {
		t.Fatal(err)
	}
	rec.State, rec.Session, rec.Run.Attempt, rec.Run.Prompt = rundir.StateAccepted, nil, 2, `echo second; exit 27`
	rec.TokenHash = "" // the token left the first attempt's record when its session ran
	newer := l.dir.Attempt(run, 2)
	if err := newer.Create(); err != nil {
		t.Fatal(err)
	}
	if err := newer.WriteDispatch(rec); err != nil {
		t.Fatal(err)
	}
	l.start()
	if end := l.finished(run, 2); end.ExitCode != 27 {
		t.Errorf("finished = %+v, want exit code 27", end)
	}
	if end := l.finished(run, 1); end.ExitCode != 26 {
		t.Errorf("finished = %+v, want exit code 26", end)
	}
}

func TestAPlainPeerDoesNotGetTheLogAgainFromTheNextWorker(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.o.set(func(o *orchestrator) { o.caps = nil })
	l.start()
	run := l.begin(`echo once; read line; echo later; read line`)
	l.wait("the log", func() bool { return strings.Contains(l.o.log(run, 1), "once") })
	l.record(run)
	l.stop()
	l.typeInto(run, "\r")
	l.start()
	l.wait("the rest of the log", func() bool { return strings.Contains(l.o.log(run, 1), "later") })
	if got := l.o.log(run, 1); strings.Count(got, "once") != 1 {
		t.Errorf("log %q, want its beginning once", got)
	}
}

func TestOnlyOneWorkerRunsOnADataDirectory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	second, err := New(l.opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); err == nil || !strings.Contains(err.Error(), rundir.ErrWorkerRuns.Error()) {
		t.Errorf("Run = %v, want ErrWorkerRuns", err)
	}
}

func TestTheInstanceStaysAndTheBootIsNew(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	heads := func() (instance, boot string) {
		l.o.mu.Lock()
		defer l.o.mu.Unlock()
		return l.o.headers.Get(wire.HeaderInstanceID), l.o.headers.Get(wire.HeaderBootID)
	}
	l.start()
	instance, boot := heads()
	if got := strings.Split(l.o.header(wire.HeaderCapabilities), ","); !slices.Equal(got, wire.Capabilities) {
		t.Errorf("the upgrade announces %v, want %v", got, wire.Capabilities)
	}
	l.stop()
	l.start()
	again, reboot := heads()
	if instance == "" || instance != again {
		t.Errorf("instance %q became %q", instance, again)
	}
	if boot == "" || boot == reboot {
		t.Errorf("boot %q stayed %q", boot, reboot)
	}
	stored, err := os.ReadFile(string(l.dir) + "/instance_id")
	if err != nil || string(bytes.TrimSpace(stored)) != instance {
		t.Errorf("stored instance %q, %v; want %q", stored, err, instance)
	}
}
