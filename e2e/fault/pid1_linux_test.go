package fault

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"svc"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// container is the command that starts a worker as the first process of a PID namespace, as in a
// container without an init process.
var container = []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--"}

func needContainer(t *testing.T) {
	t.Helper()
	if out, err := exec.Command(container[0], append(container[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("the namespaces that simulate a container cannot be created here: %s", out)
	}
}

func TestAWorkerThatIsPID1CollectsOrphansAndEndsInOrder(t *testing.T) {
	t.Parallel()
	needContainer(t)
	s := newSite(t, proctest.ServeOptions{})
	w := proctest.NewWorker(s.o, proctest.WorkerOptions{})
	w.Within(container...)
	w.Start()
	first := children(t, w.PID())[0]

	// A tmux server detaches from the process that started it, and becomes a child of PID 1.
	release := s.lab.Path("release")
	run := s.run(fmt.Sprintf("until test -e %s; do sleep 0.1; done; exit 7", release))
	s.follower.AwaitRun(run.ID, svc.TopicRunStarted)
	server := 0
	for _, pid := range children(t, first) {
		if strings.Contains(commandOf(pid), "tmux\x00-S\x00") {
			server = pid
		}
	}
	if server == 0 {
		t.Fatalf("no child of PID 1 is a tmux server: %v", children(t, first))
	}
	s.lab.Write(release, "")
	s.awaitEnd(run.ID)
	s.wantOneLife(run.ID, 7) // the exit status of the provider reached its wrapper; PID 1 did not collect it
	waittest.Eventually(t, "the ended tmux server is collected", func() bool {
		_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(server)))
		return errors.Is(err, os.ErrNotExist)
	})

	if err := syscall.Kill(first, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(waittest.Patience); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	if !strings.Contains(w.Log(), "worker ends") {
		t.Error("the worker did not shut down cleanly")
	}
}

func TestPID1PassesOnTheExitStatus(t *testing.T) {
	t.Parallel()
	needContainer(t)
	for command, want := range map[string]int{"version": 0, "no-such-command": 2} {
		cmd := exec.CommandContext(t.Context(), container[0], append(container[1:], proctest.Binary(t), command)...)
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit status %d (%v), want %d\n%s", command, got, err, want, out)
		}
	}
}

func TestPID1EndsWithTheStatusOfAKilledWorker(t *testing.T) {
	t.Parallel()
	needContainer(t)
	s := newSite(t, proctest.ServeOptions{})
	w := proctest.NewWorker(s.o, proctest.WorkerOptions{})
	w.Within(container...)
	w.Start()
	work := children(t, children(t, w.PID())[0])
	if len(work) != 1 {
		t.Fatalf("PID 1 has the children %v, want one: the worker", work)
	}
	if err := syscall.Kill(work[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := w.Wait(waittest.Patience); !errors.As(err, &exit) || exit.ExitCode() != 137 {
		t.Errorf("PID 1 ended with %v, want 128 and the number of SIGKILL", err)
	}
}

// children returns the child processes of pid, including those that have ended and were not collected.
func children(t *testing.T, pid int) (found []int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("process %d is gone: %v", pid, err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // a thread may have ended
		for _, word := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, child)
		}
	}
	return found
}

// commandOf returns the arguments of a process, separated by zero bytes; empty if the process has ended.
func commandOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(text)
}
