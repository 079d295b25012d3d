package worker

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/internal/clocktest"
	"svc/rundir"
	"svc/wire"
)

// frozen is a connection whose peer answers pings only while it is not frozen.
type frozen struct {
	wire.Conn
	thaw chan struct{}
}

func (f *frozen) Ping(ctx context.Context) error {
	select {
	case <-f.thaw:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// heldLink returns, in a bubble, a connection and a log of which nothing was accepted.
func heldLink(t *testing.T, conn *frozen, path string) (*relay, *link) {
	t.Helper()
	var tasks sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); tasks.Wait() })
	l := newLink(conn, wire.Capabilities)
	l.ctx, l.tasks = ctx, &tasks
	r := newRelay(svc.NewRunID(), 1, path, 0, 0, time.Now)
	r.finish(100)
	if _, err := r.step(l, true); err != nil {
		t.Fatal(err)
	}
	return r, l
}

// hold calls stuck repeatedly, like a caller that waits, and returns whether the relay is stuck at the end.
func hold(r *relay, l *link, limit, after time.Duration) bool {
	for begun := time.Now(); time.Since(begun) < limit; clocktest.Pass(gatePoll) {
		if r.stuck(l, after) {
			return true
		}
	}
	return false
}

func logOf(t *testing.T, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheTimeInWhichAnOrchestratorIsFrozenDoesNotCount(t *testing.T) {
	t.Parallel()
	path := logOf(t, 100)
	synctest.Test(t, func(t *testing.T) {
		conn := &frozen{thaw: make(chan struct{})}
		r, l := heldLink(t, conn, path)
		if hold(r, l, time.Hour, 10*time.Second) {
			t.Fatal("the log is given up while nobody could take it")
		}
		close(conn.thaw)
		if hold(r, l, 9*time.Second, 10*time.Second) {
			t.Error("the log is given up within 9 s of answers")
		}
		if !hold(r, l, 10*time.Second, 10*time.Second) {
			t.Error("the log is waited for, though the orchestrator answers and does not take it")
		}
	})
}

func TestALogThatMovesIsNotStuckHoweverLongItTakes(t *testing.T) {
	t.Parallel()
	path := logOf(t, 100)
	synctest.Test(t, func(t *testing.T) {
		conn := &frozen{thaw: make(chan struct{})}
		close(conn.thaw)
		r, l := heldLink(t, conn, path)
		for at := int64(1); at < 20; at++ {
			if hold(r, l, 9*time.Minute, giveUpLog) {
				t.Fatalf("the log is given up after %d of its bytes, though it moves", at)
			}
			r.ack(l, at, false)
		}
		if !hold(r, l, 2*giveUpLog, giveUpLog) {
			t.Error("a log that does not move any more is not given up")
		}
	})
}

func TestAnAttemptThatWasNotStartedGivesUpWhatItsTerminalWrote(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	run := svc.NewRunID()
	a := l.dir.Attempt(run, 1)
	if _, err := rundir.Open(l.cfg.DataDir); err != nil {
		t.Fatal(err)
	}
	if err := a.Create(); err != nil {
		t.Fatal(err)
	}
	// An earlier worker had a terminal whose wrapper found nothing to start.
	if err := a.WriteDispatch(rundir.Dispatch{
		Run:   wire.RunDispatch{RunID: run, Provider: "absent", SessionName: svc.SessionName(run), Attempt: 1},
		State: rundir.StateAccepted, LogBegun: true,
	}); err != nil {
		t.Fatal(err)
	}
	const words = "svc: nothing was started\r\n"
	if err := os.WriteFile(l.dir.LogPath(run), []byte(words), 0o600); err != nil {
		t.Fatal(err)
	}
	l.start()
	l.wait("the failure", func() bool { return len(l.o.signalsOf(run, 1, svc.SignalFailed)) == 1 })
	if got := l.o.log(run, 1); got != words {
		t.Errorf("the log is %q when the failure is reported, want %q", got, words)
	}
	l.cleared(run, 1)
}

func TestAnEmptyLogIsToldToBeEmpty(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := svc.NewRunID()
	l.o.send(&wire.RunDispatch{RunID: run, TaskID: svc.NewID(), Provider: "absent", SessionName: svc.SessionName(run), Attempt: 1})
	l.wait("the failure", func() bool { return len(l.o.signalsOf(run, 1, svc.SignalFailed)) == 1 })
	l.cleared(run, 1)
	l.o.mu.Lock()
	end, told := l.o.ends[key{run, 1}]
	l.o.mu.Unlock()
	if !told || end != 0 {
		t.Errorf("reported a length of %d (%v), want 0", end, told)
	}
}

func TestNothingIsClearedBeforeTheOrchestratorHasTheWholeLog(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.LogHold = 500 * time.Millisecond
	l.o.set(func(o *orchestrator) { o.logStopped = true })
	l.start()
	run := l.begin(`echo output; exit 0`)
	l.finished(run, 1) // the end must not wait for ever
	beats := l.o.count("heartbeat")
	l.wait("some time", func() bool { return l.o.count("heartbeat") > beats+3 })
	if !l.dir.Attempt(run, 1).Exists() {
		t.Error("the attempt was cleared away before its log was taken")
	}
	l.o.set(func(o *orchestrator) { o.logStopped = false })
	l.cleared(run, 1)
	if got := l.o.log(run, 1); !strings.Contains(got, "output") {
		t.Errorf("the log is %q", got)
	}
}

// A disk that is full for a moment must not leave a folder behind permanently.
func TestAnAttemptWhoseEndCannotBeRecordedIsClearedLater(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	let := filepath.Join(t.TempDir(), "go-on")
	run := l.begin(`until [ -e ` + let + ` ]; do sleep 0.05; done`)
	inTheWay := filepath.Dir(l.dir.TombstonePath(run))
	if err := errors.Join(os.MkdirAll(filepath.Dir(inTheWay), 0o700), os.WriteFile(inTheWay, nil, 0o600), os.WriteFile(let, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	l.wait("the log message that the folder stays", func() bool { return strings.Contains(l.logs.String(), "until its end can be recorded") })
	if !l.dir.Attempt(run, 1).Exists() {
		t.Error("the attempt was cleared away without a tombstone")
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	l.cleared(run, 1)
}

func TestAnEndDoesNotOvertakeWhileTheOrchestratorCannotTakeAnything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := &frozen{thaw: make(chan struct{})}
		var tasks sync.WaitGroup
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(func() { cancel(); tasks.Wait() })
		l := newLink(conn, wire.Capabilities)
		l.ctx, l.tasks = ctx, &tasks
		w := &Worker{link: l}
		w.opts.LogHold = 10 * time.Second
		p, attempt, run := newSpooler(w), 1, svc.NewRunID()
		p.busy[run] = true // a delivery is under way
		end := rundir.Entry{Frame: wire.SignalFrame{RunID: run, Signal: wire.Signal{Attempt: &attempt, Kind: svc.SignalFinished, Source: svc.FromWrapper}}}
		// overdue reads the spool repeatedly, like the spooler.
		overdue := func(limit time.Duration) bool {
			for begun := time.Now(); time.Since(begun) < limit; clocktest.Pass(spoolPoll) {
				p.noteEnds([]rundir.Entry{end})
			}
			return p.overdueEnd(key{run, attempt}) != nil
		}
		if overdue(time.Hour) {
			t.Fatal("the end goes out before earlier signals, though nothing of them could have been taken")
		}
		close(conn.thaw)
		if overdue(8 * time.Second) {
			t.Error("the end goes out before earlier signals after 8 s of answers")
		}
		if !overdue(10 * time.Second) {
			t.Error("the end waits, though the orchestrator answers and does not take what is before it")
		}
	})
}

// An orchestrator without its database answers on the connection, but accepts neither the log nor the end. When
// the database is back, both can arrive, the log first.
func TestAnEndDoesNotOvertakeItsLogWhenTheOrchestratorTakesSignalsAgain(t *testing.T) {
	t.Parallel()
	path := logOf(t, 100)
	synctest.Test(t, func(t *testing.T) {
		conn := &frozen{thaw: make(chan struct{})}
		close(conn.thaw)
		r, l := heldLink(t, conn, path)
		w := &Worker{link: l}
		w.opts.LogHold = 10 * time.Second
		p := newSpooler(w)
		attempt := 1
		end := rundir.Entry{Frame: wire.SignalFrame{RunID: r.runID, Signal: wire.Signal{Attempt: &attempt, Kind: svc.SignalFinished, Source: svc.FromWrapper}}}
		w.sessions = map[key]*session{{r.runID, attempt}: {relay: r, concluded: true}}
		tell := func(limit time.Duration) bool {
			for begun := time.Now(); time.Since(begun) < limit; clocktest.Pass(gatePoll) {
				p.noteEnds([]rundir.Entry{end})
				if p.mayReport(end) {
					return true
				}
			}
			return false
		}
		for range 3 {
			if tell(9 * time.Second) {
				t.Fatal("the end goes out before its log, though nothing could have been taken")
			}
			if !tell(10 * time.Second) {
				t.Fatal("the end waits for its log for ever")
			}
			p.settled(r.runID, 0, &refused{status: http.StatusServiceUnavailable})
		}
		if tell(9 * time.Second) {
			t.Error("the end goes out before its log after the orchestrator took nothing")
		}
		tell(10 * time.Second)
		p.settled(r.runID, 0, &refused{status: http.StatusInternalServerError}) // it accepts signals, but not this one
		if !tell(gatePoll) {
			t.Error("the end waits for a log that the orchestrator does not take")
		}
	})
}
