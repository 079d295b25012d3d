package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/internal/needtest"
	"svc/wire"
)

// containedLab is a lab with contained sessions. If the kernel does not allow a user to make namespaces, the
// test is skipped.
func containedLab(t *testing.T) *lab {
	t.Helper()
	needtest.Program(t, "bwrap")
	if _, _, err := FindBwrap(t.Context()); err != nil {
		t.Skipf("sessions cannot be contained here: %v", err)
	}
	l := newLab(t)
	l.cfg.Worker.Contain, l.cfg.Worker.Cwd = "bwrap", t.TempDir()
	return l
}

// thief is an agent that searches for anything that it could read, change or end. It prints each success with
// FOUND.
const thief = `found() { echo "FOUND $*"; }
cat "$DATA/worker_key" "$DATA/instance_id" "$DATA/providers.toml" "$DATA/host_token" "$OTHER/config.toml" 2>/dev/null && found a secret
ls -A "$DATA" | grep -v '^runs$' && found "the worker's folder"
ls -A "$DATA/runs" | grep -v "^$SVC_RUN_ID.1$" && found "a neighbour's folder"
ls -A "$SVC_RUN_DIR/.." | grep -v '^session$' && found "the worker's records"
ls -A "$SOCKETS" | grep . && found sockets
for f in /proc/[0-9]*/environ; do tr '\0' '\n' < $f 2>/dev/null | grep -a '^STEAL=' && found "an environment"; done
kill -0 "$NEIGHBOUR" 2>/dev/null && found "the neighbour's process"
echo evil > "$DATA/providers.toml" && found "a catalog to write"
mv "$DATA" "$DATA.away" 2>/dev/null && found "the worker's folder to move"
mv "${DATA%/*}" "${DATA%/*}.away" 2>/dev/null && found "the folder above to move"
umount "$DATA" 2>/dev/null && found "a cover to take away"
mount -t tmpfs none /mnt 2>/dev/null && found "a mount"
unshare -Urm sh -c "umount '$DATA' && cat '$DATA/worker_key'" 2>/dev/null && found "a cover to take away in a namespace"
mknod "$PWD/disk" b 8 0 2>/dev/null && found "a device"
echo mine > "$PWD/kept" && echo wrote; echo "looked around"; read line; exit 4`

func TestAContainedAgentReachesNothingOfSvc(t *testing.T) {
	t.Parallel()
	l := containedLab(t)
	other := t.TempDir() // a folder of an orchestrator
	for path, text := range map[string]string{string(l.dir) + "/host_token": "svch_secret", other + "/config.toml": "secret"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l.opts.Hide = []string{other}
	l.start()
	neighbour := l.begin(`export STEAL=me; read line; exit 3`)
	steady, err := l.dir.Attempt(neighbour, 1).ReadWrapper()
	if err != nil || steady.Child == nil {
		t.Fatalf("the neighbour's processes: %+v, %v", steady, err)
	}
	run := svc.NewRunID()
	l.o.send(&wire.RunDispatch{
		RunID: run, TaskID: svc.NewID(), Provider: "shell", SessionName: svc.SessionName(run), Attempt: 1, Prompt: thief, SignalToken: runToken(run),
		Env: map[string]string{"DATA": string(l.dir), "OTHER": other, "SOCKETS": l.runtime, "NEIGHBOUR": fmt.Sprint(steady.Child.PID)},
	})
	l.wait("the agent to look around", func() bool { return strings.Contains(l.o.log(run, 1), "looked around") })
	if log := l.o.log(run, 1); strings.Contains(log, "FOUND") || !strings.Contains(log, "wrote") {
		t.Errorf("what it found:\n%s", log)
	}
	if text, err := os.ReadFile(filepath.Join(l.cfg.Worker.Cwd, "kept")); err != nil || string(text) != "mine\n" {
		t.Errorf("what it wrote in its working directory: %q, %v", text, err)
	}
	l.pressEnter(run)
	if got := l.finished(run, 1); got.ExitCode != 4 {
		t.Errorf("its end: %+v", got)
	}
	l.pressEnter(neighbour)
	if got := l.finished(neighbour, 1); got.ExitCode != 3 {
		t.Errorf("the neighbour's end: %+v", got)
	}
	if got := l.o.header(wire.HeaderContainment); got != "bwrap" {
		t.Errorf("the orchestrator gets %q", got)
	}
}

func TestAContainedSessionIsStoppedWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		code         int
	}{
		{"Ctrl-C ends a listener", `trap 'exit 21' INT`, 21},
		{"SIGTERM follows", `trap '' INT; trap 'exit 22' TERM`, 22},
		{"SIGKILL ends it", `trap '' INT TERM`, 137},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := containedLab(t)
			l.start()
			// A child without its terminal, group and environment, which ignores SIGHUP, SIGINT and SIGTERM.
			run := l.begin(c.script + `; (trap '' HUP INT TERM; env -i setsid sh -c 'echo $$ > ` + l.cfg.Worker.Cwd + `/stray; while :; do sleep 0.1; done' ` + string(l.dir) + ` &)
				echo ready; while :; do sleep 0.05; done`)
			l.wait("the trap", func() bool { return strings.Contains(l.o.log(run, 1), "ready") })
			l.pidIn(l.cfg.Worker.Cwd + "/stray")
			l.stopRun(run, 1)
			if end := l.finished(run, 1); end.ExitCode != c.code {
				t.Errorf("finished = %+v, want exit code %d\n%s", end, c.code, l.logs)
			}
			l.cleared(run, 1)
			l.idle()
		})
	}
}

