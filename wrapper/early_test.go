package wrapper

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"svc/rundir"
)

// A signal that arrives while the launch file is being taken, on a slow disk, must not end the wrapper: no
// other process can start the taken launch or report its end.
func TestASignalWhileTheLaunchFileIsTakenReachesTheProvider(t *testing.T) {
	t.Parallel()
	l := launchOf(t, t.TempDir(), "", `while :; do sleep 0.05; done`)
	a := l.AttemptFolder()
	if err := a.WriteLaunch(l); err != nil {
		t.Fatal(err)
	}
	record, err := os.ReadFile(a.LaunchPath())
	if err == nil {
		err = os.Remove(a.LaunchPath())
	}
	if err == nil {
		err = unix.Mkfifo(a.LaunchPath(), 0o600) // a reader waits for a writer
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], a.LaunchPath())
	cmd.Env = []string{"WRAPPER_TEST_RUN=1", "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	pipe, err := os.OpenFile(a.LaunchPath(), os.O_WRONLY, 0) // from now on the wrapper is taking it
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := pipe.Write(record); err != nil {
		t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if exit, err := a.ReadExit(); err != nil || exit.Code != 143 {
		t.Errorf("exit = %+v, %v; want that SIGTERM ended the provider: 143", exit, err)
	}
	if taker, err := rundir.ReadTaker(a.LaunchPath()); err != nil || taker.PID != cmd.Process.Pid {
		t.Errorf("taken by %+v, %v; want process %d", taker, err, cmd.Process.Pid)
	}
}

// It must print nothing: another session has taken its place, and the output would be in the log of that one.
func TestATerminalThatComesLateStartsNothingAndSaysNothing(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/launch-1"
	if err := os.WriteFile(path, nil, 0o600); err != nil || !rundir.RevokeLaunch(path) {
		t.Fatalf("the launch file was not revoked: %v", err)
	}
	t.Cleanup(func() { signal.Reset(append(passedOn, jobControl...)...) }) // Run catches them in this process
	var stderr strings.Builder
	if code := Run([]string{path}, IO{Stderr: &stderr}); code != exitCannotRun || stderr.String() != "" {
		t.Errorf("exit code %d, %q; want %d and silence", code, stderr.String(), exitCannotRun)
	}
	if code := Run([]string{path + "0"}, IO{Stderr: &stderr}); code != exitCannotRun || stderr.String() == "" {
		t.Errorf("without a launch file: exit code %d, %q", code, stderr.String())
	}
}
