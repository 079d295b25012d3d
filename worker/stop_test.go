package worker

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/process"
	"svc/wire"
)

func (l *lab) stopRun(run string, attempt int) {
	l.t.Helper()
	l.o.send(&wire.RunStop{RunID: run, Attempt: attempt, Reason: "stopped"})
}

func TestTheStopLadderIsAsPoliteAsItMayBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		code         int
	}{
		{"Ctrl-C ends a listener", `trap 'exit 21' INT; echo ready; while :; do sleep 0.05; done`, 21},
		{"SIGTERM follows", `trap '' INT; trap 'exit 22' TERM; echo ready; while :; do sleep 0.05; done`, 22},
		{"SIGKILL ends it", `trap '' INT TERM; echo ready; while :; do sleep 0.05; done`, 137},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.start()
			run := l.begin(c.script)
			l.wait("the trap", func() bool { return strings.Contains(l.o.log(run, 1), "ready") })
			l.stopRun(run, 1)
			if end := l.finished(run, 1); end.ExitCode != c.code {
				t.Errorf("finished = %+v, want exit code %d\n%s", end, c.code, l.logs)
			}
			l.cleared(run, 1)
			l.idle()
		})
	}
}

func TestAWrapperThatAStopHasToKillIsNotLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, take string
		code       int
		reason     string
	}{
		{"it took its launch file", `rm "$1"; `, 137, "killed by the stop"},
		{"it never did", ``, 137, "killed by the stop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.cfg.Worker.StopGrace = [2]time.Duration{100 * time.Millisecond, 500 * time.Millisecond}
			// Another wrapper, which neither passes signals on nor records anything.
			l.opts.WrapperArgv = []string{"/bin/sh", "-c", `trap '' INT TERM HUP; ` + c.take + `echo ready; while :; do sleep 0.05; done`, "sh"}
			l.start()
			run := svc.NewRunID()
			l.dispatch(run, 1, "exit 0")
			l.wait("the wrapper", func() bool { return strings.Contains(l.o.log(run, 1), "ready") })
			l.stopRun(run, 1)
			if end := l.finished(run, 1); end.ExitCode != c.code || end.Reason != c.reason {
				t.Errorf("finished = %+v, want %d, %s", end, c.code, c.reason)
			}
			l.cleared(run, 1)
			l.idle()
		})
	}
}

func TestAStopOutlivesTheWorker(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.cfg.Worker.StopGrace = [2]time.Duration{time.Hour, 500 * time.Millisecond}
	l.start()
	run := l.begin(`trap '' INT; trap 'exit 23' TERM; echo ready; while :; do sleep 0.05; done`)
	l.wait("the trap", func() bool { return strings.Contains(l.o.log(run, 1), "ready") })
	l.stopRun(run, 1)
	l.wait("the order on disk", func() bool {
		rec, err := l.dir.Attempt(run, 1).ReadDispatch()
		return err == nil && rec.StopReason == "stopped"
	})
	l.stop()
	l.cfg.Worker.StopGrace[0] = time.Millisecond
	l.start()
	if end := l.finished(run, 1); end.ExitCode != 23 {
		t.Errorf("finished = %+v, want the ladder to go on with SIGTERM: 23", end)
	}
}

func TestAnAttemptThatIsStoppedBeforeItStartsNeverStarts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	mark := string(l.dir) + "/started"
	run := svc.NewRunID()
	l.stopRun(run, 1) // the dispatch got lost with an earlier connection
	if end := l.finished(run, 1); end.ExitCode != -1 || end.Reason != "stopped before start" {
		t.Errorf("finished = %+v, want -1, stopped before start", end)
	}
	l.dispatch(run, 1, `touch `+mark)
	l.wait("the ack", func() bool { return len(framesOf[*wire.RunDispatchAck](l.o)) == 1 })
	older := l.begin(`trap '' INT; echo ready; while :; do sleep 0.05; done`)
	l.dispatch(older, 2, `touch `+mark) // waits until the older attempt has ended
	l.stopRun(older, 2)
	l.wait("the end to leave the spool", func() bool {
		pending, _, err := l.dir.Attempt(run, 1).Pending()
		return err == nil && len(pending) == 0
	})
	l.o.send(&wire.RunStop{RunID: run, Attempt: 1, Reason: "user"}) // the orchestrator may have lost the report
	l.wait("the end once more", func() bool { return len(l.o.signalsOf(run, 1, svc.SignalFinished)) == 2 })
	if again := l.o.signalsOf(run, 1, svc.SignalFinished)[1]; again.Reason != "stopped before start" {
		t.Errorf("reported again as %+v, want stopped before start", again)
	}
	if end := l.finished(older, 2); end.ExitCode != -1 || end.Reason != "stopped before start" {
		t.Errorf("finished = %+v, want -1, stopped before start", end)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a stopped attempt was started")
	}
}

