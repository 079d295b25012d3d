package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"svc"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// textColumn matches the column type TEXT. On PostgreSQL it gets the collation
// "C", so that text is compared bytewise as in SQLite: ranks and names must sort
// alike on both engines.
var textColumn = regexp.MustCompile(`\bTEXT\b`)

// byKey makes SQLite store a table in the order of its key. Else SQLite would
// number the rows itself and keep an additional index of the keys, which every
// insert must write too. Databases that were created before this rule keep that
// index, because rebuilding a long journal would delay a start.
var byKey = strings.NewReplacer("BIGINT PRIMARY KEY", "INTEGER PRIMARY KEY", ") /* by key */;", ") WITHOUT ROWID;")

// migrate brings the schema up to date. Migrations go forward only.
func migrate(ctx context.Context, db *sql.DB, d *dialect) error {
	steps, newest, err := migrations(d)
	if err != nil {
		return err
	}
	options := []goose.ProviderOption{goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true)}
	if d == postgresDialect {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300)) // seconds between tries, and tries
		if err != nil {
			return fmt.Errorf("prepare the migration lock: %w", err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(goose.Dialect(d.name), db, nil, options...)
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	have, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the database's version: %w", err)
	}
	if have > newest {
		return svc.Errorf(svc.CodeConflict,
			"the database was written by a newer svc (schema %d, this one knows %d); use that version, or restore a backup", have, newest)
	}
	if have == newest {
		return nil // without waiting for the migration lock
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

func migrations(d *dialect) (steps []*goose.Migration, newest int64, err error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "migrations/"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("migration %s has no number: %w", name, err)
		}
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, 0, err
		}
		script := byKey.Replace(string(text))
		if d == postgresDialect {
			script = textColumn.ReplaceAllString(string(text), `TEXT COLLATE "C"`)
		}
		newest = max(newest, version)
		steps = append(steps, goose.NewGoMigration(version, &goose.GoFunc{
			RunTx: func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, script)
				return err
			},
		}, nil))
	}
	return steps, newest, nil
}
