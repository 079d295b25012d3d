package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"svc"
)

// copySettings are the settings of a PostgreSQL connection that copies:
// statements have no time limit, waits for a lock have one.
const copySettings = `SET jit = off; SET lock_timeout = '5s'; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0`

// openCopyPool opens a pool of connections to PostgreSQL for a copy.
func openCopyPool(dsn string) (*sql.DB, error) {
	return openPostgres(dsn, copySettings, &sockets{open: map[net.Conn]struct{}{}})
}

// sqliteFile returns the file that a DSN names; is is false for PostgreSQL.
func sqliteFile(dsn string) (file string, is bool, err error) {
	if file, is = strings.CutPrefix(dsn, "sqlite:"); is {
		return file, true, nil
	}
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		return "", false, nil
	}
	return "", false, svc.Errorf(svc.CodeValidation, "database must be sqlite:<file> or postgres://…")
}

// openSource opens a snapshot of a database that no orchestrator serves, and
// prevents that one serves it until the snapshot is closed.
func openSource(ctx context.Context, dsn string, log *slog.Logger) (_ *snapshot, err error) {
	file, isSQLite, err := sqliteFile(dsn)
	if err != nil {
		return nil, err
	}
	if !isSQLite {
		return openPostgresSource(ctx, dsn, func(ctx context.Context, db *sql.DB) (*lease, error) {
			has, err := hasLease(ctx, db)
			switch {
			case err != nil:
				return nil, err
			case !has:
				return nil, nothingOfSvc("this database")
			}
			return takeLease(ctx, db, "", log)
		})
	}
	if err := databaseThere(file); err != nil {
		return nil, err
	}
	release, err := holdFile(file + ".lock")
	if err != nil {
		return nil, err
	}
	s, err := openSQLiteSource(ctx, file)
	if err != nil {
		_ = release()
		return nil, err
	}
	s.after = slices.Insert(s.after, 0, func() { _ = release() })
	return s, nil
}

func nothingOfSvc(where string) error {
	return svc.Errorf(svc.CodeNotFound, "there is nothing of svc in %s", where)
}

func databaseThere(file string) error {
	if _, err := os.Stat(file); err != nil {
		return svc.Errorf(svc.CodeNotFound, "there is no database at %s", file).Because(err)
	}
	return nil
}

// openSQLiteSource opens a snapshot of a file.
func openSQLiteSource(ctx context.Context, file string) (*snapshot, error) {
	db, err := openSQLite(file, toRead)
	if err != nil {
		return nil, err
	}
	s := &snapshot{d: sqliteDialect, after: []func(){func() { _ = db.Close() }}}
	if err = s.begin(ctx, db, "BEGIN"); err == nil {
		err = s.checkSchema(ctx)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// openPostgresSource opens a snapshot of a database. The function lease, if not
// nil, takes the database's lease, which is released when the snapshot is closed:
// until then no orchestrator can serve the database.
func openPostgresSource(ctx context.Context, dsn string, lease func(context.Context, *sql.DB) (*lease, error)) (_ *snapshot, err error) {
	db, err := openCopyPool(dsn)
	if err != nil {
		return nil, err
	}
	s := &snapshot{d: postgresDialect, after: []func(){func() { _ = db.Close() }}}
	defer func() {
		if err != nil {
			err = s.d.edge(ctx, err)
			s.close()
		}
	}()
	if lease != nil {
		held, err := lease(ctx, db)
		if err != nil {
			return nil, err
		}
		s.after = append(s.after, func() { _ = held.release() })
	}
	if err := s.begin(ctx, db, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"); err != nil {
		return nil, err
	}
	return s, s.checkSchema(ctx)
}

// schemaOf returns the version of a database's schema; 0: it has no tables of
// svc.
func schemaOf(ctx context.Context, d *dialect, q querier) (version int64, err error) {
	var known bool
	is := "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'goose_db_version')"
	if d == postgresDialect {
		is = "SELECT to_regclass('goose_db_version') IS NOT NULL"
	}
	if err = q.QueryRowContext(ctx, is).Scan(&known); err == nil && known {
		err = q.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&version)
	}
	if err != nil {
		return 0, d.edge(ctx, fmt.Errorf("read the database's version: %w", err))
	}
	return version, nil
}

// checkSchema returns an error unless the database has exactly the tables that
// this version copies.
func (s *snapshot) checkSchema(ctx context.Context) error {
	have, err := schemaOf(ctx, s.d, s.conn)
	if err != nil {
		return err
	}
	_, want, err := migrations(s.d)
	switch {
	case err != nil:
		return err
	case have == 0:
		return nothingOfSvc("this database")
	case have != want:
		return svc.Errorf(svc.CodeConflict, "the database has schema %d and this svc copies schema %d: use the svc that serves it, "+
			"or start a newer one with it once", have, want)
	}
	list := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'"
	if s.d == postgresDialect {
		list = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'goose_db_version'"
	}
	rows, err := s.conn.QueryContext(ctx, list)
	if err != nil {
		return s.d.edge(ctx, fmt.Errorf("list the tables: %w", err))
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return s.d.edge(ctx, err)
		}
		if !slices.Contains(tables, name) {
			return svc.Errorf(svc.CodeConflict, "the database has a table %s, which svc does not know and would not copy", name)
		}
	}
	return s.d.edge(ctx, rows.Err())
}

