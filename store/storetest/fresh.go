package storetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"svc/internal/pgtest"
	"svc/store"
)

// Fresh is the DSN of an SQLite database in a folder, as a first start leaves it; one that is there already is left alone. The
// migrations run once in a test process, since each of hundreds of tests has a database of its own.
func Fresh(tb testing.TB, dir string) (dsn string) {
	tb.Helper()
	path := filepath.Join(dir, "svc.db")
	if _, err := os.Stat(path); err == nil {
		return "sqlite:" + path
	}
	raw, err := migrated()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		tb.Fatalf("make a database: %v", err)
	}
	return "sqlite:" + path
}

var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "svc-storetest-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "svc.db")
	s, err := store.Open(context.Background(), "sqlite:"+path, store.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // all is in the one file then
		return nil, err
	}
	return os.ReadFile(path)
})

// FreshPostgres is the DSN of a PostgreSQL database of the test's own, as a first start leaves it. The migrations run once in a test process.
func FreshPostgres(tb testing.TB) (dsn string) {
	tb.Helper()
	return migratedPostgres.Start(tb)
}

var migratedPostgres = pgtest.Template{Fill: func(dsn string) error {
	s, err := store.Open(context.Background(), dsn, store.Options{})
	if err != nil {
		return err
	}
	return s.Close()
}}
