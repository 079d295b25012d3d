package tmux

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"svc/process"
)

func TestKilledServerIsKnownAbsent(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	session := start(t, server, Spec{Argv: []string{"cat"}})
	if err := session.Server.Signal(syscall.SIGKILL); err != nil {
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
	for _, known := range []process.ID{session.Server, {}} {
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

// awaitReady waits until the process is alive.
func awaitReady(t *testing.T, process process.ID) {
	t.Helper()
	eventually(t, "the process lives", func() (bool, string) {
		alive, _ := process.Alive()
		return alive, ""
	})
}
