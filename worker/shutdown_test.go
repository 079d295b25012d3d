package worker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"svc"
	"svc/wire"
)

// The provider may be running before tmux has reported that the session exists.
func TestAShutdownInTheMiddleOfAStartLeavesTheSessionAlive(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.TmuxBin = lateTmux(t, "new-session")
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

// lateTmux is a tmux that reports the end of a command, such as new-session, only after a second.
func lateTmux(t *testing.T, command string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tmux")
	script := "#!/bin/sh\ntmux \"$@\"; code=$?\ncase \"$*\" in *" + command + "*) sleep 1;; esac\nexit $code\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// A client that reads that a run is running may type into it, or attach, at once.
func TestAStartIsToldWhenTheSessionCanBeReached(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.TmuxBin = lateTmux(t, "new-session")
	l.start()
	run := l.begin("read line; exit 0")
	if !l.w.session(run, 1).where().live {
		t.Error("the start was reported of a session that cannot be reached")
	}
	l.typeInto(run, "\r")
	l.finished(run, 1)
	l.cleared(run, 1)
}

func TestAWorkerThatEndsInOrderSaysGoodbye(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	if n := l.o.count("goodbye"); n > 0 {
		t.Fatalf("%d goodbyes of a worker that goes on", n)
	}
	l.stop()
	l.wait("the drop", func() bool { return l.o.count("drop") == 1 })
	if history := l.o.history(); !slices.Equal(history[len(history)-2:], []string{"goodbye", "drop"}) {
		t.Errorf("the end was %v", history)
	}
	l.o.set(func(o *orchestrator) {
		o.caps = slices.DeleteFunc(slices.Clone(o.caps), func(c string) bool { return c == wire.CapGoodbye })
	})
	l.start()
	l.stop()
	l.wait("the second drop", func() bool { return l.o.count("drop") == 2 })
	if n := l.o.count("goodbye"); n != 1 {
		t.Errorf("%d goodbyes; the second orchestrator does not know the frame", n)
	}
}
