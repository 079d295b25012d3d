package store_test

import (
	"database/sql"
	"testing"

	"svc/internal/pgtest"
	"svc/store"
	"svc/store/storetest"
)

func TestPostgreSQLKeepsTheContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *store.Store { return openStore(t, pgtest.Start(t)) })
}

func TestSeveralStoresShareOnePostgreSQLDatabase(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T, n int) []*store.Store {
		dsn := pgtest.Start(t)
		stores := make([]*store.Store, n)
		for i := range stores {
			stores[i] = openStore(t, dsn)
		}
		return stores
	})
}

func TestNewerPostgreSQLSchemaIsRefused(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t)
	openStore(t, dsn)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	wantNewerRefused(t, db, dsn)
}
