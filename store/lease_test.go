package store_test

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/internal/pgtest"
	"svc/internal/waittest"
	"svc/store"
	"svc/store/storetest"
)

func openExclusive(t *testing.T, dsn string, counts ...*store.Counts) *store.Store {
	t.Helper()
	o := store.Options{Exclusive: true}
	if len(counts) > 0 {
		o.Counts = counts[0]
	}
	s, err := store.Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func wantRefused(t *testing.T, dsn string) {
	t.Helper()
	s, err := store.Open(t.Context(), dsn, store.Options{Exclusive: true})
	if err == nil {
		_ = s.Close()
	}
	if svc.CodeOf(err) != svc.CodeConflict || !strings.Contains(err.Error(), "pid ") {
		t.Fatalf("the second orchestrator was told: %v", err)
	}
}

// writeUntil repeats a write until it succeeds.
func writeUntil(t *testing.T, s *store.Store) {
	t.Helper()
	for deadline := time.Now().Add(waittest.Patience); ; {
		err := s.Write(t.Context(), journalOne)
		if err == nil {
			return
		}
		if svc.CodeOf(err) != svc.CodeUnavailable || time.Now().After(deadline) {
			t.Fatalf("a write of the one that serves: %v", err)
		}
	}
}

// logTo returns a log that sends to a channel when something was logged.
func logTo(told chan<- struct{}) *slog.Logger {
	return slog.New(slog.NewTextHandler(tellWriter{told}, nil))
}

type tellWriter struct{ told chan<- struct{} }

func (w tellWriter) Write(b []byte) (int, error) {
	select {
	case w.told <- struct{}{}:
	default:
	}
	return len(b), nil
}

func journalOne(tx *store.Tx) error {
	tx.Emit(svc.TopicHostCreated, map[string]any{})
	return nil
}

func TestEndedConnectionsDoNotLoseTheDatabase(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	first := openExclusive(t, dsn)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if err != nil {
		t.Fatal(err)
	}
	wantRefused(t, dsn)
	writeUntil(t, first)
}

// If a process freezes or loses its network in the middle of a unit, another
// process takes over. Later writes of the first process are refused.
func TestLateWriteOfAnOrchestratorThatWasReplacedIsRefused(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	link, through := pgtest.NewLink(t, dsn)
	var counts store.Counts
	first := openExclusive(t, through, &counts)
	writeUntil(t, first)

	held, release := make(chan struct{}), make(chan struct{})
	late := make(chan error, 1)
	id := svc.NewID()
	go func() {
		late <- first.Write(context.Background(), func(tx *store.Tx) error {
			err := tx.InsertProject(t.Context(), svc.Project{ID: id, Slug: "late", Status: svc.ProjectActive, Version: 1})
			close(held)
			<-release
			return err
		})
	}()
	<-held
	link.Set(pgtest.Swallows)
	second := openExclusive(t, dsn) // waits until the lease of the first has expired
	writeUntil(t, second)
	link.Set(pgtest.Works)
	close(release)
	select {
	case err := <-late:
		if svc.CodeOf(err) != svc.CodeUnavailable {
			t.Errorf("the late write: %v", err)
		}
	case <-time.After(waittest.Patience):
		t.Fatal("the late write does not end")
	}
	select {
	case <-first.Lost():
	case <-time.After(waittest.Patience):
		t.Fatal("the first one does not learn that it was replaced")
	}
	before := counts.Fenced.Load()
	err := first.Write(t.Context(), journalOne)
	if svc.CauseOf(err) != svc.CauseLostLock || !strings.Contains(err.Error(), "pid ") {
		t.Errorf("a write of the one that was replaced: %v", err)
	}
	if now := counts.Fenced.Load(); now != before+1 {
		t.Errorf("%d fenced writes are counted, %d before the last", now, before)
	}
	if err := first.Ready(t.Context()); svc.CauseOf(err) != svc.CauseLostLock {
		t.Errorf("the one that was replaced is ready: %v", err)
	}
	if _, err := second.Project(t.Context(), id); svc.CodeOf(err) != svc.CodeNotFound {
		t.Errorf("the late write is there: %v", err)
	}
	writeUntil(t, second)
}

// The connection breaks at every message of a group, before or after the server
// has received it. The result that the caller gets must match the database.
func TestWhatACallerLearnsOfABrokenCommitIsTrue(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	link, through := pgtest.NewLink(t, dsn)
	s := openExclusive(t, through)
	look := openStore(t, dsn)
	kept, undone := 0, 0
	for at := 1; at <= 8; at++ {
		for _, after := range []bool{false, true} {
			writeUntil(t, s) // prepares every statement, so that the cut is at the intended message
			p := svc.Project{ID: svc.NewID(), Status: svc.ProjectActive, Version: 1}
			p.Slug = p.ID
			link.CutAt(at, after)
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				tx.Emit(svc.TopicProjectCreated, map[string]any{"project_id": p.ID})
				return tx.InsertProject(t.Context(), p)
			})
			link.CutAt(0, false)
			_, found := look.Project(t.Context(), p.ID)
			switch {
			case err == nil && found != nil:
				t.Errorf("cut at %d (after: %v): answered, and it is not there", at, after)
			case err != nil && found == nil:
				t.Errorf("cut at %d (after: %v): refused with %v, and it is there", at, after, err)
			case err != nil && svc.CauseOf(err) != svc.CauseDatabaseUnreachable:
				t.Errorf("cut at %d (after: %v): %v", at, after, err)
			}
			if err == nil {
				kept++
			} else {
				undone++
			}
		}
	}
	if kept == 0 || undone == 0 {
		t.Errorf("of the cuts %d kept and %d undid the write; the test no longer reaches what it is about", kept, undone)
	}
}

