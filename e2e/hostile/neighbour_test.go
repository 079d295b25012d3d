package hostile

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// mostMemory is by how many bytes a hostile host may increase the orchestrator's memory.
const mostMemory = 100 << 20

// slowest is how long a request about the neighbour's run may take during the
// attack. It is long, because a loaded machine is slow.
const slowest = 15 * time.Second

func TestAHostileWorkerIsNotNoticedByItsNeighbour(t *testing.T) {
	t.Parallel()
	lab := proctest.NewLab(t)
	o := proctest.NewOrchestrator(lab, proctest.ServeOptions{})
	o.Start()
	client := o.Client()
	good := proctest.NewWorker(o, proctest.WorkerOptions{Name: "good"})
	good.Start()
	repo := newRepository(t, lab)
	run := newRun(t, client, good.HostID, repo, "echo change >change; echo I am here; read line; echo $line")
	waittest.Eventually(t, "the neighbour's run shows its screen and its log", func() bool {
		pane, err := client.Pane(t.Context(), run.ID)
		return err == nil && strings.Contains(pane.Capture, "I am here") && strings.Contains(logOf(t, client, run.ID), "I am here")
	})
	run, err := client.Run(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	h := newHostile(t, o, client)
	own := newRun(t, client, h.host, repo, "none")
	workspace := h.awaitWorkspace(t.Context(), client, own)
	log, screen := logOf(t, client, run.ID), screenOf(t, client, run.ID)

	before := residentOf(t, o.PID(), "VmRSS")
	watched := measureLatency(t, client, run.ID)
	h.forge(t.Context(), run)
	h.flood(t.Context(), own)
	h.floodWorkspace(t.Context(), workspace)
	took := watched()
	grown := residentOf(t, o.PID(), "VmHWM") - before

	if took > slowest {
		t.Errorf("a request of the neighbour took %s", took)
	}
	if !raceDetector && grown > mostMemory {
		t.Errorf("the orchestrator's memory grew by %d MiB", grown>>20)
	}
	t.Logf("the neighbour's slowest request took %s; the memory grew by %d MiB", took.Round(time.Millisecond), grown>>20)
	got, err := client.Run(t.Context(), run.ID)
	forged := func(text *string) bool { return text != nil && strings.Contains(*text, "forged") } // its own worker may set these members too
	if err != nil || got.Status != svc.RunRunning || forged(got.Hint) || forged(got.ProgressMessage) || forged(got.Error) || got.Result != nil || got.SessionEndedAt != nil {
		t.Errorf("the neighbour's run is %+v (%v)", got, err)
	}
	if now := logOf(t, client, run.ID); now != log {
		t.Errorf("the neighbour's log is %q, was %q", now, log)
	}
	if now := screenOf(t, client, run.ID); now != screen {
		t.Errorf("the neighbour's screen is %q, was %q", now, screen)
	}
	if host, err := client.Host(t.Context(), good.HostID); err != nil || host.Status != svc.HostOnline || host.InstanceSuspect {
		t.Errorf("the neighbour is %s, suspect %v (%v)", host.Status, host.InstanceSuspect, err)
	}
	if err := client.SendKeys(t.Context(), run.ID, []string{"done", "Enter"}); err != nil {
		t.Errorf("type into the neighbour's run: %v", err)
	}
	awaitExited(t, client, run.ID, "the neighbour's run ends well")
	land(t, client, *run.WorkspaceID)
}

func newHostile(t *testing.T, o *proctest.Orchestrator, client *api.Client) *hostile {
	t.Helper()
	host, err := client.CreateHost(t.Context(), api.CreateHost{Name: "evil"})
	if err != nil {
		t.Fatal(err)
	}
	h := newWorker(t, o, client, host, svc.NewID())
	if status := h.register(t.Context(), h.instance); status != http.StatusOK {
		t.Fatalf("register: %d", status)
	}
	return h
}

func newRun(t *testing.T, client *api.Client, host, repo, prompt string) svc.Run {
	t.Helper()
	p, err := client.CreateProject(t.Context(), api.CreateProject{Name: "Neighbours", Source: api.Source{Repo: api.Some(repo)}})
	if err != nil {
		t.Fatal(err)
	}
	task, err := client.CreateWorkItem(t.Context(), api.CreateWorkItem{ProjectID: p.ID, Kind: svc.KindTask, Title: "Task"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := client.CreateRun(t.Context(), api.CreateRun{TaskID: task.ID, Provider: "sh", Prompt: api.Some(prompt), HostID: api.Some(host)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func awaitExited(t *testing.T, client *api.Client, runID, what string) {
	t.Helper()
	waittest.Eventually(t, what, func() bool {
		r, err := client.Run(t.Context(), runID)
		return err == nil && r.Status == svc.RunExited
	})
}

// measureLatency requests the neighbour's run again and again. stop ends this, and
// returns how long the slowest request took.
func measureLatency(t *testing.T, client *api.Client, runID string) (stop func() time.Duration) {
	ctx, cancel := context.WithCancel(t.Context())
	slow := make(chan time.Duration, 1)
	go func() {
		var most time.Duration
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			began := time.Now()
			if _, err := client.Run(ctx, runID); err != nil && ctx.Err() == nil {
				t.Errorf("the neighbour's run cannot be read: %v", err)
			}
			most = max(most, time.Since(began))
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		slow <- most
	}()
	return func() time.Duration {
		cancel()
		return <-slow
	}
}

func logOf(t *testing.T, client *api.Client, runID string) string {
	t.Helper()
	r, err := client.Logs(t.Context(), runID, api.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func screenOf(t *testing.T, client *api.Client, runID string) string {
	t.Helper()
	pane, err := client.Pane(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	return pane.Capture
}

// residentOf returns a member of /proc/PID/status in bytes, such as VmRSS; 0 if
// the system has no such file.
func residentOf(t *testing.T, pid int, field string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	return 0
}
