package worker

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// progressOf puts signals into the spool, like hooks that could not post them.
func (l *lab) progressOf(run string, signals int) {
	l.t.Helper()
	for i := range signals {
		_, err := l.dir.Attempt(run, 1).Put(svc.Signal{
			RunID: run, Attempt: 1, Kind: svc.SignalProgress, Source: svc.FromHook,
			Message: fmt.Sprintf("step %d", i+1), Timestamp: svc.TimeOf(time.Now()),
		}, runToken(run))
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *lab) pressEnter(run string) {
	l.t.Helper()
	l.o.send(&wire.Keys{RequestID: svc.NewID(), RunID: run, Attempt: 1, Keys: []string{"Enter"}})
}

func TestAnEndDoesNotWaitForEachSignalBeforeIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.LogHold = time.Hour // no end is sent before earlier signals
	l.start()
	run := l.begin(`read line; exit 3`)
	const signals = 100
	l.progressOf(run, signals)
	l.pressEnter(run)
	if end := l.finished(run, 1); end.ExitCode != 3 {
		t.Errorf("finished = %+v, want exit code 3", end)
	}
	got := l.o.signalsOf(run, 1, svc.SignalProgress)
	if len(got) != signals {
		t.Fatalf("%d signals came before the end, want %d", len(got), signals)
	}
	for i, s := range got {
		if s.Message != fmt.Sprintf("step %d", i+1) {
			t.Fatalf("signal %d is %q: not in order", i+1, s.Message)
		}
	}
}

func TestAnEndIsToldInTimeWhateverIsBeforeIt(t *testing.T) {
	t.Parallel()
	const signals = 40
	for _, c := range []struct {
		name   string
		answer func(l *lab) func(svc.Signal) int
	}{
		{"a signal that is not taken", func(l *lab) func(svc.Signal) int {
			return func(s svc.Signal) int {
				if s.Kind == svc.SignalProgress && len(l.o.signalsOf(s.RunID, 1, svc.SignalFinished)) == 0 {
					return http.StatusInternalServerError
				}
				return http.StatusOK
			}
		}},
		{"signals that are taken slowly", func(l *lab) func(svc.Signal) int {
			return func(s svc.Signal) int {
				if s.Kind == svc.SignalProgress && len(l.o.signalsOf(s.RunID, 1, svc.SignalFinished)) == 0 {
					l.after(time.Second)
				}
				return http.StatusOK
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.start()
			run := l.begin(`read line; exit 3`)
			answer := c.answer(l)
			l.o.set(func(o *orchestrator) { o.answer = answer })
			l.progressOf(run, signals)
			l.pressEnter(run)
			if end := l.finished(run, 1); end.ExitCode != 3 {
				t.Errorf("finished = %+v, want exit code 3", end)
			}
			// The earlier signals still arrive, in order.
			l.wait("the signals before the end", func() bool {
				return len(l.o.signalsOf(run, 1, svc.SignalProgress)) == signals
			})
			l.cleared(run, 1)
		})
	}
}

func TestAnEndDoesNotOvertakeWhatAnOrchestratorWithoutItsDatabaseDidNotTake(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.LogHold = 12 * time.Second // far more than five signals need, also on a slow machine
	l.start()
	run := l.begin(`read line; exit 3`)
	var refused atomic.Int32
	l.o.set(func(o *orchestrator) {
		o.answer = func(svc.Signal) int {
			if refused.Add(1) <= 4 { // the waits after them are longer than LogHold in total
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		}
	})
	const signals = 5
	l.progressOf(run, signals)
	l.pressEnter(run)
	l.finished(run, 1)
	if got := len(l.o.signalsOf(run, 1, svc.SignalProgress)); got != signals {
		t.Errorf("%d of %d signals came before the end", got, signals)
	}
}
