package fault

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc"
	"svc/api"
	"svc/internal/proctest"
)

// site is an orchestrator with a project to run things in, and the means to look at what happens.
type site struct {
	t        *testing.T
	lab      *proctest.Lab
	o        *proctest.Orchestrator
	client   *api.Client
	follower *proctest.Follower
	project  string
	task     string
}

func newSite(t *testing.T, options proctest.ServeOptions) *site {
	t.Helper()
	s := &site{t: t, lab: proctest.NewLab(t)}
	s.o = proctest.NewOrchestrator(s.lab, options)
	s.o.Start()
	s.client, s.follower = s.o.Client(), s.o.Follow()
	project, err := s.client.CreateProject(t.Context(), api.CreateProject{Name: "Fault", Cwd: api.Some(s.lab.Dir)})
	if err != nil {
		t.Fatal(err)
	}
	s.project = project.ID
	s.task = s.newTask()
	return s
}

func (s *site) newTask() string {
	s.t.Helper()
	item, err := s.client.CreateWorkItem(s.t.Context(), api.CreateWorkItem{ProjectID: s.project, Kind: svc.KindTask, Title: "work"})
	if err != nil {
		s.t.Fatal(err)
	}
	return item.ID
}

// worker makes a host and starts its worker.
func (s *site) worker(options proctest.WorkerOptions) *proctest.Worker {
	s.t.Helper()
	w := proctest.NewWorker(s.o, options)
	w.Start()
	return w
}

// run admits a run of a shell script. The script first notes that it was started.
func (s *site) run(script string, more ...func(*api.CreateRun)) svc.Run {
	s.t.Helper()
	body := api.CreateRun{TaskID: s.task, Provider: "sh", Prompt: api.Some(s.noteStart() + script)}
	for _, change := range more {
		change(&body)
	}
	r, err := s.client.CreateRun(s.t.Context(), body)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *site) startsFile() string { return filepath.Join(s.lab.Dir, "starts") }

// noteStart is shell that appends who was started: run, host, attempt, process.
func (s *site) noteStart() string {
	return fmt.Sprintf("echo $SVC_RUN_ID $(basename ${SVC_RUN_DIR%%/runs/*}) $SVC_ATTEMPT $$ >> %s\n", s.startsFile())
}

// starts lists how often a run's provider was started, as "host attempt pid".
func (s *site) starts(runID string) []string {
	s.t.Helper()
	text, err := os.ReadFile(s.startsFile())
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), runID+" "); ok {
			found = append(found, rest)
		}
	}
	return found
}

// get reads a run.
func (s *site) get(runID string) svc.Run {
	s.t.Helper()
	r, err := s.client.Run(s.t.Context(), runID)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// awaitEnd waits for the end of a run, as the journal tells it, and reads the run.
func (s *site) awaitEnd(runID string) svc.Run {
	s.t.Helper()
	s.follower.AwaitRun(runID, svc.TopicRunFinished, svc.TopicRunFailed)
	return s.get(runID)
}

// relayed is the run's log as the orchestrator has it.
func (s *site) relayed(runID string) []byte {
	s.t.Helper()
	body, err := s.client.Logs(s.t.Context(), runID, api.LogOptions{})
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

// record is the run's log as the worker has it: the record.
func (s *site) record(w *proctest.Worker, runID string) []byte {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.Dir, "runs", runID+".log"))
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// wantSameLog holds the orchestrator's copy of a log against the record.
func (s *site) wantSameLog(w *proctest.Worker, runID string) {
	s.t.Helper()
	record := s.record(w, runID)
	if relayed := s.relayed(runID); !bytes.Equal(relayed, record) {
		s.t.Errorf("run %s: the orchestrator has %d bytes of the log, the record has %d", runID, len(relayed), len(record))
	}
}

// wantOneLife checks that a run was started once, told its start and its end once each, and ended
// with an exit code.
func (s *site) wantOneLife(runID string, exitCode int) {
	s.t.Helper()
	if starts := s.starts(runID); len(starts) != 1 {
		s.t.Errorf("run %s was started %d times: %v", runID, len(starts), starts)
	}
	started := s.follower.Of(runID, svc.TopicRunStarted)
	ended := s.follower.Of(runID, svc.TopicRunFinished, svc.TopicRunFailed)
	if len(started) != 1 || len(ended) != 1 {
		s.t.Errorf("run %s: started %d times and ended %d times in the journal", runID, len(started), len(ended))
		return
	}
	if code := ended[0].Text("exit_code"); code != fmt.Sprint(exitCode) {
		s.t.Errorf("run %s ended with exit code %q, want %d", runID, code, exitCode)
	}
	r := s.get(runID)
	if r.Status.Active() || r.SessionEndedAt == nil || r.Attempt != 1 {
		s.t.Errorf("run %s is %s, attempt %d, session ended %v", runID, r.Status, r.Attempt, r.SessionEndedAt)
	}
}

// steps is a shell loop that reports progress n times, and what it reports.
func steps(n int, pause string) (script string, messages []string) {
	for i := range n {
		messages = append(messages, fmt.Sprintf("step %d", i+1))
	}
	return fmt.Sprintf("i=1; while [ $i -le %d ]; do svc exec signal progress --message \"step $i\"; echo line $i; sleep %s; i=$((i+1)); done\n",
		n, pause), messages
}

// messages is the progress of a run as the journal has it.
func (s *site) messages(runID string) []string {
	var found []string
	for _, e := range s.follower.Of(runID, svc.TopicRunSignal) {
		if e.Text("kind") == string(svc.SignalProgress) {
			found = append(found, e.Text("message"))
		}
	}
	return found
}
