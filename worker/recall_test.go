package worker

import (
	"strings"
	"testing"

	"svc"
	"svc/wire"
)

// forget makes the orchestrator one that was restored from an old backup and has lost an attempt's log but for
// keep bytes.
func (o *orchestrator) forget(runID string, attempt int, keep int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := key{runID, attempt}
	o.logs[k] = o.logs[k][:min(keep, len(o.logs[k]))]
	delete(o.ends, k)
}

func TestAnEndIsToldAgainWithItsLogBefore(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`echo a line; echo another; exit 7`)
	l.finished(run, 1)
	l.cleared(run, 1)
	whole := l.o.log(run, 1)
	l.o.forget(run, 1, 3)
	l.o.set(func(o *orchestrator) {
		o.answer = func(s svc.Signal) int {
			if log := o.log(run, 1); s.RunID == run && log != whole {
				t.Errorf("%s overtook the log: %q", s.Kind, log)
			}
			return 200
		}
	})
	l.o.send(&wire.RunRecall{Runs: []wire.LiveRun{{RunID: run, Attempt: 1}}})
	l.wait("the end once more", func() bool { return len(l.o.signalsOf(run, 1, svc.SignalFinished)) == 2 })
	if again := l.o.signalsOf(run, 1, svc.SignalFinished)[1]; again.ExitCode != 7 {
		t.Errorf("reported again as %+v, want exit code 7", again)
	}
	l.cleared(run, 1)
	if got := l.o.log(run, 1); got != whole {
		t.Errorf("the log is %q, want %q", got, whole)
	}
}

func TestTheStartOfALivingAttemptIsToldAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`read line`)
	l.wait("the start to be delivered", func() bool {
		pending, _, err := l.dir.Attempt(run, 1).Pending()
		return err == nil && len(pending) == 0
	})
	l.o.send(&wire.RunRecall{Runs: []wire.LiveRun{{RunID: run, Attempt: 1}}})
	l.wait("the start once more", func() bool { return len(l.o.signalsOf(run, 1, svc.SignalStarted)) == 2 })
	both := l.o.signalsOf(run, 1, svc.SignalStarted)
	if first, again := both[0].PID, both[1].PID; first == nil || again == nil || *first != *again {
		t.Errorf("reported again with process %v, want %v", again, first)
	}
}

func TestAStopOfAnAttemptThatIsOverTellsItsEndAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`exit 3`)
	l.finished(run, 1)
	l.cleared(run, 1)
	l.o.send(&wire.RunStop{RunID: run, Attempt: 1, Reason: "run is stopped"})
	l.wait("the end once more", func() bool { return len(l.o.signalsOf(run, 1, svc.SignalFinished)) == 2 })
	if again := l.o.signalsOf(run, 1, svc.SignalFinished)[1]; again.ExitCode != 3 {
		t.Errorf("reported again as %+v, want exit code 3", again)
	}
}

func TestWhatAHostHasNoTraceOfIsUnknown(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	live, never := l.begin(`read line`), svc.NewRunID()
	l.o.send(&wire.RunRecall{Runs: []wire.LiveRun{{RunID: live, Attempt: 1}, {RunID: never, Attempt: 1}}})
	l.wait("the answer", func() bool { return len(framesOf[*wire.RunUnknown](l.o)) == 1 })
	if got := framesOf[*wire.RunUnknown](l.o)[0].Runs; len(got) != 1 || got[0].RunID != never {
		t.Errorf("unknown are %+v, want the one that never came here", got)
	}
	l.o.send(&wire.RunStop{RunID: live, Attempt: 1})
	l.finished(live, 1)
}

func TestALogIsReadFromTheHostWhereverItWasLost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`echo first; exit 1`)
	l.finished(run, 1)
	l.cleared(run, 1)
	l.dispatch(run, 2, `echo second; exit 0`)
	l.finished(run, 2)
	l.cleared(run, 2)
	first, second := l.o.log(run, 1), l.o.log(run, 2)
	if !strings.Contains(first, "first") || !strings.Contains(second, "second") {
		t.Fatalf("logs %q and %q", first, second)
	}
	l.o.forget(run, 1, 0)
	l.o.forget(run, 2, 4)
	ends := len(l.o.signalsOf(run, 1, svc.SignalFinished)) + len(l.o.signalsOf(run, 2, svc.SignalFinished))
	l.o.send(&wire.LogRead{RunID: run, Attempt: 1})
	l.o.send(&wire.LogRead{RunID: run, Attempt: 2})
	l.wait("both logs", func() bool { return l.o.log(run, 1) == first && l.o.log(run, 2) == second })
	l.cleared(run, 1)
	l.cleared(run, 2)
	if n := len(l.o.signalsOf(run, 1, svc.SignalFinished)) + len(l.o.signalsOf(run, 2, svc.SignalFinished)); n != ends {
		t.Errorf("%d ends were reported, want no more than the %d of before: only the logs were asked for", n, ends)
	}
	l.o.send(&wire.LogRead{RunID: svc.NewRunID(), Attempt: 1})
	l.wait("that it is gone", func() bool { return len(framesOf[*wire.LogGone](l.o)) == 1 })
}
