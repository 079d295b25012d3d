package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"svc"
)

// Backup writes a consistent copy of a database as an SQLite file, even while an
// orchestrator writes to the database. It overwrites nothing. The file gets its
// name only after it was checked.
func Backup(ctx context.Context, dsn, to string) error {
	file, isSQLite, err := sqliteFile(dsn)
	if err != nil {
		return err
	}
	if isSQLite {
		return backupSQLite(ctx, file, to)
	}
	source, err := openPostgresSource(ctx, dsn, nil)
	if err != nil {
		return err
	}
	defer source.close()
	_, err = copyInto(ctx, source, "sqlite:"+to)
	return err
}

func backupSQLite(ctx context.Context, file, to string) error {
	if err := databaseThere(file); err != nil {
		return err
	}
	if err := absent(to); err != nil {
		return err
	}
	db, err := openSQLite(file, toCopy)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	temp := partial(to)
	_ = os.Remove(temp)
	defer func() { _ = os.Remove(temp) }()
	if _, err := db.ExecContext(ctx, "VACUUM INTO $1", temp); err != nil {
		return sqliteDialect.edge(ctx, fmt.Errorf("copy the database: %w", err))
	}
	if err := os.Chmod(temp, 0o600); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	if _, err := checkFile(ctx, temp); err != nil {
		return err
	}
	return publish(temp, to)
}

// checkFile checks a whole SQLite file for damage and returns the version of its
// schema. It refuses a file without the tables of svc or of a newer version.
func checkFile(ctx context.Context, file string) (int64, error) {
	db, err := openSQLite(file, toRead)
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return 0, sqliteDialect.edge(ctx, fmt.Errorf("check %s: %w", file, err))
	}
	if verdict != "ok" {
		return 0, svc.Errorf(svc.CodeConflict, "the database in %s is damaged: %s", file, verdict)
	}
	have, err := schemaOf(ctx, sqliteDialect, db)
	if err != nil {
		return 0, err
	}
	_, newest, err := migrations(sqliteDialect)
	switch {
	case err != nil:
		return 0, err
	case have == 0:
		return 0, nothingOfSvc(file)
	case have > newest:
		return 0, svc.Errorf(svc.CodeConflict, "%s was written by a newer svc (schema %d, this one knows %d); use that version", file, have, newest)
	}
	return have, nil
}

// Restore creates the database that dsn names from a file that Backup wrote. The
// caller must not use the file any more: for SQLite it becomes the database
// itself, for PostgreSQL its schema is migrated. Like Copy, Restore writes only
// to a new database, and leaves nothing when it fails.
func Restore(ctx context.Context, file, dsn string) error {
	to, isSQLite, err := sqliteFile(dsn)
	if err != nil {
		return err
	}
	if _, err := checkFile(ctx, file); err != nil {
		return err
	}
	if isSQLite {
		return publish(file, to)
	}
	db, err := openSQLite(file, toWrite)
	if err != nil {
		return err
	}
	if err := migrate(ctx, db, sqliteDialect); err != nil {
		_ = db.Close()
		return err
	}
	if err := db.Close(); err != nil {
		return fmt.Errorf("close the backup: %w", err)
	}
	source, err := openSQLiteSource(ctx, file)
	if err != nil {
		return err
	}
	defer source.close()
	_, err = copyInto(ctx, source, dsn)
	return err
}

// Vacant returns an error if Restore and Copy would refuse the database as their
// target: a file that exists, or a PostgreSQL database that is not empty.
func Vacant(ctx context.Context, dsn string) error {
	file, isSQLite, err := sqliteFile(dsn)
	switch {
	case err != nil:
		return err
	case isSQLite:
		return absent(file)
	}
	t, err := openPostgresTarget(ctx, dsn)
	if err != nil {
		return err
	}
	t.discard()
	return nil
}

// Hold locks an SQLite database, so that no orchestrator can serve it until
// release is called. It returns an error if an orchestrator serves it. For
// PostgreSQL it does nothing: Restore and Copy lock that database themselves.
func Hold(dsn string) (release func() error, err error) {
	file, isSQLite, err := sqliteFile(dsn)
	if err != nil || !isSQLite {
		return func() error { return nil }, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("make the database's folder: %w", err)
	}
	return holdFile(file + ".lock")
}

// Files returns the paths of the files of an SQLite database; nil for PostgreSQL.
func Files(dsn string) []string {
	file, isSQLite, err := sqliteFile(dsn)
	if err != nil || !isSQLite {
		return nil
	}
	return []string{file, file + "-wal", file + "-shm"}
}
