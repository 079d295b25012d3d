package fault

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

func TestACloneOfAWorkerMakesItsHostSuspectAndDisturbsNoRun(t *testing.T) {
	t.Parallel()
	t.Run("on the same machine", func(t *testing.T) {
		t.Parallel()
		cloneDisturbsNothing(t, func(*proctest.Worker) {})
	})
	t.Run("on another machine", func(t *testing.T) {
		t.Parallel()
		if out, err := exec.Command("unshare", "--pid", "--fork", "--mount", "--mount-proc", "--", "true").CombinedOutput(); err != nil {
			t.Skipf("the namespaces that simulate another machine cannot be created here: %s", out)
		}
		cloneDisturbsNothing(t, inOtherNamespaces)
	})
}

// inOtherNamespaces starts a worker in namespaces in which it sees none of this machine's processes and sockets.
func inOtherNamespaces(w *proctest.Worker) {
	w.Within("unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--",
		"/bin/sh", "-c", `mount -t tmpfs svc-test "$XDG_RUNTIME_DIR" && exec "$@"`, "sh")
}

func cloneDisturbsNothing(t *testing.T, place func(*proctest.Worker)) {
	s := newSite(t, proctest.ServeOptions{})
	w := s.worker(proctest.WorkerOptions{})
	script, want := steps(20, "0.5")
	long := s.run(script + "exit 9")
	s.follower.AwaitRun(long.ID, svc.TopicRunStarted)
	copied := filepath.Join(s.lab.Dir, "copy")
	waittest.Eventually(t, "a copy in which no file vanished meanwhile", func() bool {
		return os.RemoveAll(copied) == nil && exec.Command("cp", "-a", w.Dir, copied).Run() == nil
	})
	clone := w.Twin("clone", copied)
	place(clone)
	clone.Launch()
	s.follower.Await(waittest.Patience, "the host is suspect", func([]proctest.Event) bool {
		return len(s.follower.Of(w.HostID, svc.TopicWorkerSuspect)) > 0
	})
	held := s.run("exit 0", func(b *api.CreateRun) { b.HostID = api.Some(w.HostID) })
	s.awaitEnd(long.ID)
	s.wantOneLife(long.ID, 9)
	if got := s.messages(long.ID); !slices.Equal(got, want) {
		t.Errorf("progress in the journal: %q", got)
	}
	s.wantSameLog(w, long.ID)
	host, err := s.client.Host(t.Context(), w.HostID)
	if err != nil || !host.InstanceSuspect {
		t.Errorf("the host is suspect: %v, %v", host.InstanceSuspect, err)
	}
	if got := s.get(held.ID); got.Status != svc.RunPending {
		t.Errorf("a suspect host was given a run: it is %s", got.Status)
	}
	if events := s.follower.Of(w.HostID, svc.TopicWorkerSuspect); len(events) != 1 {
		t.Errorf("the suspicion was journaled %d times, want once", len(events))
	}
	// The worker and its clone must not replace each other's connection in a loop.
	before := strings.Count(w.Log()+clone.Log(), "uplink open")
	proctest.Pause(3 * time.Second)
	if again := strings.Count(w.Log()+clone.Log(), "uplink open") - before; again > 2 {
		t.Errorf("the two connected %d times in three seconds", again)
	}
	clone.Kill()
	if _, err := s.client.ClearSuspect(t.Context(), w.HostID); err != nil {
		t.Fatal(err)
	}
	s.awaitEnd(held.ID)
	s.wantOneLife(held.ID, 0)
	if _, err := os.Stat(filepath.Join(w.Dir, "runs", held.ID+".log")); err != nil {
		t.Errorf("the run went to the clone: %v", err)
	}
}