func TestAContainedSessionOutlivesItsWorkerAndNotItsWrapper(t *testing.T) {
	t.Parallel()
	l := containedLab(t)
	first := l.spawnWorker()
	stays, killed := l.begin(`echo before; read line; echo "after $line"; exit 5`), l.begin(`setsid sleep 600 & echo before; wait`)
	for _, run := range []string{stays, killed} {
		l.wait("its output", func() bool { return strings.Contains(l.o.log(run, 1), "before") })
	}
	if err := first.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	record, err := l.dir.Attempt(killed, 1).ReadWrapper()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(record.Wrapper.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.wait("the kernel to end what was in the namespace", func() bool { return !alive(record.Child.PID) })
	l.start()
	l.finished(killed, 1)
	l.typeInto(stays, "again\r")
	if end := l.finished(stays, 1); end.ExitCode != 5 || !strings.Contains(l.o.log(stays, 1), "after again") {
		t.Errorf("finished = %+v, log %q", end, l.o.log(stays, 1))
	}
	l.cleared(stays, 1)
	l.cleared(killed, 1)
	l.idle()
}

func TestAHostThatCannotContainTakesNoRuns(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.cfg.Worker.Contain, l.cfg.Worker.Cwd = "bwrap", t.TempDir()
	l.opts.Cooldown = time.Hour
	missing := errors.New("bubblewrap is not installed")
	l.opts.FindBwrap = func(context.Context) (string, string, error) { return "", "", missing }
	l.start()
	l.wait("a heartbeat that says why", func() bool {
		for _, beat := range framesOf[*wire.Heartbeat](l.o) {
			if beat.Refusing != nil && strings.Contains(beat.Refusing.Message, missing.Error()) {
				return true
			}
		}
		return false
	})
	run := svc.NewRunID()
	l.dispatch(run, 1, "exit 0")
	if ack := l.answered(run); ack.Accepted || !strings.Contains(ack.Reason, missing.Error()) {
		t.Errorf("answer %+v, want a refusal that says what is missing", ack)
	}
	if got := l.o.log(run, 1); got != "" || l.dir.Attempt(run, 1).Exists() {
		t.Errorf("something was started: %q", got)
	}
}

func TestARunInAFolderOfSvcIsRefusedWhereSessionsAreContained(t *testing.T) {
	t.Parallel()
	l := containedLab(t)
	l.cfg.Worker.Cwd = string(l.dir)
	l.start()
	run := svc.NewRunID()
	l.dispatch(run, 1, "exit 0")
	l.wait("its failure", func() bool { return len(l.o.signalsOf(run, 1, svc.SignalFailed)) > 0 })
	if got := l.o.signalsOf(run, 1, svc.SignalFailed)[0].Error; !strings.Contains(got, "contained sessions do not see") {
		t.Errorf("the error is %q", got)
	}
}

func TestManagersThatComeAfterASessionBeganAreCovered(t *testing.T) {
	t.Parallel()
	run := t.TempDir()
	make := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(run, path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, paths ...string) {
		t.Helper()
		for i := range paths {
			paths[i] = filepath.Join(run, paths[i])
		}
		if got := userManagers(run, "7"); !slices.Equal(got, paths) {
			t.Errorf("%s: %q are hidden, want %q", when, got, paths)
		}
	}
	make("user/8")
	want("before the user signs in", "user")
	make("user/7")
	want("on a machine without systemd", "user/7/bus", "user/7/systemd")
	make("systemd/system")
	want("while the user's systemd starts", "user/7")
	make("user/7/systemd")
	want("before its bus", "user/7")
	make("user/7/bus")
	want("when both are there", "user/7/bus", "user/7/systemd")
}
