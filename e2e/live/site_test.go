package live

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// catalog has one provider for each tui_type, which decides how a screen is captured. Each runs its
// prompt as a shell script.
const catalog = proctest.Catalog + `
[providers.full]
bin = "/bin/sh"
argv_template = ["-c", "{prompt}"]
tui_type = "full_screen"
installed_detection = ["-c", "true"]

[providers.raw]
bin = "/bin/sh"
argv_template = ["-c", "{prompt}"]
tui_type = "raw_mode"
installed_detection = ["-c", "true"]
`

// site is an orchestrator and one worker, with a task for runs.
type site struct {
	t        *testing.T
	lab      *proctest.Lab
	o        *proctest.Orchestrator
	w        *proctest.Worker
	uplink   *proctest.Proxy // between the worker and the orchestrator
	client   *api.Client
	follower *proctest.Follower
	task     string
}

func newSite(t *testing.T, options proctest.WorkerOptions) *site {
	t.Helper()
	s := &site{t: t, lab: proctest.NewLab(t)}
	s.o = proctest.NewOrchestrator(s.lab, proctest.ServeOptions{})
	s.lab.Write(filepath.Join(s.o.Dir, "providers.toml"), catalog)
	s.o.Start()
	s.client, s.follower = s.o.Client(), s.o.Follow()
	project, err := s.client.CreateProject(t.Context(), api.CreateProject{Name: "Live", Cwd: api.Some(s.lab.Dir)})
	if err != nil {
		t.Fatal(err)
	}
	item, err := s.client.CreateWorkItem(t.Context(), api.CreateWorkItem{ProjectID: project.ID, Kind: svc.KindTask, Title: "work"})
	if err != nil {
		t.Fatal(err)
	}
	s.task = item.ID
	s.uplink = proctest.NewProxy(s.o)
	options.Server = s.uplink.URL
	s.w = proctest.NewWorker(s.o, options)
	s.lab.Write(filepath.Join(s.w.Dir, "providers.toml"), catalog)
	s.w.Start()
	return s
}

// run creates a run of a shell script and waits until it has started.
func (s *site) run(script string, more ...func(*api.CreateRun)) string {
	s.t.Helper()
	body := api.CreateRun{TaskID: s.task, Provider: "sh", Prompt: api.Some(script)}
	for _, change := range more {
		change(&body)
	}
	r, err := s.client.CreateRun(s.t.Context(), body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.follower.AwaitRun(r.ID, svc.TopicRunStarted)
	return r.ID
}

// withProvider sets the provider of a run.
func withProvider(provider string) func(*api.CreateRun) {
	return func(b *api.CreateRun) { b.Provider = provider }
}

// awaitEnd waits for the journal event of the run's end, and returns the run.
func (s *site) awaitEnd(runID string) svc.Run {
	s.t.Helper()
	s.follower.AwaitRun(runID, svc.TopicRunFinished, svc.TopicRunFailed)
	r, err := s.client.Run(s.t.Context(), runID)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// relayed returns the run's log as it is stored at the orchestrator now.
func (s *site) relayed(runID string) []byte {
	s.t.Helper()
	body, err := s.client.Logs(s.t.Context(), runID, api.LogOptions{Format: "raw"})
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// awaitLog waits until the orchestrator's copy of the log contains a text.
func (s *site) awaitLog(runID, text string) {
	s.t.Helper()
	waittest.Eventually(s.t, "the log has "+text, func() bool {
		return bytes.Contains(s.relayed(runID), []byte(text))
	})
}

// wantLog compares the log at the worker and the orchestrator's copy with the bytes that the terminal
// received.
func (s *site) wantLog(runID string, want []byte) {
	s.t.Helper()
	record, err := os.ReadFile(filepath.Join(s.w.Dir, "runs", runID+".log"))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, got := range map[string][]byte{"the record": record, "the orchestrator's copy": s.relayed(runID)} {
		if !bytes.Equal(got, want) {
			s.t.Errorf("%s of run %s has %d bytes, want %d; they differ from byte %d on", name, runID, len(got), len(want), firstDifference(got, want))
		}
	}
}

// firstDifference returns the offset from which two texts differ.
func firstDifference(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// open creates the file for which a program waits.
func (s *site) open(gate string) {
	s.t.Helper()
	s.lab.Write(gate, "")
}

// restartBoth kills orchestrator and worker and starts them again.
func (s *site) restartBoth() {
	s.t.Helper()
	s.o.Kill()
	s.w.Kill()
	s.o.Start()
	s.w.Launch()
	s.w.AwaitStatus(svc.HostOnline)
}
