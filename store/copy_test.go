package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc"
	"svc/internal/pgtest"
	"svc/store"
	"svc/store/storetest"
)

// filled creates a database with rows in every table, and closes it.
func filled(t *testing.T, dsn string) string {
	t.Helper()
	s := openStore(t, dsn)
	storetest.Fill(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dsn
}

func newFile(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "svc.db") }

func copied(t *testing.T, from, to string) []store.TableSum {
	t.Helper()
	sums, err := store.Copy(t.Context(), from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// A copy from SQLite to PostgreSQL and back has the same rows. Events in a copy
// continue with the next seq of the original.
func TestACopyHoldsEverythingOnTheOtherEngine(t *testing.T) {
	t.Parallel()
	from, between, to := filled(t, newFile(t)), pgtest.Start(t), newFile(t)
	there, back := copied(t, from, between), copied(t, between, to)
	if !slices.Equal(there[1:], back[1:]) { // without the journal's row: reading PostgreSQL has raised its epoch
		t.Errorf("there: %v\nback:  %v", there, back)
	}
	for _, sum := range there {
		if sum.Rows == 0 && sum.Table != "commits" { // on SQLite, nothing is written to commits
			t.Errorf("nothing was in table %s: the copy of it is not tested", sum.Table)
		}
	}
	original := openStore(t, from)
	for _, dsn := range []string{between, to} {
		s := openStore(t, dsn)
		want, err := original.EventsAfter(t.Context(), 0, 1<<20)
		got, err2 := s.EventsAfter(t.Context(), 0, 1<<20)
		if err != nil || err2 != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s has the events %v (%v)\nwant %v (%v)", dsn, got, err2, want, err)
		}
		emit(t, s)
		if head, _, err := s.JournalEnds(t.Context()); err != nil || head != int64(len(want))+1 {
			t.Errorf("after one more event the head is %d (%v), want %d", head, err, len(want)+1)
		}
	}
	if info, err := os.Stat(strings.TrimPrefix(to, "sqlite:")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy is %v (%v)", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(strings.TrimPrefix(to, "sqlite:")), ".*")); len(left) != 0 {
		t.Errorf("the copy left %v", left)
	}
}

func TestACopyIsRefusedWhereItWouldLoseSomething(t *testing.T) {
	t.Parallel()
	whole := filled(t, newFile(t))
	refused := func(what, from, to string, code svc.Code, says string) {
		t.Helper()
		_, err := store.Copy(t.Context(), from, to, nil)
		if svc.CodeOf(err) != code || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s with %q", what, err, code, says)
		}
	}
	served := newFile(t)
	openStore(t, served)
	refused("a file that is served", served, newFile(t), svc.CodeConflict, "another orchestrator")
	inUse := pgtest.Start(t)
	holder, err := store.Open(t.Context(), inUse, store.Options{Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Close() }()
	refused("a PostgreSQL that is served", inUse, newFile(t), svc.CodeConflict, "another orchestrator")
	refused("to a PostgreSQL that is served", whole, inUse, svc.CodeConflict, "another orchestrator")
	refused("to a file that exists", whole, served, svc.CodeConflict, "exists")
	full := filled(t, pgtest.Start(t))
	refused("to a PostgreSQL that is full", whole, full, svc.CodeConflict, "not empty")
	refused("from nothing", newFile(t), newFile(t), svc.CodeNotFound, "no database")
	empty := pgtest.Start(t)
	refused("from an empty PostgreSQL", empty, newFile(t), svc.CodeNotFound, "nothing of svc")
	refused("to what is no database", whole, "mysql://x", svc.CodeValidation, "postgres://")

	change(t, "sqlite", strings.TrimPrefix(whole, "sqlite:"), "UPDATE runs SET error = 'a' || char(0) WHERE id = (SELECT min(id) FROM runs)")
	refused("with a NUL", whole, empty, svc.CodeConflict, "column error of the row")
	change(t, "sqlite", strings.TrimPrefix(whole, "sqlite:"), "UPDATE runs SET error = NULL")
	copied(t, whole, empty) // the refused copies have left nothing in the target

	change(t, "sqlite", strings.TrimPrefix(whole, "sqlite:"), "CREATE TABLE notes (id TEXT)")
	refused("with a table of somebody else", whole, newFile(t), svc.CodeConflict, "table notes")
	change(t, "sqlite", strings.TrimPrefix(whole, "sqlite:"), "DROP TABLE notes; INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	refused("of a newer svc", whole, newFile(t), svc.CodeConflict, "schema 9999")
}

// The target is read back and compared before the commit.
func TestACopyThatDiffersIsNoticed(t *testing.T) {
	t.Parallel()
	from, to := filled(t, newFile(t)), pgtest.Start(t)
	if err := openStore(t, to).Close(); err != nil { // creates only the schema
		t.Fatal(err)
	}
	change(t, "pgx", to, `CREATE FUNCTION damage() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.name = NEW.name || ''!''; RETURN NEW; END'`)
	change(t, "pgx", to, "CREATE TRIGGER damage BEFORE INSERT ON hosts FOR EACH ROW EXECUTE FUNCTION damage()")
	if _, err := store.Copy(t.Context(), from, to, nil); err == nil || !strings.Contains(err.Error(), "copy of table hosts differs") {
		t.Errorf("hosts with changed names were taken for a copy: %v", err)
	}
	change(t, "pgx", to, "DROP TRIGGER damage ON hosts")
	copied(t, from, to)
}

func change(t *testing.T, driver, dsn, statements string) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

// A backup is an SQLite file for both engines. It can be restored to both engines.
func TestABackupBecomesADatabaseOfEitherEngine(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t)
	s := openStore(t, dsn)
	storetest.Fill(t, s)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				emit(t, s)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	err := store.Backup(t.Context(), dsn, file)
	stop()
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "again.db")
	if err := store.Backup(t.Context(), "sqlite:"+file, again); err != nil {
		t.Fatal(err)
	}
	for file, to := range map[string]string{again: pgtest.Start(t), file: newFile(t)} {
		if err := store.Restore(t.Context(), file, to); err != nil {
			t.Fatal(err)
		}
		restored := openStore(t, to)
		head, _, err := restored.JournalEnds(t.Context())
		events, err2 := restored.EventsAfter(t.Context(), 0, 1<<20)
		if err != nil || err2 != nil || head < 2 || int64(len(events)) != head || events[head-1].Seq != head {
			t.Errorf("%s has %d events up to %d (%v, %v)", to, len(events), head, err, err2)
		}
	}
}

func TestOnlyABackupIsRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	damaged := filepath.Join(dir, "damaged.db")
	if err := store.Backup(t.Context(), filled(t, newFile(t)), damaged); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b[8192:16384] { // two pages
		b[8192+i] ^= 0xff
	}
	if err := os.WriteFile(damaged, b, 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "svc.db")
	if err := store.Restore(t.Context(), damaged, "sqlite:"+to); err == nil {
		t.Error("a damaged file was restored")
	}
	if _, err := os.Lstat(to); !os.IsNotExist(err) {
		t.Errorf("it is there: %v", err)
	}
}