// target is a new database in the transaction that fills it.
type target struct {
	snapshot
	finish func() error // called after the commit; nil: nothing is to be done
}

// discard rolls back what was not committed, and closes the target.
func (t *target) discard() { t.close() }

// commit commits the transaction, and on SQLite gives the file its final name.
func (t *target) commit(ctx context.Context) error {
	if _, err := t.conn.ExecContext(ctx, "COMMIT"); err != nil {
		return t.d.edge(ctx, fmt.Errorf("commit the copy: %w", err))
	}
	if t.finish == nil {
		return nil
	}
	return t.finish()
}

func openTarget(ctx context.Context, dsn string) (*target, error) {
	file, isSQLite, err := sqliteFile(dsn)
	if err != nil {
		return nil, err
	}
	if isSQLite {
		return openSQLiteTarget(ctx, file)
	}
	return openPostgresTarget(ctx, dsn)
}

// absent returns an error if a path exists.
func absent(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return svc.Errorf(svc.CodeConflict, "%s exists; name a new file", path)
	}
	return nil
}

// partial returns the temporary name that a file has until it is complete.
func partial(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".partial")
}

// openSQLiteTarget creates a database under a temporary name. After the commit it
// gets its own name.
func openSQLiteTarget(ctx context.Context, file string) (_ *target, err error) {
	if err := absent(file); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("make the database's folder: %w", err)
	}
	temp := partial(file)
	remove := func() {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(temp + suffix)
		}
	}
	remove()
	if err := ownFile(temp); err != nil {
		return nil, err
	}
	db, err := openSQLite(temp, toWrite)
	if err != nil {
		remove()
		return nil, err
	}
	t := &target{snapshot: snapshot{d: sqliteDialect, after: []func(){remove, func() { _ = db.Close() }}}}
	t.finish = func() error {
		_ = t.conn.Close()
		if err := db.Close(); err != nil { // the last connection empties and removes the write-ahead log
			return fmt.Errorf("close the copy: %w", err)
		}
		return publish(temp, file)
	}
	defer func() {
		if err != nil {
			err = t.d.edge(ctx, err)
			t.close()
		}
	}()
	if err := migrate(ctx, db, sqliteDialect); err != nil {
		return nil, err
	}
	if err := t.begin(ctx, db, "BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	// Rows may refer to later rows until the commit.
	_, err = t.conn.ExecContext(ctx, "PRAGMA defer_foreign_keys = ON; DELETE FROM journal")
	return t, err
}

// publish syncs a complete file and links it under its final name, which must not
// exist yet.
func publish(temp, path string) error {
	if err := syncFile(temp); err != nil {
		return fmt.Errorf("sync %s: %w", temp, err)
	}
	if err := os.Link(temp, path); err != nil { // unlike a rename, it never overwrites
		return fmt.Errorf("put the copy in place: %w", err)
	}
	return syncFile(filepath.Dir(path))
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}

// openPostgresTarget creates the schema in an empty database. The journal's row
// stays locked until the transaction ends, so that no orchestrator can begin to
// serve the database meanwhile.
func openPostgresTarget(ctx context.Context, dsn string) (_ *target, err error) {
	db, err := openCopyPool(dsn)
	if err != nil {
		return nil, err
	}
	t := &target{snapshot: snapshot{d: postgresDialect, after: []func(){func() { _ = db.Close() }}}}
	defer func() {
		if err != nil {
			err = t.d.edge(ctx, err)
			t.close()
		}
	}()
	var head int64
	err = db.QueryRowContext(ctx, "SELECT head FROM journal WHERE id = 1").Scan(&head)
	var unknown *pgconn.PgError
	if err != nil && !(errors.As(err, &unknown) && unknown.Code == "42P01") { // no such table
		return nil, fmt.Errorf("look into the new database: %w", err)
	}
	if head > 0 {
		return nil, notEmpty("journal")
	}
	if err := migrate(ctx, db, postgresDialect); err != nil {
		return nil, err
	}
	if err := t.begin(ctx, db, "BEGIN"); err != nil {
		return nil, err
	}
	return t, t.empty(ctx)
}

func notEmpty(table string) error {
	return svc.Errorf(svc.CodeConflict, "the PostgreSQL database is not empty (table %s): make a new one with createdb", table)
}

// empty returns an error if the database has any row except the journal's. It
// locks and deletes the journal's row.
func (t *target) empty(ctx context.Context) error {
	var head int64
	var holder string
	err := t.conn.QueryRowContext(ctx, "SELECT head, holder FROM journal WHERE id = 1 FOR UPDATE").Scan(&head, &holder)
	switch {
	case err != nil:
		return fmt.Errorf("lock the new database: %w", err)
	case holder != "":
		return svc.Errorf(svc.CodeConflict, "another orchestrator serves this database: %s", holder)
	case head > 0:
		return notEmpty("journal")
	}
	for _, table := range tables[1:] {
		var some bool
		if err := t.conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+table+")").Scan(&some); err != nil {
			return fmt.Errorf("look into table %s: %w", table, err)
		}
		if some {
			return notEmpty(table)
		}
	}
	_, err = t.conn.ExecContext(ctx, "DELETE FROM journal")
	return err
}
