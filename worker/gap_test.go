package worker

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"svc/process"
	"svc/rundir"
	"svc/wire"
)

func (l *lab) hints() (texts []string) {
	for _, f := range framesOf[*wire.RunHint](l.o) {
		texts = append(texts, f.Hint)
	}
	return texts
}

// echoing starts a session that repeats its input and whose log has its first line.
func echoing(t *testing.T) (l *lab, run string, p place) {
	t.Helper()
	l = newLab(t)
	l.start()
	run = l.begin(`echo first; while read line; do echo "got $line"; done`)
	l.wait("the first line", func() bool { return strings.Contains(l.o.log(run, 1), "first") })
	return l, run, l.w.session(run, 1).where()
}

// killWriter ends the process that writes a session's log.
func killWriter(t *testing.T, p place) {
	t.Helper()
	killed := 0
	for _, child := range process.Children(p.host.PID) {
		if child.PID != p.process.PID {
			if err := child.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			killed++
		}
	}
	if killed != 1 {
		t.Fatalf("the log had %d writers", killed)
	}
}

func TestAWriterThatEndedWithoutAWorkerIsMissed(t *testing.T) {
	t.Parallel()
	l, run, p := echoing(t)
	l.stop()
	killWriter(t, p)
	l.start()
	l.wait("the hint", func() bool { return strings.Contains(strings.Join(l.hints(), "\n"), "its writer ended") })
	l.wait("the mark in the log", func() bool { return strings.Contains(l.o.log(run, 1), "output is missing here") })
}

func TestALogWhoseWriterWasKilledSaysSoAndGoesOn(t *testing.T) {
	t.Parallel()
	l, run, p := echoing(t)
	killWriter(t, p)
	l.wait("the hint", func() bool { return strings.Contains(strings.Join(l.hints(), "\n"), "its writer ended") })
	l.wait("the mark in the log", func() bool { return strings.Contains(l.o.log(run, 1), "output is missing here") })
	l.wait("another writer", func() bool {
		found, err := p.server.Inspect(t.Context(), p.host)
		return err == nil && found.Piped
	})
	l.o.send(&wire.Keys{RequestID: "k", RunID: run, Attempt: 1, Keys: []string{"more", "Enter"}})
	l.wait("the log to go on", func() bool { return strings.Contains(l.o.log(run, 1), "got more") })
	if n := strings.Count(l.o.log(run, 1), "output is missing here"); n != 1 {
		t.Errorf("the gap is marked %d times", n)
	}
	l.o.cut()
	before := len(l.hints())
	l.wait("the hint on the next connection", func() bool { return len(l.hints()) > before })
}

func TestScreensAreLookedAtWhenTheLogDoesNotGrow(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.SinkArgv = []string{"/bin/sh", "-c", "exec cat > /dev/null"} // like a writer whose writes all fail
	l.start()
	run := l.begin(`echo first; while read line; do echo "got $line"; done`)
	l.wait("the first screen", func() bool { return l.o.count("snapshot") > 0 })
	state, err := os.OpenFile(l.dir.Attempt(run, 1).SinkPath(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = state.Close() }()
	rundir.TellSinkState(state, "no space left on device")
	l.o.send(&wire.Keys{RequestID: "k", RunID: run, Attempt: 1, Keys: []string{"more", "Enter"}})
	l.wait("the screen to go on", l.o.shows(run, "got more"))
	l.wait("the hint", func() bool {
		return strings.Contains(strings.Join(l.hints(), "\n"), "output is missing from the log: no space left on device")
	})
}
