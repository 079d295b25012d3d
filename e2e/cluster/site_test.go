package cluster

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/pgtest"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// site is several orchestrators on one database, a host whose worker connects through the balancer, a project for runs,
// and a reader of the journal at each orchestrator and at the balancer. Several subtests use it one after the other:
// see in.
type site struct {
	t       *testing.T
	lab     *proctest.Lab
	m       *proctest.Members
	dsn     string         // of the database, without the links
	links   []*pgtest.Link // the proxy of each orchestrator to the database
	client  *api.Client    // through the balancer
	readers map[string]*proctest.Follower
	worker  *proctest.Worker
	project string
	task    string

	mu     sync.Mutex        // guards the rest
	acked  map[string]string // acknowledged records: their id by mark
	unsure map[string]bool   // requested and not acknowledged, by mark
	runs   []string
}

// newSite starts n orchestrators. sections are added to their config.toml.
func newSite(t *testing.T, n int, dsn string, sections ...string) *site {
	t.Helper()
	s := &site{t: t, lab: proctest.NewLab(t), dsn: dsn, readers: map[string]*proctest.Follower{}, acked: map[string]string{}, unsure: map[string]bool{}}
	s.m = proctest.NewMembers(s.lab, n, func(int) string {
		link, through := pgtest.NewLink(t, dsn)
		s.links = append(s.links, link)
		return through
	}, proctest.ServeOptions{OfflineAfter: "30s", Config: strings.Join(sections, "\n")})
	s.m.Start()
	s.client = s.m.Front.Client()
	s.readers["balancer"] = s.m.Front.Follow()
	for _, o := range s.m.All {
		s.readers[o.Name()] = o.Follow()
	}
	project, err := s.client.CreateProject(t.Context(), api.CreateProject{Name: "Cluster", Cwd: api.Some(s.lab.Dir)})
	if err != nil {
		t.Fatal(err)
	}
	item, err := s.client.CreateWorkItem(t.Context(), api.CreateWorkItem{ProjectID: project.ID, Kind: svc.KindTask, Title: "work"})
	if err != nil {
		t.Fatal(err)
	}
	s.project, s.task = project.ID, item.ID
	s.acked["work"] = item.ID
	s.worker = proctest.NewWorker(s.m.Front, proctest.WorkerOptions{})
	s.worker.Start()
	return s
}

// in runs a part of a test as a subtest that uses the site, and reports errors there. At the end it calls wantLedger.
func (s *site) in(t *testing.T, name string, part func()) bool {
	t.Helper()
	return t.Run(name, func(inner *testing.T) {
		outer, lab := s.t, s.lab.TB
		s.t, s.lab.TB = inner, inner
		defer func() { s.t, s.lab.TB = outer, lab }()
		part()
		s.wantLedger()
	})
}

func (s *site) index(o *proctest.Orchestrator) int {
	for i, one := range s.m.All {
		if one == o {
			return i
		}
	}
	s.t.Fatalf("%s does not belong to this site", o.Name())
	return -1
}

// create repeats a request under an idempotency key until it is acknowledged, and stores the id of the new record under
// mark.
func (s *site) create(mark string, ask func(context.Context) (id string, err error)) string {
	s.t.Helper()
	s.note(mark, "")
	var id string
	waittest.Eventually(s.t, mark+" is acknowledged", func() bool {
		ctx, cancel := context.WithTimeout(api.WithIdempotencyKey(s.t.Context(), mark), 10*time.Second)
		defer cancel()
		var err error
		if id, err = ask(ctx); err != nil && !transient(err) {
			s.t.Errorf("%s is answered with %v", mark, err)
		}
		return err == nil
	})
	s.note(mark, id)
	return id
}

// note stores that a record was requested, or, with an id, that it was acknowledged.
func (s *site) note(mark, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" {
		s.unsure[mark] = true
		return
	}
	delete(s.unsure, mark)
	s.acked[mark] = id
}

// acknowledged returns the id of an acknowledged record; empty: it was not acknowledged.
func (s *site) acknowledged(mark string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked[mark]
}

// run creates a run of a shell script through the balancer. The script first writes its start to a file.
func (s *site) run(mark, script string) string {
	s.t.Helper()
	return s.runOf(mark, s.task, script)
}

