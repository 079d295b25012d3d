package tmux

import (
	"os"
	"path/filepath"
	"testing"
)

// On a busy machine the server may keep a client's output open for a while after the client has done
// its work and left.
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

// Seen with tmux 3.3a when many sessions start at once: the session is there, its program is at work,
// and what new-session was to print never comes.
func TestASessionIsMadeThoughTmuxDoesNotPrintIt(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Bin = filepath.Join(t.TempDir(), "tmux")
	script := "#!/bin/sh\ncase \"$*\" in *new-session*) exec tmux \"$@\" >/dev/null;; esac\nexec tmux \"$@\"\n"
	if err := os.WriteFile(s.Bin, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
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
