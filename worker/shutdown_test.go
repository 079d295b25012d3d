package worker

import (
	"os"
	"path/filepath"
	"testing"

	"svc"
)

// The provider may be at work before tmux has said that the session stands.
func TestAShutdownInTheMiddleOfAStartLeavesTheSessionAlive(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	slow := filepath.Join(t.TempDir(), "tmux")
	script := "#!/bin/sh\ntmux \"$@\"; code=$?\ncase \"$*\" in *new-session*) sleep 1;; esac\nexit $code\n"
	if err := os.WriteFile(slow, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	l.opts.TmuxBin = slow
	l.start()
	run, mark := svc.NewRunID(), filepath.Join(string(l.dir), "begun")
	l.dispatch(run, 1, "touch "+mark+"; read line; exit 8")
	l.wait("the provider has begun", func() bool {
		_, err := os.Stat(mark)
		return err == nil
	})
	l.stop()
	if _, err := l.dir.Attempt(run, 1).ReadExit(); err == nil {
		t.Fatal("the shutdown ended the run")
	}
	l.opts.TmuxBin = ""
	l.start()
	l.typeInto(run, "\r")
	if end := l.finished(run, 1); end.ExitCode != 8 {
		t.Errorf("finished = %+v, want exit code 8", end)
	}
	l.cleared(run, 1)
}
