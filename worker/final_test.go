package worker

import (
	"strings"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// finals are the last screens of a run's attempt that came so far.
func (o *orchestrator) finals(run string, attempt int) (found []*wire.Snapshot) {
	for _, f := range framesOf[*wire.Snapshot](o) {
		if f.Final && f.RunID == run && f.Attempt == attempt {
			found = append(found, f)
		}
	}
	return found
}

// The last screen is on the orchestrator's disk before the end is told, and on this host's until then:
// over lost connections, and the end of the worker.
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
		t.Error("the end was told before the last screen was kept")
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

// A session that ends while no worker lives leaves its terminal with the screen in it.
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
