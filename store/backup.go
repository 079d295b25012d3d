package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"svc"
)

// Backup writes a consistent copy of an SQLite database, also while an
// orchestrator writes to it. It does not overwrite anything.
func Backup(ctx context.Context, dsn, to string) error {
	file, ok := strings.CutPrefix(dsn, "sqlite:")
	if !ok {
		return svc.Errorf(svc.CodeValidation, "backup copies SQLite databases; use pg_dump for PostgreSQL")
	}
	if _, err := os.Stat(file); err != nil {
		return svc.Errorf(svc.CodeNotFound, "there is no database at %s", file).Because(err)
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return svc.Errorf(svc.CodeConflict, "%s exists; name a new file", to)
	}
	db, err := openSQLite(file, toCopy)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	temp := filepath.Join(filepath.Dir(to), "."+filepath.Base(to)+".partial")
	_ = os.Remove(temp)
	defer func() { _ = os.Remove(temp) }()
	if _, err := db.ExecContext(ctx, "VACUUM INTO $1", temp); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	if err := os.Chmod(temp, 0o600); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	if err := syncFile(temp); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	if err := os.Link(temp, to); err != nil { // unlike a rename, it never overwrites
		return fmt.Errorf("put the copy in place: %w", err)
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}
