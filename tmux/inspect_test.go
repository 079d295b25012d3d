package tmux

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestKilledServerIsKnownAbsent(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: []string{"cat"}})
	if err := session.Server.signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := session.Server.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Inspect(t.Context(), session.Server); !errors.Is(err, ErrNoServer) {
		t.Errorf("Inspect: %v, want ErrNoServer", err)
	}
	if _, err := server.Capture(t.Context(), session.Pane, CaptureOpts{}); !errors.Is(err, ErrNoServer) {
		t.Errorf("Capture: %v, want ErrNoServer", err)
	}
	if _, err := server.Attach(t.Context(), session.Pane, 80, 24); !errors.Is(err, ErrNoServer) {
		t.Errorf("Attach: %v, want ErrNoServer", err)
	}
}

func TestDeletedSocketIsUnknownUntilRestored(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: []string{"cat"}})
	for _, known := range []Process{session.Server, {}} {
		if err := os.Remove(server.Socket); err != nil {
			t.Fatal(err)
		}
		_, err := server.Inspect(t.Context(), known)
		if !errors.Is(err, ErrSocketLost) || errors.Is(err, ErrNoServer) {
			t.Errorf("Inspect: %v, want ErrSocketLost", err)
		}
		if err := server.RestoreSocket(t.Context(), known); err != nil {
			t.Fatal(err)
		}
		if found, err := server.Inspect(t.Context(), known); err != nil || found != session {
			t.Errorf("Inspect after restore = %+v, %v, want %+v", found, err, session)
		}
	}
}

func TestWedgedServerIsUnknownAndCanStillBeKilled(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: []string{"cat"}})
	if err := syscall.Kill(session.Server.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	hasty := server
	hasty.Timeout = 200 * time.Millisecond
	_, err := hasty.Inspect(t.Context(), session.Server)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNoServer) {
		t.Errorf("Inspect: %v, want a timeout", err)
	}
	if err := server.Kill(t.Context(), session.Server); err != nil {
		t.Fatal(err)
	}
	if alive, err := session.Server.Alive(); alive || err != nil {
		t.Errorf("server alive %v, %v after Kill", alive, err)
	}
}

func TestKillWaitsRemovesTheSocketAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	for range 10 {
		session := start(t, server, Spec{Argv: []string{"cat"}})
		for range 2 {
			if err := server.Kill(t.Context(), session.Server); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(server.Socket); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("socket after Kill: %v", err)
		}
		if alive, _ := session.Server.Alive(); alive {
			t.Error("server alive after Kill")
		}
		if err := session.Process.Wait(t.Context()); err != nil {
			t.Errorf("program outlives its server: %v", err)
		}
	}
}

func TestKillFindsAServerWithoutItsSocket(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: []string{"cat"}})
	if err := os.Remove(server.Socket); err != nil {
		t.Fatal(err)
	}
	if err := server.Kill(t.Context(), session.Server); err != nil {
		t.Fatal(err)
	}
	if alive, _ := session.Server.Alive(); alive {
		t.Error("server alive after Kill")
	}
}

func TestWaitReturnsWhenTheProgramEnds(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: shell(`read line; exit 3`)})
	waited := make(chan error, 1)
	go func() { waited <- session.Process.Wait(t.Context()) }()
	awaitReady(t, session.Process)
	select {
	case err := <-waited:
		t.Fatalf("Wait returned %v while the program ran", err)
	default:
	}
	if err := server.SendKeys(t.Context(), session.Pane, "x", Enter); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	if alive, err := session.Process.Alive(); alive || err != nil {
		t.Errorf("alive %v, %v after Wait", alive, err)
	}
	if err := session.Process.Wait(t.Context()); err != nil {
		t.Errorf("second Wait: %v", err)
	}
}

// awaitReady returns once the process was seen alive.
func awaitReady(t *testing.T, process Process) {
	t.Helper()
	eventually(t, "the process lives", func() (bool, string) {
		alive, _ := process.Alive()
		return alive, ""
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	self, err := processOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for name, wait := range map[string]func(context.Context, Process) error{"notified": waitExit, "polling": pollExit} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := wait(ctx, self); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want the context's error", name, err)
		}
		cancel()
	}
}

func TestProcessWithAnotherStartIsAnotherProcess(t *testing.T) {
	t.Parallel()
	self, err := processOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if alive, err := self.Alive(); !alive || err != nil {
		t.Errorf("self: alive %v, %v", alive, err)
	}
	self.Start++
	if alive, err := self.Alive(); alive || err != nil {
		t.Errorf("same pid, other start: alive %v, %v", alive, err)
	}
	if err := self.Wait(t.Context()); err != nil {
		t.Errorf("wait for it: %v", err)
	}
	if _, err := ProcessStart(1 << 30); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("start of a pid that nobody has: %v", err)
	}
}

func TestUncollectedProcessHasEnded(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	process, err := processOf(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if alive, err := process.Alive(); alive || err != nil {
		t.Errorf("zombie: alive %v, %v", alive, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
