package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"svc"
)

// dialect is what truly differs between the engines.
type dialect struct {
	name              string
	begin             string                    // begins a unit group on the writer's connection
	forUpdate         string                    // appended to a SELECT of a row that will be changed; its key never is
	forShare          string                    // appended to a SELECT of a row that must stay as it is
	pipelined         bool                      // several statements make one round trip
	mostTogether      int                       // units that share a savepoint
	text              func(query string) string // of a statement that is prepared
	snapshotIsolation sql.IsolationLevel
	below             string // WITH below: everything under the item $1
	fewBelow          string // ids under the item $1, at most $2 of them, without reading many more
	among             string // condition that a column is in a JSON list; %s: its name
	payloadField      string // a text of an event's payload; %s: its name
	unique            func(error) bool
	cause             func(error) svc.Cause // why the database cannot do it now; "": it is something else
	transient         func(error) bool      // another try may succeed at once
	silent            svc.Cause             // what a silence means
	statementLimit    time.Duration         // of one statement; 0: it ends by itself
}

var sqliteDialect = &dialect{
	name:              "sqlite3",
	begin:             "BEGIN IMMEDIATE",
	mostTogether:      64,
	text:              unnumbered,
	snapshotIsolation: sql.LevelDefault, // a WAL reader sees one state by nature
	below: `WITH RECURSIVE below (id) AS (
		SELECT id FROM work_items WHERE parent_id = $1
		UNION ALL
		SELECT w.id FROM below b CROSS JOIN work_items w WHERE w.parent_id = b.id)`,
	// A step of a recursion reads all children of a row at once, so each is bounded.
	fewBelow: `WITH RECURSIVE below (id) AS (
		SELECT id FROM (SELECT id FROM work_items WHERE parent_id = $1 LIMIT CAST($2 AS BIGINT))
		UNION ALL
		SELECT w.id FROM below b CROSS JOIN work_items w
			WHERE w.id IN (SELECT c.id FROM work_items c WHERE c.parent_id = b.id LIMIT CAST($2 AS BIGINT))
		LIMIT CAST($2 AS BIGINT)) SELECT id FROM below`,
	among:        "%s IN (SELECT value FROM json_each(?))",
	payloadField: "json_extract(payload, '$.%s')",
	unique: func(err error) bool {
		var e *sqlite.Error
		return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
	},
	cause:     sqliteCause,
	transient: func(error) bool { return false }, // nobody else writes
	silent:    svc.CauseDatabaseBusy,
}

func sqliteCause(err error) svc.Cause {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		if errors.Is(err, sql.ErrConnDone) || errors.Is(err, driver.ErrBadConn) {
			return svc.CauseDatabaseBusy
		}
		return ""
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return svc.CauseDiskFull
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		return svc.CauseDiskError
	case sqlite3.SQLITE_READONLY:
		return svc.CauseDatabaseReadOnly
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return svc.CauseDatabaseBusy
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return svc.CauseDatabaseDamaged
	}
	return ""
}

const postgresBelow = `WITH RECURSIVE below (id) AS (
		SELECT id FROM work_items WHERE parent_id = $1
		UNION ALL
		SELECT c.id FROM below b CROSS JOIN LATERAL (SELECT id FROM work_items WHERE parent_id = b.id OFFSET 0) c)`

var postgresDialect = &dialect{
	name:              "postgres",
	begin:             "BEGIN",
	forUpdate:         " FOR NO KEY UPDATE",
	forShare:          " FOR SHARE",
	pipelined:         true,
	mostTogether:      256,
	text:              func(query string) string { return query },
	snapshotIsolation: sql.LevelRepeatableRead,
	// A plain join is planned as if each level were large, and then reads the
	// whole table for each; this one asks for the children of each row. It stops
	// by itself when nobody wants more rows.
	below:        postgresBelow,
	fewBelow:     postgresBelow + " SELECT id FROM below LIMIT CAST($2 AS BIGINT)",
	among:        "%s = ANY(ARRAY(SELECT json_array_elements_text(?::json)))",
	payloadField: "(payload::json ->> '%s')",
	unique: func(err error) bool {
		var e *pgconn.PgError
		return errors.As(err, &e) && e.Code == "23505"
	},
	cause: postgresCause,
	transient: func(err error) bool {
		var e *pgconn.PgError
		if errors.As(err, &e) {
			return e.Code == "40001" || e.Code == "40P01" || e.Code == "55P03" // serialisation, a deadlock, a lock that was not released in time
		}
		return errors.Is(err, errStale)
	},
	silent:         svc.CauseDatabaseUnreachable,
	statementLimit: 10 * time.Second,
}

func postgresCause(err error) svc.Cause {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		var network net.Error
		var connect *pgconn.ConnectError
		switch {
		case errors.As(err, &network), errors.As(err, &connect), pgconn.Timeout(err), pgconn.SafeToRetry(err),
			errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, net.ErrClosed),
			errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
			errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded): // ours: the caller's were seen to before
			return svc.CauseDatabaseUnreachable
		}
		return ""
	}
	switch e.Code {
	case "53100": // disk_full
		return svc.CauseDiskFull
	case "58030": // io_error
		return svc.CauseDiskError
	case "25006": // read_only_sql_transaction
		return svc.CauseDatabaseReadOnly
	case "25P03", "57P01", "57P02", "57P03", "57P05": // the server ended the session, or is starting or stopping
		return svc.CauseDatabaseUnreachable
	case "XX001", "XX002": // data_corrupted, index_corrupted
		return svc.CauseDatabaseDamaged
	case "3D000": // invalid_catalog_name
		return svc.CauseDatabaseRefused
	}
	switch e.Code[:2] {
	case "08": // connection
		return svc.CauseDatabaseUnreachable
	case "28": // authorization
		return svc.CauseDatabaseRefused
	case "40", "53", "55", "57": // serialisation and deadlocks, resources, locks, cancelled statements
		return svc.CauseDatabaseBusy
	}
	return ""
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
		q.Add("_pragma", "wal_autocheckpoint(4000)") // pages: a page that often changes is copied to the file less often
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
