package cluster

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"

	"svc"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// wantLedger checks what must hold after each failure: each acknowledged record exists once, no attempt was started
// twice, all readers received the same journal, all logs are complete, no report of a worker was refused permanently,
// no host went offline, and PostgreSQL found no deadlock.
func (s *site) wantLedger() {
	s.t.Helper()
	if s.t.Failed() {
		return // the site may be in any state
	}
	s.awaitAllReady()
	s.wantCreatedOnce()
	s.wantStartedOnce()
	s.wantSameJournal()
	s.wantSameLogs()
	s.wantNothingSetAside()
	s.wantNoDeadlock()
}

func (s *site) wantCreatedOnce() {
	s.t.Helper()
	count, ids := map[string]int{}, map[string]bool{}
	for item, err := range s.client.AllWorkItems(s.t.Context(), svc.WorkItemFilter{ProjectID: s.project}) {
		if err != nil {
			s.t.Fatal(err)
		}
		count[item.Title]++
		ids[item.ID] = true
	}
	for r, err := range s.client.AllRuns(s.t.Context(), svc.RunFilter{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		count["run "+r.ID]++
		ids[r.ID] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for mark, id := range s.acked {
		if !ids[id] {
			s.t.Errorf("%s was acknowledged as %s and does not exist", mark, id)
		}
	}
	for what, n := range count {
		if n > 1 {
			s.t.Errorf("%s exists %d times", what, n)
		}
	}
	if most := len(s.acked) + len(s.unsure); len(count) > most {
		s.t.Errorf("%d records were requested, %d exist", most, len(count))
	}
}

func (s *site) wantStartedOnce() {
	s.t.Helper()
	text, err := os.ReadFile(s.starts())
	if err != nil {
		s.t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if count[line]++; count[line] > 1 {
			s.t.Errorf("started more than once: %s", line)
		}
	}
	for _, id := range s.runs {
		if count[id+" 1\n"] == 0 {
			s.t.Errorf("run %s was never started", id)
		}
	}
	if len(count) != len(s.runs) {
		s.t.Errorf("%d runs were requested, %d attempts were started", len(s.runs), len(count))
	}
}

// wantSameJournal compares the events that the readers received. Each reader checks by itself that there is no gap.
func (s *site) wantSameJournal() {
	s.t.Helper()
	longest := s.readers["balancer"].Events()
	for _, reader := range s.readers {
		if events := reader.Events(); len(events) > len(longest) {
			longest = events
		}
	}
	for name, reader := range s.readers {
		reader.Await(waittest.Patience, name+" has received the whole journal", func(events []proctest.Event) bool { return len(events) >= len(longest) })
		for i, e := range reader.Events()[:len(longest)] {
			if want := longest[i]; e.Seq != want.Seq || e.Topic != want.Topic || !reflect.DeepEqual(e.Payload, want.Payload) {
				s.t.Errorf("%s received %d %s %v, another reader %d %s %v", name, e.Seq, e.Topic, e.Payload, want.Seq, want.Topic, want.Payload)
				break
			}
		}
	}
	for _, e := range longest {
		if e.Topic == svc.TopicWorkerOffline {
			s.t.Errorf("a host went offline: %v", e.Payload)
		}
	}
}

func (s *site) wantSameLogs() {
	s.t.Helper()
	files := map[string]string{}
	s.files(func(path string) {
		if id, isLog := strings.CutSuffix(filepath.Base(path), ".log"); isLog && svc.IsID(id) {
			text, err := os.ReadFile(path)
			if err != nil {
				s.t.Fatal(err)
			}
			files[id] = string(text)
		}
	})
	for _, id := range s.runs {
		for _, o := range s.m.All {
			status, text := s.log(o, id)
			if status != 200 || text != files[id] {
				s.t.Errorf("the log of run %s by %s: %d with %d bytes, the host has %d", id, o.Name(), status, len(text), len(files[id]))
			}
		}
	}
}

// log returns the log of a run from one orchestrator. Status 0: no response; text is the error.
func (s *site) log(at *proctest.Orchestrator, runID string) (status int, text string) {
	s.t.Helper()
	answer, err := at.Get(s.t.Context(), "/api/v1/runs/"+runID+"/logs")
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(body)
}

// wantNothingSetAside checks that the worker has no files of permanently refused signals, nor of damaged attempts.
func (s *site) wantNothingSetAside() {
	s.t.Helper()
	s.files(func(path string) {
		for _, folder := range []string{"bad", "quarantine"} {
			if strings.Contains(path, string(filepath.Separator)+folder+string(filepath.Separator)) {
				s.t.Errorf("the worker has set aside %s", path)
			}
		}
	})
}

// files calls visit for each file of the worker.
func (s *site) files(visit func(path string)) {
	s.t.Helper()
	err := filepath.WalkDir(s.worker.Dir, func(path string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it was removed meanwhile
		}
		if err == nil && !entry.IsDir() {
			visit(path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) wantNoDeadlock() {
	s.t.Helper()
	n, err := deadlocks(s.t.Context(), s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	if n > 0 {
		s.t.Errorf("PostgreSQL has ended %d deadlocks", n)
	}
}

func deadlocks(ctx context.Context, dsn string) (n int, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, fmt.Errorf("connect to count deadlocks: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	err = conn.QueryRow(ctx, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&n)
	return n, err
}
