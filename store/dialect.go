package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dialect is what truly differs between the engines.
type dialect struct {
	name              string
	begin             string // begins a unit group on the writer's connection
	forUpdate         string // appended to a SELECT of a row that will be changed
	snapshotIsolation sql.IsolationLevel
	unique            func(error) bool
	unavailable       func(error) bool
}

var sqliteDialect = &dialect{
	name:              "sqlite3",
	begin:             "BEGIN IMMEDIATE",
	snapshotIsolation: sql.LevelDefault, // a WAL reader sees one state by nature
	unique: func(err error) bool {
		var e *sqlite.Error
		return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
	},
	unavailable: func(err error) bool {
		var e *sqlite.Error
		if !errors.As(err, &e) {
			return errors.Is(err, sql.ErrConnDone) || errors.Is(err, driver.ErrBadConn)
		}
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
			return true
		}
		return false
	},
}

var postgresDialect = &dialect{
	name:              "postgres",
	begin:             "BEGIN",
	forUpdate:         " FOR UPDATE",
	snapshotIsolation: sql.LevelRepeatableRead,
	unique: func(err error) bool {
		var e *pgconn.PgError
		return errors.As(err, &e) && e.Code == "23505"
	},
	unavailable: func(err error) bool {
		var e *pgconn.PgError
		if errors.As(err, &e) {
			switch e.Code[:2] {
			case "08", "53", "57", "40": // connection, resources, shutdown, serialisation
				return true
			}
			return false
		}
		var op net.Error
		var connect *pgconn.ConnectError
		return errors.As(err, &op) || errors.As(err, &connect) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
	},
}

// sqliteUse is what a connection to an SQLite file is for.
type sqliteUse int

const (
	toWrite sqliteUse = iota // the writer's; makes the file
	toRead                   // can write nothing
	toCopy                   // copies the file as it is; VACUUM INTO does not work under query_only
)

func openSQLite(file string, use sqliteUse) (*sql.DB, error) {
	q := url.Values{}
	q.Add("_pragma", "busy_timeout(5000)")
	q.Add("_pragma", "foreign_keys(1)")
	q.Add("_pragma", "cache_size(-32000)")
	q.Add("_pragma", "temp_store(2)")
	switch use {
	case toWrite:
		q.Add("_pragma", "journal_mode(WAL)")
		q.Add("_pragma", "synchronous(FULL)")
	case toRead:
		q.Add("_pragma", "query_only(1)")
	case toCopy:
		q.Set("mode", "rw") // not c: a file that vanished is not made anew
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	return db, nil
}

// querier is what a pool, a connection and a transaction have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}
