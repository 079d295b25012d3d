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

// site is an orchestrator with a project for runs, a client, and a follower of its event stream.
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

// worker creates a host and starts its worker.
func (s *site) worker(options proctest.WorkerOptions) *proctest.Worker {
	s.t.Helper()
	w := proctest.NewWorker(s.o, options)
	w.Start()
	return w
}

// run creates a run of a shell script. The script first writes its start to a file.
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

// noteStart returns a shell line that appends a start to startsFile: run, host, attempt and process.
func (s *site) noteStart() string {
	return fmt.Sprintf("echo $SVC_RUN_ID $(basename ${SVC_RUN_DIR%%/runs/*}) $SVC_ATTEMPT $$ >> %s\n", s.startsFile())
}

// starts returns all starts of a run's provider, each as "host attempt pid".
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

// awaitEnd waits for the journal event of the run's end, and returns the run.
func (s *site) awaitEnd(runID string) svc.Run {
	s.t.Helper()
	s.follower.AwaitRun(runID, svc.TopicRunFinished, svc.TopicRunFailed)
	return s.get(runID)
}

// relayed returns the run's log as it is stored at the orchestrator.
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

// record returns the run's log file on its host, which is the record.
func (s *site) record(w *proctest.Worker, runID string) []byte {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.Dir, "runs", runID+".log"))
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// wantSameLog compares the orchestrator's copy of a log with the record.
func (s *site) wantSameLog(w *proctest.Worker, runID string) {
	s.t.Helper()
	record := s.record(w, runID)
	if relayed := s.relayed(runID); !bytes.Equal(relayed, record) {
		s.t.Errorf("run %s: the orchestrator has %d bytes of the log, the record has %d", runID, len(relayed), len(record))
	}
}

// wantOneLife checks that a run was started once, that the journal has its start and its end once
// each, and that it ended with the given exit code.
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

// steps returns a shell loop that reports progress n times, and the messages that it reports.
func steps(n int, pause string) (script string, messages []string) {
	for i := range n {
		messages = append(messages, fmt.Sprintf("step %d", i+1))
	}
	return fmt.Sprintf("i=1; while [ $i -le %d ]; do svc exec signal progress --message \"step $i\"; echo line $i; sleep %s; i=$((i+1)); done\n",
		n, pause), messages
}

// messages returns the progress messages of a run in the journal.
func (s *site) messages(runID string) []string {
	var found []string
	for _, e := range s.follower.Of(runID, svc.TopicRunSignal) {
		if e.Text("kind") == string(svc.SignalProgress) {
			found = append(found, e.Text("message"))
		}
	}
	return found
}
