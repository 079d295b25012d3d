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

// Fresh creates an SQLite database with the current schema in a folder, unless there is one already, and returns its
// DSN. The migrations run once in a test process and the result is copied, because hundreds of tests have their own
// database.
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
	if err := s.Close(); err != nil { // merges the write-ahead log into the file
		return nil, err
	}
	return os.ReadFile(path)
})

// FreshPostgres creates a PostgreSQL database with the current schema for a test, and returns its DSN. The migrations
// run once in a test process.
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
