package worker

import (
	"os"
	"slices"
	"strings"
	"testing"

	"svc"
	"svc/wire"
)

func TestARunIsStartedRelayedAndReported(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := svc.NewRunID()
	l.dispatch(run, 1, `echo "working in $PWD as $SVC_RUN_ID.$SVC_ATTEMPT"; test -z "$SVC_WORKER_TOKEN"; exit 3`)
	end := l.finished(run, 1)
	if end.ExitCode != 3 || end.Source != svc.FromWrapper {
		t.Errorf("finished = %+v, want exit code 3 of the wrapper", end)
	}
	l.cleared(run, 1)
	record, err := os.ReadFile(l.dir.LogPath(run))
	if err != nil {
		t.Fatal(err)
	}
	if got := l.o.log(run, 1); got != string(record) || !strings.Contains(got, "as "+run+".1") {
		t.Errorf("relayed log %q, want the record %q", got, record)
	}
	if !strings.Contains(l.o.screen(run), "working in") {
		t.Errorf("last screen %q", l.o.screen(run))
	}
	acks := framesOf[*wire.RunDispatchAck](l.o)
	if len(acks) != 1 || !acks[0].Accepted || acks[0].Attempt != 1 {
		t.Errorf("acks %+v, want one that accepts attempt 1", acks)
	}
	history := l.o.history()
	if slices.Index(history, "signal finished") < slices.Index(history, "log_chunk") {
		t.Errorf("finished overtook the log: %v", history)
	}
	l.idle()
}

func TestAKnownAttemptIsAcknowledgedAgainAndNotStartedTwice(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	script := `echo started >> ` + string(l.dir) + `/starts; read line`
	run := svc.NewRunID()
	l.dispatch(run, 1, script)
	l.dispatch(run, 1, script)
	l.started(run, 1)
	l.dispatch(run, 1, script)
	accepted := func(n int) func() bool {
		return func() bool {
			acks := framesOf[*wire.RunDispatchAck](l.o)
			return len(acks) == n && !slices.ContainsFunc(acks, func(a *wire.RunDispatchAck) bool { return !a.Accepted })
		}
	}
	l.wait("three acks", accepted(3))
	l.o.send(&wire.Keys{RequestID: "1", RunID: run, Attempt: 1, Keys: []string{"Enter"}})
	l.finished(run, 1)
	l.cleared(run, 1)
	l.dispatch(run, 1, script) // a late repetition, when only the tombstone is left
	l.wait("the fourth ack", accepted(4))
	starts, err := os.ReadFile(string(l.dir) + "/starts")
	if err != nil || string(starts) != "started\n" {
		t.Errorf("starts = %q, %v; want one", starts, err)
	}
	l.dispatch(run, 2, "exit 0")
	l.finished(run, 2)
	l.dispatch(run, 1, script)
	l.wait("a refusal of the older attempt", func() bool {
		acks := framesOf[*wire.RunDispatchAck](l.o)
		last := acks[len(acks)-1]
		return last.Attempt == 1 && !last.Accepted && last.Reason != ""
	})
}

func TestAnAttemptThatCannotBeStartedFailsAndSaysWhy(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	for _, c := range []struct {
		name, provider, cwd string
		want                []string
	}{
		{"a missing binary", "absent", "", []string{"no-such-tool-anywhere", "svc provider doctor absent", "lab"}},
		{"an unknown provider", "nobody", "", []string{`"nobody"`, "providers.toml"}},
		{"a missing directory", "shell", "/no/such/place", []string{"/no/such/place", "does not exist"}},
	} {
		run := svc.NewRunID()
		l.o.send(&wire.RunDispatch{RunID: run, TaskID: svc.NewID(), Provider: c.provider, Cwd: c.cwd, Attempt: 1, Prompt: "exit 0"})
		l.wait(c.name+" to be reported", func() bool { return len(l.o.signalsOf(run, 1, svc.SignalFailed)) > 0 })
		failed := l.o.signalsOf(run, 1, svc.SignalFailed)[0]
		for _, part := range c.want {
			if failed.Source != svc.FromWrapper || !strings.Contains(failed.Error, part) {
				t.Errorf("%s: failed = %+v, want the wrapper's record with %q", c.name, failed, part)
			}
		}
		l.cleared(run, 1)
	}
	l.idle()
}

