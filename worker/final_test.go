package worker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// finals returns the last screens of a run's attempt that have arrived so far.
func (o *orchestrator) finals(run string, attempt int) (found []*wire.Snapshot) {
	for _, f := range framesOf[*wire.Snapshot](o) {
		if f.Final && f.RunID == run && f.Attempt == attempt {
			found = append(found, f)
		}
	}
	return found
}

// The last screen must be on the orchestrator's disk before the end is reported, and on this host's disk until
// then, even if connections are lost or the worker ends.
func TestTheLastScreenIsKeptUntilItIsAcknowledged(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.LogHold = time.Hour
	l.o.set(func(o *orchestrator) { o.screenless = true })
	l.start()
	run := l.begin(`echo first; read line; printf '\033[2J\033[Hthe last words'; exit 3`)
	l.o.send(&wire.Keys{RequestID: "1", RunID: run, Attempt: 1, Keys: []string{"Enter"}})
	l.wait("the last screen", func() bool { return len(l.o.finals(run, 1)) == 1 })
	l.o.cut()
	l.wait("the last screen on the next connection", func() bool { return len(l.o.finals(run, 1)) == 2 })
	l.wait("the log", func() bool { return strings.Contains(l.o.log(run, 1), "the last words") })
	l.stop()
	if n := len(l.o.signalsOf(run, 1, svc.SignalFinished)); n != 0 {
		t.Error("the end was reported before the last screen was kept")
	}
	l.o.set(func(o *orchestrator) { o.screenless = false })
	l.start()
	if end := l.finished(run, 1); end.ExitCode != 3 {
		t.Errorf("finished = %+v, want exit code 3", end)
	}
	l.cleared(run, 1)
	all := l.o.finals(run, 1)
	if len(all) != 3 {
		t.Errorf("%d last screens came, want one on each connection", len(all))
	}
	for _, f := range all {
		if !strings.Contains(f.Capture, "the last words") || strings.Contains(f.Capture, "first") || f.Timestamp != all[0].Timestamp {
			t.Errorf("last screen %q at %d, want one and the same", f.Capture, f.Timestamp)
		}
	}
}

// If a session ends while no worker runs, its terminal stays with the screen.
func TestTheNextWorkerSendsTheLastScreenOfASessionThatEndedMeanwhile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`echo first; read line; printf '\033[2J\033[Hthe last words'; exit 0`)
	l.record(run)
	l.stop()
	l.typeInto(run, "\r")
	l.wait("the wrapper's record", func() bool {
		_, err := l.dir.Attempt(run, 1).ReadExit()
		return err == nil
	})
	l.start()
	l.finished(run, 1)
	l.cleared(run, 1)
	finals := l.o.finals(run, 1)
	if len(finals) == 0 || !strings.Contains(finals[0].Capture, "the last words") {
		t.Errorf("%d last screens, the first %+v", len(finals), finals)
	}
}

// blindTmux is a tmux that returns no screen while a file exists. It records each query in another file.
func blindTmux(t *testing.T) (bin, blind, asked string) {
	t.Helper()
	dir := t.TempDir()
	bin, blind, asked = filepath.Join(dir, "tmux"), filepath.Join(dir, "blind"), filepath.Join(dir, "asked")
	script := "#!/bin/sh\ncase \"$*\" in *capture-pane*) if [ -e " + blind + " ]; then echo x >> " + asked + "; echo busy >&2; exit 1; fi;; esac\nexec tmux \"$@\"\n"
	if err := os.WriteFile(bin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return bin, blind, asked
}

// On a very busy host, or while tmux is suspended, the first query for the last screen can fail.
func TestALastScreenIsAskedForUntilItIsThere(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	bin, blind, asked := blindTmux(t)
	l.opts.TmuxBin = bin
	l.start()
	run := l.begin(`read line; echo the last words; exit 0`)
	if err := os.WriteFile(blind, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.pressEnter(run)
	l.wait("the wrapper's record", func() bool {
		_, err := l.dir.Attempt(run, 1).ReadExit()
		return err == nil
	})
	l.wait("the session to be over", func() bool { s := l.w.session(run, 1); return s == nil || !s.where().live })
	before := fileSize(asked)
	l.wait("another question", func() bool { return fileSize(asked) > before+2*int64(len("x\n")) })
	if err := os.Remove(blind); err != nil {
		t.Fatal(err)
	}
	l.finished(run, 1)
	if finals := l.o.finals(run, 1); len(finals) == 0 || !strings.Contains(finals[0].Capture, "the last words") {
		t.Errorf("the last screens are %+v", finals)
	}
	l.cleared(run, 1)
}

// An orchestrator that is killed loses the screens of running sessions. The last screen that was captured
// before the terminal ended is sent again with the end, and is not marked as the screen of the end.
func TestATerminalThatIsKilledLeavesTheScreenThatWasLastSeen(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.LogHold = time.Hour
	l.start()
	run := l.begin(`echo seen; sleep 1000`)
	l.wait("the screen", l.o.shows(run, "seen"))
	if err := syscall.Kill(l.record(run).Session.Server.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.finished(run, 1)
	l.cleared(run, 1)
	all := framesOf[*wire.Snapshot](l.o)
	first := slices.IndexFunc(all, func(f *wire.Snapshot) bool { return strings.Contains(f.Capture, "seen") })
	last := all[len(all)-1]
	if last == all[first] || last.Final || last.Capture != all[first].Capture || last.Timestamp > all[first].Timestamp {
		t.Errorf("of %d screens the last is %+v, want the one that was seen once more", len(all), last)
	}
}