// runOf is run for a given task.
func (s *site) runOf(mark, task, script string) string {
	s.t.Helper()
	body := api.CreateRun{TaskID: task, Provider: "sh",
		Prompt: api.Some(fmt.Sprintf("echo $SVC_RUN_ID $SVC_ATTEMPT >> %s\n", s.starts()) + script)}
	id := s.create(mark, func(ctx context.Context) (string, error) {
		r, err := s.client.CreateRun(ctx, body)
		return r.ID, err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, id)
	return id
}

func (s *site) starts() string { return filepath.Join(s.lab.Dir, "starts") }

// await waits until any reader has received an event of a run, and returns the event.
func (s *site) await(runID string, topics ...svc.Topic) (found proctest.Event) {
	s.t.Helper()
	waittest.Eventually(s.t, fmt.Sprintf("run %s has %v", runID, topics), func() bool {
		for _, reader := range s.readers {
			if of := reader.Of(runID, topics...); len(of) > 0 {
				found = of[0]
				return true
			}
		}
		return false
	})
	return found
}

// awaitEnd waits for the end of a run. Its first attempt must end with run.finished.
func (s *site) awaitEnd(runID string) {
	s.t.Helper()
	end := s.await(runID, svc.TopicRunFinished, svc.TopicRunFailed, svc.TopicRunRequeued)
	if end.Topic != svc.TopicRunFinished || end.Text("attempt") != "1" {
		s.t.Errorf("run %s ended as %s %v", runID, end.Topic, end.Payload)
	}
}

// answer types a line into a run's session through the balancer, once.
func (s *site) answer(mark, runID, line string) {
	s.t.Helper()
	waittest.Eventually(s.t, "the keys are accepted", func() bool {
		ctx, cancel := context.WithTimeout(api.WithIdempotencyKey(s.t.Context(), mark), 10*time.Second)
		defer cancel()
		err := s.client.SendKeys(ctx, runID, []string{"text:" + line, "Enter"})
		later := transient(err) || svc.CodeOf(err) == svc.CodeHostNotConnected || svc.CodeOf(err) == svc.CodeOutcomeUnknown // the outcome is stored under the key, and a repetition returns it
		if err != nil && !later {
			s.t.Errorf("keys are answered with %v", err)
		}
		return err == nil
	})
}

// state returns the status and the error code of an orchestrator's /readyz.
func state(o *proctest.Orchestrator) (status int, code svc.Code) {
	return ask(o, "/readyz")
}

// ask requests a path from one orchestrator directly. Status 0: no response.
func ask(o *proctest.Orchestrator, path string) (status int, code svc.Code) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	answer, err := o.Get(ctx, path)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode, codeOf(answer)
}

// awaitState waits until an orchestrator's /readyz returns a status, and returns how long that took.
func (s *site) awaitState(o *proctest.Orchestrator, want int) time.Duration {
	s.t.Helper()
	began := time.Now()
	waittest.Eventually(s.t, fmt.Sprintf("/readyz of %s answers %d", o.Name(), want), func() bool {
		status, _ := state(o)
		return status == want
	})
	return time.Since(began)
}

// awaitAllReady waits until all orchestrators are ready.
func (s *site) awaitAllReady() {
	s.t.Helper()
	s.awaitAnswers("/readyz", http.StatusOK, "", s.m.All...)
}

// awaitAnswers waits until all given orchestrators answer with this status and code at the same time.
func (s *site) awaitAnswers(path string, want int, code svc.Code, all ...*proctest.Orchestrator) {
	s.t.Helper()
	waittest.Eventually(s.t, fmt.Sprintf("all answer %s with %d %s", path, want, code), func() bool {
		var asked sync.WaitGroup
		var fit atomic.Int32
		for _, o := range all {
			asked.Go(func() {
				if status, got := ask(o, path); status == want && got == code {
					fit.Add(1)
				}
			})
		}
		asked.Wait()
		return int(fit.Load()) == len(all)
	})
}

// logDuration logs a duration. In the long form of the tests it fails if the duration is longer than the limit.
func (s *site) logDuration(what string, d, limit time.Duration) {
	s.t.Helper()
	s.t.Logf("%s: %v (promised: %v)", what, d.Round(10*time.Millisecond), limit)
	if proctest.Long() && d > limit {
		s.t.Errorf("%s took %v, promised are %v", what, d, limit)
	}
}
