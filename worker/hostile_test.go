package worker

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc"
	"svc/wire"
)

// A session owns its folder and its log. These tests run sessions that misuse that as far as possible.

func TestPipesAndLinksInASpoolStallNobody(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	neighbour := l.begin(`read line; exit 3`)
	attack := `spoil() { mkfifo "$1/$SVC_RUN_ID.1.00000000000000000007.progress"; ln -s /dev/zero "$1/$SVC_RUN_ID.1.00000000000000000008.progress"
		ln -s "$1" "$1/loop"; }
		spoil "$SVC_RUN_DIR/spool"; spoil "$SVC_RUN_DIR/../../../spool"; rm -f "$SVC_RUN_DIR/counter"; mkfifo "$SVC_RUN_DIR/counter"
		cd "$SVC_RUN_DIR/.."; rm -f sink; mkfifo sink leftovers; mkdir -p exit/x; echo spoiled; read line`
	agent := l.begin(attack)
	l.wait("the attack", func() bool { return strings.Contains(l.o.log(agent, 1), "spoiled") })
	l.progressOf(neighbour, 3)
	l.pressEnter(neighbour)
	if got := l.finished(neighbour, 1); got.ExitCode != 3 {
		t.Errorf("the neighbour's end: %+v", got)
	}
	l.wait("the neighbour's signals", func() bool { return len(l.o.signalsOf(neighbour, 1, svc.SignalProgress)) == 3 })
	l.pressEnter(agent)
	l.finished(agent, 1)
	l.stop() // must return within its time limit
}

func TestASpoolThatIsAPipeItselfStallsNobody(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	neighbour := l.begin(`read line; exit 3`)
	agent := l.begin(`read line; rm -rf "$SVC_RUN_DIR/spool"; mkfifo "$SVC_RUN_DIR/spool"; echo spoiled; read line`)
	l.pressEnter(agent) // once its start is told
	l.wait("the attack", func() bool { return strings.Contains(l.o.log(agent, 1), "spoiled") })
	l.pressEnter(neighbour)
	l.finished(neighbour, 1)
	l.pressEnter(agent)
	l.finished(agent, 1)
	l.stop()
}

func TestASessionSpeaksForItselfAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	neighbour, agent := l.begin(`read line; exit 3`), l.begin(`read line`)
	forged := []svc.Signal{
		{RunID: neighbour, Attempt: 1, Kind: svc.SignalProgress, Source: svc.FromHook, Message: "forged", Seq: 1 << 40, Timestamp: 1},
		{RunID: neighbour, Attempt: 1, Kind: svc.SignalFailed, Source: svc.FromHook, Error: "forged", Timestamp: 1},
	}
	for _, s := range forged {
		// With its own token, into the neighbour's spool, and into its own spool under the neighbour's name.
		put, err := l.dir.Attempt(neighbour, 1).Put(s, runToken(agent))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(l.dir.Attempt(agent, 1).SpoolPath(), "x"+filepath.Base(put.Path))
		if text, err := os.ReadFile(put.Path); err == nil {
			_ = os.WriteFile(to, text, 0o600)
		}
		if _, err := l.dir.Put(s); err != nil { // and without a token into the worker's spool
			t.Fatal(err)
		}
	}
	l.wait("the forged signals to be set aside", func() bool {
		entries, _, err := l.dir.Pending()
		return err == nil && len(entries) == 0
	})
	l.progressOf(agent, 1) // its own signal is accepted
	l.wait("its own", func() bool { return len(l.o.signalsOf(agent, 1, svc.SignalProgress)) == 1 })
	l.pressEnter(neighbour)
	if got := l.finished(neighbour, 1); got.ExitCode != 3 {
		t.Errorf("the neighbour's end: %+v", got)
	}
	for _, kind := range []svc.SignalKind{svc.SignalProgress, svc.SignalFailed} {
		if got := l.o.signalsOf(neighbour, 1, kind); len(got) > 0 {
			t.Errorf("forged %s was delivered: %+v", kind, got)
		}
	}
	l.pressEnter(agent)
	l.finished(agent, 1)
}

