package store_test

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"svc"
	"svc/internal/pgtest"
	"svc/store"
	"svc/store/storetest"
)

func TestPostgreSQLKeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *store.Store { return openStore(t, storetest.FreshPostgres(t)) })
}

func TestSeveralStoresShareOnePostgreSQLDatabase(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T, n int) []*store.Store {
		dsn := storetest.FreshPostgres(t)
		stores := make([]*store.Store, n)
		for i := range stores {
			stores[i] = openStore(t, dsn)
		}
		return stores
	})
}

// Units that name their rows cannot deadlock, in whichever store they run:
// PostgreSQL counts no deadlocks.
func TestConcurrentUnitsOfSeveralStores(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	stores := make([]*store.Store, 3)
	for i := range stores {
		stores[i] = openStore(t, dsn)
	}
	storetest.Concurrent(t, stores)
	for _, s := range stores {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	// A session adds its deadlocks to the statistics when it ends.
	for others := 1; others > 0; {
		if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`).Scan(&others); err != nil {
			t.Fatal(err)
		}
	}
	var deadlocks int64
	if err := db.QueryRowContext(t.Context(), "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks); err != nil {
		t.Fatal(err)
	}
	if deadlocks != 0 {
		t.Errorf("PostgreSQL resolved %d deadlocks", deadlocks)
	}
}

// A group whose units only write deferred changes takes two round trips: one locks its rows, and one writes the changes
// and commits.
func TestAGroupOfDeferredChangesTakesTwoRoundTrips(t *testing.T) {
	t.Parallel()
	link, through := pgtest.NewLink(t, storetest.FreshPostgres(t))
	s := openStore(t, through)
	var trips int
	for range 3 { // the first groups also connect and prepare the statements
		before := link.Pieces()
		key := svc.NewID()
		err := s.WriteRepeatable(t.Context(), func(tx *store.Tx) error {
			tx.Emit(svc.TopicProjectUpdated, map[string]any{})
			return tx.KeepResult(t.Context(), key, "print", "result")
		}, store.KeyRow(key))
		if err != nil {
			t.Fatal(err)
		}
		trips = link.Pieces() - before
	}
	if trips != 2 {
		t.Errorf("a group took %d round trips, want 2", trips)
	}
}

func TestNewerPostgreSQLSchemaIsRefused(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	openStore(t, dsn)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	wantNewerRefused(t, db, dsn)
}

func TestSecondOrchestratorOfAPostgreSQLDatabaseIsToldWhoServesIt(t *testing.T) {
	t.Parallel()
	dsn := storetest.FreshPostgres(t)
	first, err := store.Open(t.Context(), dsn, store.Options{Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Open(t.Context(), dsn, store.Options{Exclusive: true})
	if svc.CodeOf(err) != svc.CodeConflict || !strings.Contains(err.Error(), fmt.Sprintf("pid %d on ", os.Getpid())) {
		t.Fatalf("the second one was told: %v", err)
	}
	openStore(t, dsn) // a store that is not exclusive can read the database meanwhile
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := store.Open(t.Context(), dsn, store.Options{Exclusive: true})
	if err != nil {
		t.Fatalf("after the first one left: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
