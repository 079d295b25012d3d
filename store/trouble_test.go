package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/internal/pgtest"
)

// Every write and the readiness report a full disk until there is space again.
// Reads continue to work.
func TestFullDiskIsTold(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	big := make([]byte, 1<<20)
	for i := range big {
		big[i] = 'x'
	}
	fill := func() error {
		return s.Write(t.Context(), func(tx *Tx) error {
			id := svc.NewID()
			return tx.InsertProject(t.Context(), svc.Project{ID: id, Slug: id, Description: string(big), Status: svc.ProjectActive, Version: 1})
		})
	}
	if err := fill(); err != nil {
		t.Fatal(err)
	}
	// SQLite returns the same error for its own limit of pages as for a full disk.
	pages := func(n int) {
		w := s.writer
		err := s.Write(t.Context(), func(*Tx) error {
			_, err := w.conn.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", n))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pages(1) // SQLite raises it to the current number of pages: none can be added
	for range 3 {
		if err := fill(); svc.CodeOf(err) != svc.CodeUnavailable || svc.CauseOf(err) != svc.CauseDiskFull {
			t.Fatalf("a write to a full disk: %v", err)
		}
	}
	if _, _, err := s.JournalEnds(t.Context()); err != nil {
		t.Errorf("a read beside a full disk: %v", err)
	}
	pages(1 << 30)
	if err := fill(); err != nil {
		t.Errorf("a write after room was made: %v", err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("readiness after room was made: %v", err)
	}
}

// The error for a file that is not a database, or is damaged, says how to fix it.
func TestADamagedFileIsTold(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "svc.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("no database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), "sqlite:"+file, Options{})
	if svc.CauseOf(err) != svc.CauseDatabaseDamaged || !strings.Contains(err.Error(), "svc restore") {
		t.Errorf("it was told: %v", err)
	}
}

func TestTroublesOfPostgreSQLHaveTheirCauses(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), pgtest.Start(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.exec(t.Context(), `CREATE FUNCTION fail(code TEXT) RETURNS BIGINT LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = code; END $$`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]svc.Cause{
		"53100": svc.CauseDiskFull, "58030": svc.CauseDiskError, "53200": svc.CauseDatabaseBusy, "53300": svc.CauseDatabaseBusy,
		"57P01": svc.CauseDatabaseUnreachable, "57P03": svc.CauseDatabaseUnreachable, "08006": svc.CauseDatabaseUnreachable,
		"40001": svc.CauseDatabaseBusy, "40P01": svc.CauseDatabaseBusy, "55P03": svc.CauseDatabaseBusy, "57014": svc.CauseDatabaseBusy,
		"25006": svc.CauseDatabaseReadOnly,
	} {
		var n int64
		if err := s.q.QueryRowContext(t.Context(), "SELECT fail($1)", code).Scan(&n); svc.CauseOf(err) != want {
			t.Errorf("a read that meets %s: %v, want %s", code, err, want)
		}
		if _, err := collect(t.Context(), s.q, scanEvent, "SELECT fail($1), '', '', 0", code); svc.CauseOf(err) != want {
			t.Errorf("a list that meets %s: %v, want %s", code, err, want)
		}
		err := s.Write(t.Context(), func(tx *Tx) error {
			return tx.q.QueryRowContext(t.Context(), "SELECT fail($1)", code).Scan(&n)
		})
		if svc.CodeOf(err) != svc.CodeUnavailable || svc.CauseOf(err) != want {
			t.Errorf("a unit that meets %s: %v, want %s", code, err, want)
		}
	}
}

// Readiness is proved by a real commit, at most one each second.
func TestReadinessWritesAtMostOnceASecond(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	count := func() (n int64) {
		if err := s.read.QueryRowContext(t.Context(), "SELECT commits FROM journal").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	began := s.writer.began
	if err := s.Write(t.Context(), func(*Tx) error { return nil }); err != nil { // a unit without changes proves nothing
		t.Fatal(err)
	}
	for range 200 {
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	most := int64(time.Since(began)/readyAge) + 1
	if n := count() - before; n < 1 || n > most {
		t.Errorf("200 questions made %d commits, want between 1 and %d", n, most)
	}
}