func TestANewerAttemptEndsTheOlderFirst(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`trap '' INT; trap 'echo leaving; exit 24' TERM; echo first; while :; do sleep 0.05; done`)
	l.wait("the trap", func() bool { return strings.Contains(l.o.log(run, 1), "first") })
	l.dispatch(run, 2, `echo second; read line`)
	l.started(run, 2)
	if ends := l.o.signalsOf(run, 1, svc.SignalFinished); len(ends) != 1 || ends[0].ExitCode != 24 {
		t.Errorf("before the newer attempt started, the older had ended as %+v; want 24", ends)
	}
	l.wait("the report of an orphan", func() bool {
		return slices.ContainsFunc(framesOf[*wire.Orphan](l.o), func(o *wire.Orphan) bool {
			return *o == wire.Orphan{SessionName: svc.SessionName(run), RunID: run, Attempt: 1, Action: "stopped"}
		})
	})
	l.wait("the newer log", func() bool { return strings.Contains(l.o.log(run, 2), "second") })
	if got := l.o.log(run, 2); strings.Contains(got, "first") {
		t.Errorf("log of attempt 2 holds attempt 1: %q", got)
	}
	if got := l.o.log(run, 1); !strings.Contains(got, "leaving") || strings.Contains(got, "second") {
		t.Errorf("log of attempt 1: %q", got)
	}
}

func TestLeftoversAreEndedWithTheirSession(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	polite, stubborn, other := string(l.dir)+"/polite", string(l.dir)+"/stubborn", string(l.dir)+"/other"
	run := l.begin(`setsid nohup sh -c 'echo $$ > ` + polite + `; exec sleep 600' >/dev/null 2>&1 &
		setsid nohup sh -c 'trap "" TERM; echo $$ > ` + stubborn + `; while :; do sleep 0.05; done' >/dev/null 2>&1 &
		while ! test -s ` + polite + ` -a -s ` + stubborn + `; do sleep 0.05; done; read line; exit 0`)
	pids := []int{l.pidIn(polite), l.pidIn(stubborn)}
	cmd := exec.Command("sh", "-c", `echo $$ > `+other+`; exec sleep 600`)
	cmd.Env = append(os.Environ(), "SVC_RUN_ID="+run, "SVC_ATTEMPT=9", "SVC_DATA_DIR="+string(l.dir))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	another := l.pidIn(other)
	l.pressEnter(run)
	l.finished(run, 1)
	l.wait("the leftovers to be gone", func() bool { return !alive(pids[0]) && !alive(pids[1]) })
	if !alive(another) {
		t.Error("a process of another attempt was ended")
	}
	if text := l.logs.String(); !strings.Contains(text, "outlived its session") {
		t.Error("the leftovers are not named in the log")
	}
}

func TestLeftoversStayWhenReapingIsOff(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.cfg.Worker.Reap = false
	l.start()
	file := string(l.dir) + "/pid"
	run := l.begin(`setsid nohup sh -c 'echo $$ > ` + file + `; exec sleep 600' >/dev/null 2>&1 &
		while ! test -s ` + file + `; do sleep 0.05; done; exit 0`)
	pid := l.pidIn(file)
	l.finished(run, 1)
	l.cleared(run, 1)
	if !alive(pid) {
		t.Error("a leftover was ended though reap is off")
	}
}

func TestAProviderThatKillsItsWrapperIsEndedAndReportedAsLost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	file := string(l.dir) + "/pid"
	run := l.begin(`trap '' HUP; echo $$ > ` + file + `; read line; kill -KILL $PPID; while :; do sleep 0.05; done`)
	pid := l.pidIn(file)
	l.record(run)
	l.o.send(&wire.Keys{RequestID: "k", RunID: run, Attempt: 1, Keys: []string{"Enter"}})
	if end := l.finished(run, 1); end.ExitCode != -1 || end.Reason != reasonLost {
		t.Errorf("finished = %+v, want -1 and session_lost", end)
	}
	l.cleared(run, 1)
	if alive(pid) {
		t.Error("the provider lives on without its session")
	}
	l.idle()
}

// detached returns a script line that starts a process without the session's environment and terminal session,
// which ignores SIGTERM, and writes its pid to a file.
func detached(file string) string {
	return `env -i setsid nohup sh -c 'trap "" TERM; echo $$ > ` + file + `; while :; do sleep 0.05; done' >/dev/null 2>&1 &
		while ! test -s ` + file + `; do sleep 0.05; done
		`
}