func TestVanishedPostgreSQLBlocksNobodyWithoutEnd(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	link, through := pgtest.NewLink(t, dsn)
	s := openExclusive(t, through)
	writeUntil(t, s)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatalf("before: %v", err)
	}
	link.Set(pgtest.Swallows)
	for what, do := range map[string]func() error{
		"a write": func() error { return s.Write(t.Context(), journalOne) },
		"a read":  func() error { _, _, err := s.JournalEnds(t.Context()); return err },
		"a list": func() error {
			_, err := s.Runs(t.Context(), svc.RunFilter{Statuses: svc.RunStatuses}, svc.Page{Limit: 1})
			return err
		},
	} {
		ended := make(chan error, 1)
		go func() { ended <- do() }()
		select {
		case err := <-ended:
			if svc.CodeOf(err) != svc.CodeUnavailable || svc.CauseOf(err) != svc.CauseDatabaseUnreachable {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(waittest.Patience):
			t.Fatalf("%s waits without end", what)
		}
	}
	if err := s.Ready(t.Context()); svc.CauseOf(err) != svc.CauseDatabaseUnreachable {
		t.Errorf("readiness: %v", err)
	}
	link.Set(pgtest.Works)
	link.Cut()
	writeUntil(t, s)
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("after: %v", err)
	}
	link.Set(pgtest.Swallows)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case <-closed:
	case <-time.After(waittest.Patience):
		t.Fatal("the close waits without end")
	}
}

func TestOpenOfADatabaseThatIsAwayIsToldAndWaitedFor(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	link, through := pgtest.NewLink(t, dsn)
	link.Set(pgtest.Refuses)
	told := make(chan struct{}, 100)
	opened := make(chan error, 1)
	go func() {
		s, err := store.Open(t.Context(), through, store.Options{Exclusive: true, Log: logTo(told)})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	select {
	case <-told:
	case <-time.After(waittest.Patience):
		t.Fatal("nobody is told that the database is away")
	}
	link.Set(pgtest.Works)
	if err := <-opened; err != nil {
		t.Errorf("after it came back: %v", err)
	}
}
