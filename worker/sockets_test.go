package worker

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/process"
	"svc/tmux"
	"svc/wire"
)

// answered waits for the answer to the dispatch of a run's first attempt.
func (l *lab) answered(runID string) (answer wire.RunDispatchAck) {
	l.t.Helper()
	l.wait("the answer to the dispatch", func() bool {
		for _, ack := range framesOf[*wire.RunDispatchAck](l.o) {
			if ack.RunID == runID {
				answer = *ack
				return true
			}
		}
		return false
	})
	return answer
}

// loseSockets removes the folder of the sockets with all its content.
func (l *lab) loseSockets() {
	l.t.Helper()
	if err := os.RemoveAll(l.runtime); err != nil {
		l.t.Fatal(err)
	}
}

func TestNewRunsStartAfterTheFolderOfTheSocketsWasRemoved(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.Reconcile = time.Hour
	l.start()
	l.loseSockets()
	run := l.begin("exit 4")
	if end := l.finished(run, 1); end.ExitCode != 4 {
		t.Errorf("finished = %+v", end)
	}
}

func TestKeysScreensAndStopsWorkAfterTheFolderOfTheSocketsWasRemoved(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.Liveness = time.Hour // the periodic check must not restore the socket
	l.opts.Reconcile = time.Hour
	l.cfg.Worker.StopGrace = [2]time.Duration{time.Minute, time.Minute} // Ctrl-C must be enough
	l.start()
	run := l.begin(`trap 'exit 7' INT; echo ready; read line; echo "got $line"; while :; do sleep 0.1; done`)
	l.wait("the screen", l.o.shows(run, "ready"))
	l.loseSockets()
	l.o.send(&wire.Keys{RequestID: "k", RunID: run, Attempt: 1, Keys: []string{"hello", "Enter"}})
	l.wait("the answer to the keys", func() bool { return len(framesOf[*wire.KeysResult](l.o)) > 0 })
	if r := framesOf[*wire.KeysResult](l.o)[0]; !r.OK {
		t.Fatalf("keys = %+v", r)
	}
	l.wait("the echo", l.o.shows(run, "got hello"))
	l.loseSockets()
	l.o.send(&wire.RunStop{RunID: run, Attempt: 1, Reason: "enough"})
	if end := l.finished(run, 1); end.ExitCode != 7 {
		t.Errorf("finished = %+v, want the end by Ctrl-C", end)
	}
	l.idle()
}

func TestAHostThatCannotStartRunsRefusesThemCoolsDownAndComesBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	inside := filepath.Join(l.runtime, "sockets")
	l.opts.RuntimeDir = inside
	l.opts.Cooldown = 200 * time.Millisecond
	l.start()
	block := func() { // a file in the place of the folder
		if err := os.RemoveAll(inside); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(inside, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	block()
	last := func() *svc.HostRefusal {
		beats := framesOf[*wire.Heartbeat](l.o)
		return beats[len(beats)-1].Refusing
	}
	for range faultsAllowed {
		run := svc.NewRunID()
		l.dispatch(run, 1, "exit 0")
		if ack := l.answered(run); ack.Accepted || !strings.Contains(ack.Reason, inside) {
			t.Errorf("answer %+v, want a refusal that names the folder", ack)
		}
		if l.dir.Attempt(run, 1).Exists() {
			t.Error("a later worker would start what was refused")
		}
	}
	l.wait("the heartbeat that says so", func() bool { return last() != nil })
	if why := last(); why.Code != svc.RefusalCoolingDown || !strings.Contains(why.Message, inside) || why.Until == 0 {
		t.Errorf("refusing %+v", why)
	}
	run := svc.NewRunID()
	l.dispatch(run, 1, "exit 0")
	if ack := l.answered(run); ack.Accepted {
		t.Error("a run was taken while the host cools down")
	}
	if err := os.Remove(inside); err != nil {
		t.Fatal(err)
	}
	l.wait("the host to be back", func() bool { return last() == nil })
	l.finished(l.begin("exit 0"), 1)
	if n := len(l.o.signalsOf(run, 1, svc.SignalFailed)); n != 0 {
		t.Errorf("%d failed signals of a run that was refused", n)
	}
}

// A worker that is killed during a trial leaves the trial session. The next worker must not conclude from that
// session that the host cannot start any.
func TestASessionOfATrialThatAnEarlierWorkerLeftIsEnded(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	l.stop()
	spec := tmux.Spec{Name: "probe", Argv: []string{"/bin/sh", "-c", ":"}, Dir: "/"}
	if _, err := l.w.trialServer().Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if err := l.w.tryHost(t.Context()); err != nil {
		t.Errorf("the host cannot be tried: %v", err)
	}
	if _, err := l.w.trialServer().Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	l.start()
	l.wait("the session to be ended", func() bool {
		_, err := l.w.trialServer().Inspect(t.Context(), process.ID{})
		return errors.Is(err, tmux.ErrNoServer)
	})
}

// After a short fault the host is tried again soon. A fault that keeps coming back is tried with growing
// pauses, even if the probes do not detect it.
func TestAHostIsTriedSoonAndThenEverMoreSeldomUntilItStartsARun(t *testing.T) {
	t.Parallel()
	w := &Worker{}
	var pauses []float64
	for range 9 {
		pauses = append(pauses, w.trouble.nextPause(3*time.Second).Seconds())
	}
	if want := []float64{3, 6, 12, 24, 48, 96, 192, 384, 600}; !slices.Equal(pauses, want) {
		t.Errorf("the pauses are %v, want %v", pauses, want)
	}
	w.hostWorks()
	if got := w.trouble.nextPause(3 * time.Second); got != 3*time.Second {
		t.Errorf("after a run was started the pause is %v, want 3 s", got)
	}
}

func TestARunThatAsksForWhatIsNotThereFailsAndCoolsNobodyDown(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	for range faultsAllowed + 1 {
		run := svc.NewRunID()
		l.o.send(&wire.RunDispatch{RunID: run, TaskID: svc.NewID(), Provider: "shell", SessionName: svc.SessionName(run), Attempt: 1,
			Cwd: "/no/such/folder", SignalToken: "run-token"})
		if ack := l.answered(run); !ack.Accepted {
			t.Errorf("answer %+v, want it to be taken", ack)
		}
		l.wait("failed", func() bool { return len(l.o.signalsOf(run, 1, svc.SignalFailed)) > 0 })
	}
	if why := l.w.refusing(); why != "" {
		t.Errorf("the host refuses: %s", why)
	}
}

func TestADeadSocketIsRemovedAndALivingOrForeignOneStays(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	dead, foreign := filepath.Join(l.runtime, "0badcafe"), filepath.Join(l.runtime, "mine")
	for _, path := range []string{dead, foreign} {
		socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		socket.SetUnlinkOnClose(false)
		_ = socket.Close()
	}
	l.start()
	run := l.begin("sleep 600")
	l.wait("the dead socket to be removed", func() bool {
		_, err := os.Lstat(dead)
		return os.IsNotExist(err)
	})
	for _, path := range []string{foreign, filepath.Join(l.runtime, run[:8])} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("it was removed too: %v", err)
		}
	}
	_ = os.Remove(foreign)
}