func TestARunsSecretsLeaveTheDiskWhenItsWrapperHasThem(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := svc.NewRunID()
	l.o.send(&wire.RunDispatch{RunID: run, TaskID: svc.NewID(), Provider: "shell", SessionName: svc.SessionName(run), Attempt: 1,
		Prompt: `test ${#KEY} = 9 && read line`, SignalToken: runToken(run), Env: map[string]string{"KEY": "geheim-47"}})
	l.started(run, 1)
	for _, secret := range []string{"geheim-47", runToken(run)} {
		l.wait(secret+" to leave the disk", func() bool {
			out, _ := exec.Command("grep", "-rlF", secret, string(l.dir)).Output() // 1: nothing found
			return len(out) == 0
		})
	}
	l.stop() // the next worker must continue without them
	l.start()
	l.progressOf(run, 1)
	l.wait("what the session reports", func() bool { return len(l.o.signalsOf(run, 1, svc.SignalProgress)) == 1 })
	l.pressEnter(run)
	if got := l.finished(run, 1); got.ExitCode != 0 {
		t.Errorf("the end: %+v", got)
	}
}

func TestALogThatItsSessionStretchesIsRelayedToItsBoundOnly(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const limit = 64 << 10
	l.cfg.Worker.MaxLogBytes = limit
	l.start()
	run := l.begin(`truncate -s 300M "$SVC_RUN_DIR/../../$SVC_RUN_ID.log"; read line; truncate -s 1G "$SVC_RUN_DIR/../../$SVC_RUN_ID.log"; exit 3`)
	l.wait("the log up to its bound", func() bool { return len(l.o.log(run, 1)) >= limit })
	l.pressEnter(run)
	l.finished(run, 1)
	l.cleared(run, 1)
	if got := len(l.o.log(run, 1)); got > limit+logNotices {
		t.Errorf("%d bytes were relayed; the bound is %d", got, limit)
	}
}

func TestALogThatIsCutIsNoticed(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`echo before; read line; truncate -s 0 "$SVC_RUN_DIR/../../$SVC_RUN_ID.log"; read line; exit 3`)
	l.wait("the output", func() bool { return strings.Contains(l.o.log(run, 1), "before") })
	l.pressEnter(run)
	l.wait("a hint", func() bool { return strings.Contains(strings.Join(l.hints(), "\n"), "was truncated") })
	l.pressEnter(run)
	if got := l.finished(run, 1); got.ExitCode != 3 {
		t.Errorf("the end: %+v", got)
	}
	if got := l.o.log(run, 1); !strings.Contains(got, "before") {
		t.Errorf("what was relayed is gone: %q", got)
	}
}

func TestALogThatBecomesALinkIsNotFollowed(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("geheim-48\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	l.start()
	run := l.begin(`echo before; read line; ln -sf ` + secret + ` "$SVC_RUN_DIR/../../$SVC_RUN_ID.log"; echo after; read line; exit 3`)
	l.wait("the output", func() bool { return strings.Contains(l.o.log(run, 1), "before") })
	l.pressEnter(run)
	l.wait("the attack", func() bool {
		info, err := os.Lstat(l.dir.LogPath(run))
		return err == nil && info.Mode()&os.ModeSymlink != 0
	})
	l.pressEnter(run)
	if got := l.finished(run, 1); got.ExitCode != 3 {
		t.Errorf("the end: %+v", got)
	}
	if strings.Contains(l.o.log(run, 1), "geheim-48") {
		t.Error("another file was relayed as the log")
	}
	if text, err := os.ReadFile(secret); err != nil || len(text) != 10_000 {
		t.Errorf("the other file was written to: %d bytes, %v", len(text), err)
	}
}

func TestAnAgentThatKillsItsWrapperAndSpoilsItsRecordEndsAllTheSame(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := l.begin(`read line; mkdir -p "$SVC_RUN_DIR/../exit/x"; kill -9 $PPID; read line`)
	l.pressEnter(run) // once its start is told
	if got := l.finished(run, 1); got.ExitCode != -1 || got.Reason != reasonLost {
		t.Errorf("its end: %+v, want one that nobody saw", got)
	}
	l.cleared(run, 1)
	l.idle()
}
