package fault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// smallDisk mounts a small file system as a directory of the lab.
func smallDisk(t *testing.T, lab *proctest.Lab, name, size string) string {
	t.Helper()
	dir := filepath.Join(lab.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("svc-test", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		// The unmount is lazy: the lab's processes that use the disk end after it.
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill writes to a file until the disk is full, and returns the file's path.
func fill(t *testing.T, dir, name string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for size := 1 << 20; size > 0; {
		if _, err = file.Write(bytes.Repeat([]byte("x"), size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	return path
}

func TestAFullDiskCostsNothingThatWasAcceptedAndIsTold(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{Config: "[runs]\nack_timeout = \"1s\"\n"})
	dir := smallDisk(t, s.lab, "host", "4m")
	proxy := proctest.NewProxy(s.o)
	w := s.worker(proctest.WorkerOptions{Server: proxy.URL, Dir: dir})
	gate := func(name string) string {
		return "until [ -e " + filepath.Join(s.lab.Dir, name) + " ]; do sleep 0.05; done\n"
	}
	open := func(name string) { s.lab.Write(filepath.Join(s.lab.Dir, name), "") }
	report := func(message string) string {
		return "svc exec signal progress --message " + message + " && touch " + s.lab.Dir + "/said-" + message + "\n"
	}
	said := func(message string) {
		t.Helper()
		waittest.Eventually(t, message+" was reported", func() bool {
			_, err := os.Stat(filepath.Join(s.lab.Dir, "said-"+message))
			return err == nil
		})
	}
	r := s.run(gate("cut") + report("one") + report("two") + gate("full") + report("lost") + gate("end") + "exit 4")
	s.follower.AwaitRun(r.ID, svc.TopicRunStarted)
	proxy.Set(proctest.Weather{Refuse: true})
	proxy.Cut()
	open("cut")
	said("two") // both are in the spool: accepted
	ballast := fill(t, dir, "ballast")
	open("full")
	said("lost") // the report could not be stored, but the run continues
	open("end")
	s.lab.WantProcesses(0, "exec run "+dir) // the wrapper can end, too
	proxy.Set(proctest.Weather{})
	// What was accepted is delivered although the disk is still full.
	ended := s.follower.AwaitRun(r.ID, svc.TopicRunFinished, svc.TopicRunFailed)
	if ended.Text("exit_code") != "4" {
		t.Errorf("the end: %v", ended.Payload)
	}
	if got, want := s.messages(r.ID), []string{"one", "two"}; !slices.Equal(got, want) {
		t.Errorf("progress in the journal: %q, want %q", got, want)
	}
	waittest.Eventually(t, "the attempt's folder is removed", func() bool {
		_, err := os.Stat(filepath.Join(dir, "runs", r.ID+".1"))
		return os.IsNotExist(err)
	})
	more := fill(t, dir, "more ballast") // uses the space of the removed attempt
	refused := s.run("true")
	e := s.follower.AwaitRun(refused.ID, svc.TopicRunRequeued)
	if !strings.Contains(e.Text("reason"), "no space left") {
		t.Errorf("the host refused a run because of %q", e.Text("reason"))
	}
	if log := w.Log(); !strings.Contains(log, "no space left") {
		t.Error("the worker's log does not report the full disk")
	}
	for _, path := range []string{ballast, more} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	after := s.run("echo fine")
	s.awaitEnd(after.ID)
	s.wantOneLife(after.ID, 0)
	s.wantSameLog(w, after.ID)
	if text := string(s.relayed(r.ID)); !strings.Contains(text, "no space left") {
		t.Errorf("the run's log does not report the full disk: %q", text)
	}
}

func TestAFullDiskOfTheDatabaseIsToldToWhoeverWritesOrAsks(t *testing.T) {
	t.Parallel()
	lab := proctest.NewLab(t)
	dir := smallDisk(t, lab, "database", "4m")
	o := proctest.NewOrchestrator(lab, proctest.ServeOptions{Database: "sqlite:" + filepath.Join(dir, "svc.db")})
	o.Start()
	client := o.Client()
	ballast := fill(t, dir, "ballast")
	write := func(n int) error {
		_, err := client.CreateProject(t.Context(), api.CreateProject{Name: fmt.Sprintf("project %d", n), Description: api.Some(strings.Repeat("x", 10_000))})
		return err
	}
	var err error
	for n := 0; err == nil && n < 1000; n++ { // until the free space inside the database's files is used up
		err = write(n)
	}
	if svc.CauseOf(err) != svc.CauseDiskFull {
		t.Fatalf("a write to a full disk: %v", err)
	}
	var server *api.ServerError
	if !errors.As(err, &server) || server.RequestID == "" {
		t.Errorf("the refusal has no request id: %v", err)
	}
	for range 3 { // a small write that still succeeds must not make the orchestrator ready
		answer, err := http.Get(o.URL + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), string(svc.CauseDiskFull)) {
			t.Errorf("/readyz with a full disk: %d %s", answer.StatusCode, body)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	waittest.Eventually(t, "writes succeed again", func() bool { return write(5000) == nil })
	o.AwaitReady()
}