func TestAWorkerWithoutTmuxLeavesTheRunToAnotherHost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.TmuxBin = "/no/such/tmux"
	l.start()
	run := svc.NewRunID()
	l.dispatch(run, 1, "exit 0")
	if ack := l.answered(run); ack.Accepted || !strings.Contains(ack.Reason, "tmux is not installed") {
		t.Errorf("answer %+v, want a refusal that says that tmux is missing", ack)
	}
	if l.dir.Attempt(run, 1).Exists() || len(l.o.signalsOf(run, 1, svc.SignalFailed)) > 0 {
		t.Error("the host kept a run that it refused")
	}
}

func TestADispatchThatCannotBeRecordedIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := svc.NewRunID()
	if err := os.WriteFile(l.dir.Attempt(run, 1).Path(), nil, 0o600); err != nil { // a file in the place of the folder
		t.Fatal(err)
	}
	l.dispatch(run, 1, "exit 0")
	l.wait("the refusal", func() bool {
		acks := framesOf[*wire.RunDispatchAck](l.o)
		return len(acks) == 1 && !acks[0].Accepted && strings.Contains(acks[0].Reason, "could not be recorded")
	})
	if len(l.o.signalsOf(run, 1, svc.SignalFailed)) != 0 {
		t.Error("a refused dispatch was reported as failed: nothing was taken")
	}
	if err := os.RemoveAll(l.dir.Attempt(run, 1).Path()); err != nil {
		t.Fatal(err)
	}
	// It is repeated before the refusal is read: another host may have the attempt already.
	l.dispatch(run, 1, "exit 0")
	l.wait("the same answer", func() bool {
		acks := framesOf[*wire.RunDispatchAck](l.o)
		return len(acks) == 2 && !acks[1].Accepted && acks[1].Reason == acks[0].Reason
	})
	// On another connection it is a new request: the refusal was lost with the first connection.
	l.o.cut()
	l.wait("the next connection", func() (open bool) {
		l.o.set(func(o *orchestrator) { open = o.conn != nil })
		return open
	})
	l.dispatch(run, 1, "exit 0")
	l.finished(run, 1)
}

func TestTheSessionKnowsItselfAndNotTheWorkersSecrets(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.opts.Environ = append(os.Environ(), "SVC_WORKER_TOKEN=worker-secret", "SVC_TOKEN=user-secret", "TMUX=elsewhere")
	l.start()
	run := svc.NewRunID()
	l.o.send(&wire.RunDispatch{
		RunID: run, TaskID: "task-1", Provider: "shell", Attempt: 1, SignalToken: "run-token",
		Prompt: `env; echo "prompt: $(head -c 3 $SVC_PROMPT_FILE)"`, Env: map[string]string{"OWN": "mine"},
	})
	l.finished(run, 1)
	l.wait("the log", func() bool { return strings.Contains(l.o.log(run, 1), "prompt: env") })
	log := l.o.log(run, 1)
	for _, want := range []string{
		"SVC_RUN_ID=" + run, "SVC_ATTEMPT=1", "SVC_TASK_ID=task-1", "SVC_SIGNAL_TOKEN=run-token", "SVC_API_URL=" + l.o.http.URL, "OWN=mine",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the environment lacks %s", want)
		}
	}
	for _, secret := range []string{"worker-secret", "user-secret", "TMUX=", testToken} {
		if strings.Contains(log, secret) {
			t.Errorf("the environment has %s", secret)
		}
	}
}

func TestAScreenKeepsItsColoursUnlessTheToolIsLineOriented(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	full := catalog + `
[providers.full]
bin = "/bin/sh"
argv_template = ["-c", "{prompt}"]
tui_type = "full_screen"
`
	if err := os.WriteFile(l.cfg.CatalogPath, []byte(full), 0o600); err != nil {
		t.Fatal(err)
	}
	l.start()
	for provider, coloured := range map[string]bool{"shell": false, "full": true} {
		run := svc.NewRunID()
		l.o.send(&wire.RunDispatch{RunID: run, TaskID: svc.NewID(), Provider: provider, Attempt: 1, Prompt: `printf '\033[31mred\033[0m\n'; read line`})
		l.wait("the screen of "+provider, l.o.shows(run, "red"))
		if got := strings.Contains(l.o.screen(run), "\x1b["); got != coloured {
			t.Errorf("%s: colours %v, want %v: %q", provider, got, coloured, l.o.screen(run))
		}
	}
}
