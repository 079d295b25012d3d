package tmux

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// On a busy machine the server may keep a client's output open for a while after the client has exited.
func TestACallThatSucceededIsNotUndoneByWhoKeepsItsOutputOpen(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "tmux")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\nsleep 2 &\nexec tmux \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if version, err := (Server{Bin: bin}).Version(t.Context()); err != nil || version == "" {
		t.Errorf("version %q, %v", version, err)
	}
}

// The session exists and its program runs, but the output of new-session never arrives. That happens when many
// sessions start at once.
func TestASessionIsMadeThoughTmuxDoesNotPrintIt(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Bin = filepath.Join(t.TempDir(), "tmux")
	script := "#!/bin/sh\ncase \"$*\" in *new-session*) exec tmux \"$@\" >/dev/null;; esac\nexec tmux \"$@\"\n"
	if err := os.WriteFile(s.Bin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	made, err := s.Start(t.Context(), Spec{Name: "svc-0badcafe", Argv: []string{"sleep", "600"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if alive, err := made.Process.Alive(); err != nil || !alive || made.Process.Start == 0 {
		t.Errorf("process %+v: alive %v, %v", made.Process, alive, err)
	}
}

func TestAServerThatTakesNoConnectionIsKilledByItsProcess(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	made := start(t, s, Spec{Argv: []string{"sleep", "600"}})
	if err := made.Server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for { // until the socket's queue is full
		conn, err := net.DialTimeout("unix", s.Socket, 300*time.Millisecond)
		if err != nil {
			break
		}
		defer func() { _ = conn.Close() }()
	}
	if err := s.Kill(t.Context(), made.Server); err != nil {
		t.Fatal(err)
	}
	if alive, err := made.Server.Alive(); err != nil || alive {
		t.Errorf("the server lives: %v, %v", alive, err)
	}
}