func TestAnEndIsToldWhenNothingOfTheAttemptLives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, process string
	}{
		{"it carries the attempt", `setsid nohup sh -c 'trap "" TERM; echo $$ > FILE; while :; do sleep 0.05; done' >/dev/null 2>&1 &
			while ! test -s FILE; do sleep 0.05; done
			`},
		{"it carries nothing", detached("FILE")},
		{"it is in the background of the terminal", `env -i sh -c 'trap "" TERM HUP; echo $$ > FILE; while :; do sleep 0.05; done' &
			while ! test -s FILE; do sleep 0.05; done
			`},
	} {
		for _, end := range []string{"exit 5", "read line"} {
			t.Run(c.name+", "+end, func(t *testing.T) {
				t.Parallel()
				l := newLab(t)
				l.start()
				file := string(l.dir) + "/pid"
				run := l.begin(strings.ReplaceAll(c.process, "FILE", file) + end)
				pid := l.pidIn(file)
				var lived []int
				l.o.set(func(o *orchestrator) {
					o.answer = func(s svc.Signal) int {
						if s.Kind == svc.SignalFinished && alive(pid) {
							lived = append(lived, pid)
						}
						return 200
					}
				})
				if end == "read line" {
					l.stopRun(run, 1)
				}
				l.finished(run, 1)
				if len(lived) > 0 || alive(pid) {
					t.Error("the end was reported while a process of the attempt lived")
				}
				l.cleared(run, 1)
				l.idle()
			})
		}
	}
}

func TestAKilledWrapperLeavesNoDetachedProcess(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	file := string(l.dir) + "/pid"
	run := l.begin(detached(file) + `read line`)
	pid := l.pidIn(file)
	wrapper := l.record(run).Session.Pane.PID
	// The worker must have listed the process while its wrapper lived.
	l.wait("a later look at the processes", l.looksAgain())
	l.wait("one more", l.looksAgain())
	if err := syscall.Kill(wrapper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if end := l.finished(run, 1); end.Reason != reasonLost {
		t.Errorf("finished = %+v, want session_lost", end)
	}
	if alive(pid) {
		t.Error("a detached process lives on without its session")
	}
	l.cleared(run, 1)
	l.idle()
}

// looksAgain returns a function that reports whether the worker has listed all processes since the call of
// looksAgain.
func (l *lab) looksAgain() func() bool {
	since := time.Now()
	return func() bool {
		l.w.scanned.mu.Lock()
		defer l.w.scanned.mu.Unlock()
		return l.w.scanned.at.After(since)
	}
}

func TestASharedDaemonMayOutliveItsSession(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	daemon := string(l.dir) + "/shared-daemon"
	script := "#!/bin/sh\necho $$ > " + daemon + ".pid\nwhile :; do sleep 0.05; done\n"
	if err := os.WriteFile(daemon, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	keeping := strings.Replace(catalog, `[providers.absent]`, "keep_alive = [\"shared-daemon\"]\n\n[providers.absent]", 1)
	if err := os.WriteFile(l.cfg.CatalogPath, []byte(keeping), 0o600); err != nil {
		t.Fatal(err)
	}
	l.start()
	other := string(l.dir) + "/pid"
	run := l.begin(`setsid nohup ` + daemon + ` >/dev/null 2>&1 &
		while ! test -s ` + daemon + `.pid; do sleep 0.05; done
		` + detached(other) + `exit 6`)
	kept, ended := l.pidIn(daemon+".pid"), l.pidIn(other)
	if end := l.finished(run, 1); end.ExitCode != 6 {
		t.Errorf("finished = %+v, want exit code 6", end)
	}
	l.cleared(run, 1)
	if alive(ended) {
		t.Error("another process outlived the session too")
	}
	if !alive(kept) {
		t.Error("the shared daemon was ended with its session")
	}
}

// After a suspension the worker finds that the time of the last step is over and that the wrapper has ended. It
// then leaves the closing of the terminal to session.end, which first waits until the terminal's remaining
// output is in the log.
func TestTheLastStepOfAStopLeavesTheTerminalOfADeadWrapperAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`read line`)
	live := l.w.session(run, 1)
	p := live.where()
	gone := exec.Command("true")
	if err := gone.Start(); err != nil {
		t.Fatal(err)
	}
	wrapper, err := process.Of(gone.Process.Pid)
	if err == nil {
		err = gone.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	frozen := newSession(l.w, live.a, nil)
	frozen.setPlace(place{server: p.server, host: p.host, pane: p.pane, process: wrapper, live: true})
	ladder{step: stepClose}.next(t.Context(), frozen)
	if alive, err := p.host.Alive(); err != nil || !alive {
		t.Errorf("the terminal was closed: alive %v, %v", alive, err)
	}
}
