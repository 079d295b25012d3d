package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"svc"
	"svc/store"
	"svc/store/storetest"
)

// openStore opens a store that is closed when the test ends.
func openStore(t *testing.T, dsn string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // some tests close it themselves
	return s
}

func TestSQLiteKeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *store.Store {
		return openStore(t, storetest.Fresh(t, t.TempDir()))
	})
}

func TestSecondOpenerOfAnSQLiteFileIsToldWhoHoldsIt(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "a dir with spaces?#%41", "svc.db")
	first := openStore(t, dsn)
	_, err := store.Open(t.Context(), dsn, store.Options{})
	if svc.CodeOf(err) != svc.CodeConflict || !strings.Contains(err.Error(), fmt.Sprintf("pid %d on ", os.Getpid())) {
		t.Fatalf("the second opener was told: %v", err)
	}
	if err := first.Write(t.Context(), func(*store.Tx) error { return nil }); err != nil {
		t.Errorf("the first one after the second tried: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openStore(t, dsn)
}

func TestUnknownDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"", "svc.db", "mysql://x"} {
		if _, err := store.Open(t.Context(), dsn, store.Options{}); svc.CodeOf(err) != svc.CodeValidation {
			t.Errorf("%q: %v", dsn, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("this is no database, however long one looks at its many bytes; not one page of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), "sqlite:"+file, store.Options{}); err == nil {
		t.Error("a file that is no database was opened")
	}
}

func TestNewerSQLiteSchemaIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "svc.db")
	if err := openStore(t, "sqlite:"+file).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	wantNewerRefused(t, db, "sqlite:"+file)
}

// wantNewerRefused inserts the schema version of a newer svc, and expects that Open refuses the database.
func wantNewerRefused(t *testing.T, db *sql.DB, dsn string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice: a refused Open must release its lock
		_, err = store.Open(t.Context(), dsn, store.Options{})
		if svc.CodeOf(err) != svc.CodeConflict || !strings.Contains(err.Error(), "newer svc") || !strings.Contains(err.Error(), "9999") {
			t.Fatalf("a newer schema: %v", err)
		}
	}
}

func TestStoreGoesOnWhereItWasClosed(t *testing.T) {
	t.Parallel()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "svc.db")
	for n := 1; n <= 3; n++ {
		s := openStore(t, dsn)
		emit(t, s)
		head, _, err := s.JournalEnds(t.Context())
		if err != nil || head != int64(n) {
			t.Errorf("opened %d times, the head is %d (%v)", n, head, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func emit(t *testing.T, s *store.Store) {
	t.Helper()
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		tx.Emit(svc.TopicHostCreated, map[string]any{})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A group whose answer was lost is in the journal nevertheless. A reader that
// follows the journal gets its events, although only later groups are in memory.
func TestWhoFollowsTheJournalMissesNoGroupWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	lost := false
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), store.Options{LoseAnswer: func() error {
		if lost {
			return errors.New("the answer is lost")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for i := range 4 {
		lost = i == 1
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			tx.Emit(svc.TopicHostCreated, map[string]any{"n": i})
			return nil
		})
		if (err != nil) != lost {
			t.Fatalf("group %d: %v", i, err)
		}
	}
	for after := range int64(5) {
		got, _, err := s.NewEvents(t.Context(), after, 10, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.EventsAfter(t.Context(), after, 10)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) || int64(len(got)) != 4-after {
			t.Errorf("after %d come %v, want %v", after, got, want)
		}
	}
}

func TestBackupOfADatabaseThatIsWrittenIsConsistent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dsn, to := "sqlite:"+filepath.Join(dir, "svc.db"), filepath.Join(dir, "copy.db")
	s := openStore(t, dsn)
	emit(t, s)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				emit(t, s)
			}
		})
	}
	err := store.Backup(t.Context(), dsn, to)
	stop()
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v %v", info.Mode(), err)
	}
	kept := openStore(t, "sqlite:"+to)
	head, _, err := kept.JournalEnds(t.Context())
	if err != nil || head < 1 {
		t.Fatalf("the copy's head is %d (%v)", head, err)
	}
	events, err := kept.EventsAfter(t.Context(), 0, 1<<20)
	if err != nil || int64(len(events)) != head || events[head-1].Seq != head {
		t.Errorf("the copy has %d events up to %d (%v)", len(events), head, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) != 0 {
		t.Errorf("the backup left %v", left)
	}
}

func TestBackupRefusesToOverwrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dsn := "sqlite:" + filepath.Join(dir, "svc.db")
	openStore(t, dsn)
	full, dangling := filepath.Join(dir, "full"), filepath.Join(dir, "dangling")
	if err := os.WriteFile(full, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{full, dangling, dir} {
		if err := store.Backup(t.Context(), dsn, to); svc.CodeOf(err) != svc.CodeConflict {
			t.Errorf("a backup to %s: %v", filepath.Base(to), err)
		}
	}
	if b, err := os.ReadFile(full); err != nil || string(b) != "precious" {
		t.Errorf("the file that was in the way holds %q (%v)", b, err)
	}
	if err := store.Backup(t.Context(), "sqlite:"+filepath.Join(dir, "none"), filepath.Join(dir, "x")); svc.CodeOf(err) != svc.CodeNotFound {
		t.Errorf("a backup of nothing: %v", err)
	}
	if err := store.Backup(t.Context(), "mysql://x", filepath.Join(dir, "x")); svc.CodeOf(err) != svc.CodeValidation {
		t.Errorf("a backup of what is no database of svc: %v", err)
	}
}
