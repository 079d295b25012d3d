package worker

import (
	"errors"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/process"
	"svc/rundir"
)

// stubborn is a script that only SIGKILL ends.
const stubborn = `trap '' INT TERM; echo ready; while :; do sleep 0.05; done`

// The wrapper records its provider shortly after it has started it; on a slow disk a stop can come before that.
func TestAStopOfAProviderThatIsNotOnRecordLetsTheWrapperRecordItsEnd(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(stubborn)
	l.wait("the trap", func() bool { return strings.Contains(l.o.log(run, 1), "ready") })
	a := l.dir.Attempt(run, 1)
	record, err := a.ReadWrapper()
	if err != nil {
		t.Fatal(err)
	}
	record.Child = nil
	if err := a.WriteWrapper(record); err != nil {
		t.Fatal(err)
	}
	l.stopRun(run, 1)
	if end := l.finished(run, 1); end.ExitCode != 137 || end.Reason != "killed by SIGKILL" {
		t.Errorf("finished = %+v, want 137, killed by SIGKILL", end)
	}
	l.cleared(run, 1)
	l.idle()
}

func TestARecordOfTheEndThatCannotBeReadNowIsReadAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`read line`)
	a, wrapper := l.dir.Attempt(run, 1), l.record(run).Session.Pane.PID
	// Nothing below a file can be read, so the worker cannot find out what was recorded.
	if err := errors.Join(os.Rename(a.Path(), a.Path()+"-"), os.WriteFile(a.Path(), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(wrapper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.wait("the worker to try to read it", func() bool {
		return strings.Contains(l.logs.String(), "the wrapper's record of the end cannot be read")
	})
	if ends := l.o.signalsOf(run, 1, svc.SignalFinished); len(ends) != 0 {
		t.Fatalf("an end that nobody knows was reported: %+v", ends)
	}
	if err := errors.Join(os.Remove(a.Path()), os.Rename(a.Path()+"-", a.Path())); err != nil {
		t.Fatal(err)
	}
	if err := a.WriteExit(rundir.Exit{Code: 5, At: svc.TimeOf(time.Now())}); err != nil {
		t.Fatal(err)
	}
	if end := l.finished(run, 1); end.ExitCode != 5 {
		t.Errorf("finished = %+v, want exit code 5", end)
	}
	l.cleared(run, 1)
}

// On a slow disk, a wrapper takes its launch file long before it has recorded itself.
func TestAWrapperThatTookItsLaunchFileIsWaitedFor(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	run := svc.NewRunID()
	a := l.plant(run, rundir.Dispatch{State: rundir.StateSpawning}, `exit 0`)
	permit, err := a.Grant(rundir.Launch{RunID: run, Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	slow := exec.Command("sleep", "600") // it has taken the permit and has done nothing else yet
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Process.Kill(); _ = slow.Wait() }()
	taker, err := process.Of(slow.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := rundir.WriteRecord(permit+".taker", taker); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(permit); err != nil {
		t.Fatal(err)
	}
	l.start()
	beats := l.o.count("heartbeat")
	l.wait("seven seconds of heartbeats", func() bool { return l.o.count("heartbeat") > beats+35 })
	if ends := l.o.signalsOf(run, 1, svc.SignalFinished); len(ends) != 0 {
		t.Fatalf("a wrapper that lives was reported: %+v", ends)
	}
	// It ends after it has recorded the exit.
	if err := a.WriteExit(rundir.Exit{Code: 14, At: svc.TimeOf(time.Now())}); err != nil {
		t.Fatal(err)
	}
	_ = slow.Process.Kill()
	_ = slow.Wait()
	if end := l.finished(run, 1); end.ExitCode != 14 {
		t.Errorf("finished = %+v, want exit code 14", end)
	}
	l.cleared(run, 1)
}

// TestStoppedRunsAreNotLostHoweverTheirWorkersFare kills and suspends workers at arbitrary moments while runs
// are stopped and end by themselves. No run may be reported as lost.
func TestStoppedRunsAreNotLostHoweverTheirWorkersFare(t *testing.T) {
	t.Parallel()
	rounds := 4
	if os.Getenv("SVC_TEST_LONG") != "" {
		rounds = 40
	}
	l := newLab(t)
	l.cfg.Worker.StopGrace = [2]time.Duration{200 * time.Millisecond, 300 * time.Millisecond}
	noise := rand.New(rand.NewSource(2))
	want := map[string]int{}
	for round := range rounds {
		cmd := l.spawnWorker()
		stopped, ends := l.begin(stubborn), l.begin(`read line; exit 6`)
		want[stopped], want[ends] = 137, 6
		l.wait("the trap", func() bool { return strings.Contains(l.o.log(stopped, 1), "ready") })
		l.record(ends)
		l.stopRun(stopped, 1)
		l.wait("the order on disk", func() bool {
			rec, err := l.dir.Attempt(stopped, 1).ReadDispatch()
			return err != nil || rec.StopReason != ""
		})
		l.after(time.Duration(noise.Intn(900)) * time.Millisecond)
		if round%2 == 0 {
			_ = cmd.Process.Signal(syscall.SIGSTOP)
			l.typeInto(ends, "\r")
			l.after(time.Duration(noise.Intn(900)) * time.Millisecond)
			_ = cmd.Process.Signal(syscall.SIGCONT)
			l.after(time.Duration(noise.Intn(300)) * time.Millisecond)
			_ = cmd.Process.Kill()
		} else {
			_ = cmd.Process.Kill()
			l.typeInto(ends, "\r")
		}
		_ = cmd.Wait()
		l.o.cut()
	}
	l.start()
	for run, code := range want {
		if end := l.finished(run, 1); end.ExitCode != code || end.Reason == reasonLost {
			t.Errorf("run %s: finished = %+v, want exit code %d", run, end, code)
		}
		l.cleared(run, 1)
	}
	if files, _ := filepath.Glob(filepath.Join(l.dir.SpoolPath(), "bad", "*")); len(files) > 0 {
		t.Errorf("signals were set aside: %q", files)
	}
	l.idle()
}
