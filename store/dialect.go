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

// dialect is what differs between the two engines.
type dialect struct {
	name              string
	begin             string                    // begins the transaction of a group of units
	forUpdate         string                    // appended to a SELECT of a row that will be changed, though never its key
	forShare          string                    // appended to a SELECT of a row that must not change meanwhile
	pipelined         bool                      // several statements are sent in one round trip
	text              func(query string) string // returns the text of a statement as it is prepared
	snapshotIsolation sql.IsolationLevel
	below             string                // a WITH clause: below (id) has all items under the item $1
	fewBelow          string                // a query of ids under the item $1: at most $2, and it reads hardly more
	among             string                // a condition: a column is in a JSON list; %s: the column's name
	payloadField      string                // an expression: a text of an event's payload; %s: its name
	unique            func(error) bool      // reports whether a unique index refused a row
	cause             func(error) svc.Cause // why the database is unavailable; "": the error has another reason
	transient         func(error) bool      // reports whether a repetition may succeed at once
	silent            svc.Cause             // the cause that is reported if the database does not answer in time
	statementLimit    time.Duration         // the most that a statement may take; 0: no limit
}

var sqliteDialect = &dialect{
	name:              "sqlite3",
	begin:             "BEGIN IMMEDIATE",
	text:              unnumbered,
	snapshotIsolation: sql.LevelDefault, // in WAL mode, every reading transaction sees one state
	below: `WITH RECURSIVE below (id) AS (
		SELECT id FROM work_items WHERE parent_id = $1
		UNION ALL
		SELECT w.id FROM below b CROSS JOIN work_items w WHERE w.parent_id = b.id)`,
	// A step of a recursion reads all children of a row at once, so each step has a limit.
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
	transient: func(error) bool { return false }, // there is only one writer
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
	text:              func(query string) string { return query },
	snapshotIsolation: sql.LevelRepeatableRead,
	// For a plain join the planner assumes that each level is large, and reads the
	// whole table for each level. The lateral join reads the children of each row
	// by the index. It also ends early if the outer query has a LIMIT.
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
			return e.Code == "40001" || e.Code == "40P01" || e.Code == "55P03" // serialisation failure, deadlock, lock timeout
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
			errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded): // of the store: edge has checked the caller's
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

// sqliteUse is the purpose of a connection to an SQLite file.
type sqliteUse int

const (
	toWrite sqliteUse = iota // for the writer; creates the file if it does not exist
	toRead                   // read-only
	toCopy                   // for VACUUM INTO, which does not work under query_only
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
		q.Add("_pragma", "wal_autocheckpoint(4000)") // pages, more than the default: pages that change often are copied less often
	case toRead:
		q.Add("_pragma", "query_only(1)")
	case toCopy:
		q.Set("mode", "rw") // not rwc: a file that was removed meanwhile must not be created again
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	return db, nil
}

// querier is the common interface of a pool, a connection and a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}
