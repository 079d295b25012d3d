package fault

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// copyTree copies a folder with all attributes.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if said, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v\n%s", from, err, said)
	}
}

func removeAll(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}

// askLog requests a run's log by plain HTTP. incomplete is the header Svc-Log-Incomplete.
func (s *site) askLog(runID string) (status int, body []byte, incomplete string) {
	s.t.Helper()
	answer, err := s.o.Get(s.t.Context(), "/api/v1/runs/"+runID+"/logs")
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, body, answer.Header.Get("Svc-Log-Incomplete")
}

func TestALogIsWholeWhenItsEndIsSeenThoughTheOrchestratorWasFrozen(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	w := s.worker(proctest.WorkerOptions{Heartbeat: "20s"})
	mark := s.lab.Path("go")
	r := s.run("echo begun; while ! test -e " + mark + "; do sleep 0.05; done; i=0; while test $i -lt 400; do i=$((i+1)); echo line $i of the end; done; exit 4")
	s.follower.AwaitRun(r.ID, svc.TopicRunStarted)
	s.o.Signal(syscall.SIGSTOP)
	s.lab.Write(mark, "")
	waittest.Eventually(t, "the run has ended on its host", func() bool {
		return bytes.Contains(s.record(w, r.ID), []byte("line 400 of the end"))
	})
	proctest.Pause(12 * time.Second) // longer than the report of an end waits until the log is relayed
	s.o.Signal(syscall.SIGCONT)
	s.follower.AwaitRun(r.ID, svc.TopicRunFinished)
	if got, want := s.relayed(r.ID), s.record(w, r.ID); !bytes.Equal(got, want) {
		t.Errorf("the log has %d of %d bytes when run.finished arrives", len(got), len(want))
	}
	told := s.journaledBytes(r.ID)
	if want := len(s.record(w, r.ID)); told != want {
		t.Errorf("the journal counts %d bytes, the log has %d", told, want)
	}
}

func TestARestoredBackupLearnsFromTheHostWhatItMissed(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	w := s.worker(proctest.WorkerOptions{})
	before := s.run("echo said before the backup; exit 0")
	s.awaitEnd(before.ID)
	mark := s.lab.Path("go")
	wait := "while ! test -e " + mark + "; do sleep 0.05; done; "
	ended := s.run("echo begun; " + wait + "echo said after the backup; exit 6")
	stopped := s.run("echo begun; " + wait + "sleep 600")
	for _, r := range []svc.Run{ended, stopped} {
		s.follower.AwaitRun(r.ID, svc.TopicRunStarted)
		s.follower.AwaitRun(r.ID, svc.TopicRunOutput)
	}
	if _, err := s.client.StopRun(t.Context(), stopped.ID); err != nil {
		t.Fatal(err)
	}
	s.o.Kill() // the worker may have received the stop, or not
	backup := s.lab.Path("backup")
	copyTree(t, s.o.Dir, backup)
	s.o.Start()
	s.lab.Write(mark, "")
	s.awaitEnd(ended.ID)
	waittest.Eventually(t, "the stopped session has ended", func() bool { return s.get(stopped.ID).SessionEndedAt != nil })
	waittest.Eventually(t, "the host has removed the folders of the attempts", func() bool {
		left, err := filepath.Glob(filepath.Join(w.Dir, "runs", "*.1"))
		return err == nil && len(left) == 0
	})
	s.follower.Close() // the restore removes events that it has received
	s.o.Stop()
	removeAll(t, s.o.Dir)
	copyTree(t, backup, s.o.Dir)
	removeAll(t, filepath.Join(s.o.Dir, "relay", before.ID)) // its log was not in the backup
	s.o.Start()
	w.AwaitStatus(svc.HostOnline)
	waittest.Eventually(t, "the restored orchestrator receives both ends", func() bool {
		return s.get(ended.ID).Status == svc.RunFailed && s.get(stopped.ID).SessionEndedAt != nil
	})
	if code := s.get(ended.ID).ExitCode; code == nil || *code != 6 {
		t.Errorf("exit code %v, want 6, which the host has recorded", code)
	}
	for _, r := range []svc.Run{before, ended, stopped} {
		s.wantSameLog(w, r.ID)
	}
	removeAll(t, filepath.Join(s.o.Dir, "relay", before.ID), filepath.Join(w.Dir, "runs", before.ID+".log"))
	if status, body, _ := s.askLog(before.ID); status != http.StatusNotFound || !strings.Contains(string(body), "log_gone") {
		t.Errorf("the request for a removed log is answered with %d %s", status, body)
	}
	cli := exec.Command(proctest.Binary(t), "run", "logs", before.ID)
	cli.Env = append(os.Environ(), "SVC_DATA_DIR="+s.o.Dir)
	if said, err := cli.CombinedOutput(); err == nil || !strings.Contains(string(said), "is gone") {
		t.Errorf("svc run logs ends with %v and prints %q", err, said)
	}
}

func TestARunOfAHostThatWasWipedIsLost(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{OfflineAfter: "4s"})
	w := s.worker(proctest.WorkerOptions{})
	r := s.run("echo begun; sleep 600")
	s.follower.AwaitRun(r.ID, svc.TopicRunOutput)
	w.Kill()
	for _, p := range s.lab.Processes() {
		if strings.Contains(p.Command, "exec run") { // the tmux server and the wrapper, so that neither can report the end
			kill(t, p)
		}
	}
	removeAll(t, filepath.Join(w.Dir, "runs"), filepath.Join(w.Dir, "spool"), filepath.Join(w.Dir, "instance_id"))
	w.AwaitStatus(svc.HostOffline)
	w.Start()
	end := s.follower.AwaitRun(r.ID, svc.TopicRunFinished)
	if end.Text("reason") != "session_lost" || end.Text("exit_code") != "-1" {
		t.Errorf("ended as %v, want session_lost", end.Payload)
	}
	again := s.run("exit 0")
	s.awaitEnd(again.ID)
}
