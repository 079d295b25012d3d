package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"svc"
)

// tables are all tables of the schema, each after those that it refers to. A
// database with any other table is refused, so that nothing is left out silently.
var tables = []string{
	"journal", "events", "projects", "work_items", "needs", "hosts", "host_tokens", "runs", "processed_signals",
	"idempotency", "service_times", "access_tokens", "sessions", "workspaces",
	"inbox_marks", "notify_sinks", "notifications", "comments", "messages", "replicas", "commits",
}

// TableSum is the number of rows of a table and a hash of all their values. The
// hash does not depend on the order of the rows.
type TableSum struct {
	Table string
	Rows  int64
	hash  [4]uint64 // the sum of the rows' SHA-256, modulo 2^256
}

// Hash returns the hash in hexadecimal digits.
func (s TableSum) Hash() string {
	return fmt.Sprintf("%016x%016x%016x%016x", s.hash[3], s.hash[2], s.hash[1], s.hash[0])
}

// Copy copies everything from one database to another, of the same or of the
// other engine, and returns the sums of the tables. It refuses databases that an
// orchestrator serves. It does not change the records of the source. The target
// must not exist (SQLite) or must be empty (PostgreSQL). It is written in one
// transaction, read back, and compared with the source by counts and hashes
// before the commit. A copy that fails leaves no records, so that it can simply
// be repeated.
func Copy(ctx context.Context, from, to string, log *slog.Logger) ([]TableSum, error) {
	if log == nil {
		log = slog.Default()
	}
	source, err := openSource(ctx, from, log)
	if err != nil {
		return nil, err
	}
	defer source.close()
	return copyInto(ctx, source, to)
}

// copyInto fills a new database from a snapshot.
func copyInto(ctx context.Context, source *snapshot, to string) ([]TableSum, error) {
	target, err := openTarget(ctx, to)
	if err != nil {
		return nil, err
	}
	defer target.discard()
	var sums []TableSum
	for _, table := range tables {
		written, err := transfer(ctx, source, target, table)
		if err != nil {
			return nil, err
		}
		read, err := target.sum(ctx, table)
		if err != nil {
			return nil, err
		}
		if read != written {
			return nil, fmt.Errorf("the copy of table %s differs: %d rows of hash %s were read, %d rows of hash %s are there",
				table, written.Rows, written.Hash(), read.Rows, read.Hash())
		}
		sums = append(sums, read)
	}
	return sums, target.commit(ctx)
}

// snapshot is a connection with an open transaction that sees one state of the
// database and its own changes.
type snapshot struct {
	d     *dialect
	conn  *sql.Conn
	after []func() // called by close, in reverse order
}

// close rolls the transaction back and closes the connection.
func (s *snapshot) close() {
	if s.conn != nil {
		_, _ = s.conn.ExecContext(context.Background(), "ROLLBACK") // an error if there is no transaction
		_ = s.conn.Close()
	}
	for _, do := range slices.Backward(s.after) {
		do()
	}
}

// begin opens a connection and begins the transaction.
func (s *snapshot) begin(ctx context.Context, db *sql.DB, statement string) (err error) {
	if s.conn, err = db.Conn(ctx); err == nil {
		_, err = s.conn.ExecContext(ctx, statement)
	}
	return s.d.edge(ctx, err)
}

// columns returns the columns of a table, in the order in which migrations
// created them.
func (s *snapshot) columns(ctx context.Context, table string) ([]string, error) {
	rows, err := s.conn.QueryContext(ctx, "SELECT * FROM "+table+" WHERE 1 = 0") //nolint:gosec // names of our own
	if err != nil {
		return nil, s.d.edge(ctx, fmt.Errorf("read the columns of %s: %w", table, err))
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err == nil {
		err = rows.Err()
	}
	return names, s.d.edge(ctx, err)
}

// transfer copies a table and returns the sum of the rows that it read.
func transfer(ctx context.Context, source *snapshot, target *target, table string) (TableSum, error) {
	columns, err := source.columns(ctx, table)
	if err != nil {
		return TableSum{}, err
	}
	rows, err := source.read(ctx, table, columns)
	if err != nil {
		return TableSum{}, err
	}
	defer rows.close()
	next := func() ([]any, error) {
		values, err := rows.next()
		if err == nil && target.d == postgresDialect {
			err = storable(table, columns, values)
		}
		return values, err
	}
	if target.d == postgresDialect {
		err = target.copyFrom(ctx, table, columns, next)
	} else {
		err = target.insert(ctx, table, columns, next)
	}
	return rows.sum, err
}

// sum reads a table and returns its sum.
func (s *snapshot) sum(ctx context.Context, table string) (TableSum, error) {
	columns, err := s.columns(ctx, table)
	if err != nil {
		return TableSum{}, err
	}
	rows, err := s.read(ctx, table, columns)
	if err != nil {
		return TableSum{}, err
	}
	defer rows.close()
	for {
		if _, err := rows.next(); errors.Is(err, io.EOF) {
			return rows.sum, nil
		} else if err != nil {
			return TableSum{}, err
		}
	}
}

// read begins to read a table. It reads the journal without the holder of its
// lease, so that no orchestrator holds the copy.
func (s *snapshot) read(ctx context.Context, table string, columns []string) (*tableRows, error) {
	list := strings.Join(columns, ", ")
	if table == "journal" {
		list = strings.NewReplacer("holder", "'' AS holder", "renewed_at", "0 AS renewed_at").Replace(list)
	}
	rows, err := s.conn.QueryContext(ctx, "SELECT "+list+" FROM "+table+" ORDER BY 1") //nolint:gosec,rowserrcheck // names of our own; tableRows checks
	if err != nil {
		return nil, s.d.edge(ctx, fmt.Errorf("read %s: %w", table, err))
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, s.d.edge(ctx, errors.Join(err, rows.Close())) //nolint:sqlclosecheck // otherwise tableRows closes them
	}
	return &tableRows{d: s.d, ctx: ctx, rows: rows, types: types, sum: TableSum{Table: table}}, nil
}

// tableRows reads the rows of a table. It converts their values to types that are
// the same on both engines: nil, int64, bool or string.
type tableRows struct {
	d     *dialect
	ctx   context.Context //nolint:containedctx // of the one query
	rows  *sql.Rows
	types []*sql.ColumnType
	sum   TableSum // of the rows that were read so far
}

func (r *tableRows) close() { _ = r.rows.Close() }

// next returns the next row, or io.EOF.
func (r *tableRows) next() ([]any, error) {
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return nil, r.d.edge(r.ctx, fmt.Errorf("read %s: %w", r.sum.Table, err))
		}
		return nil, io.EOF
	}
	values := make([]any, len(r.types))
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	if err := r.rows.Scan(into...); err != nil {
		return nil, r.d.edge(r.ctx, fmt.Errorf("read %s: %w", r.sum.Table, err))
	}
	row := sha256.New()
	for i, v := range values {
		var kind byte
		var text string
		switch v := v.(type) {
		case nil:
		case bool:
			kind, text = 'b', fmt.Sprint(v)
		case int64:
			kind, text = 'i', fmt.Sprint(v)
			if r.types[i].DatabaseTypeName() == "BOOLEAN" { // SQLite stores it as a number
				values[i], kind, text = v != 0, 'b', fmt.Sprint(v != 0)
			}
		case int32: // PostgreSQL's type of a literal, as in "0 AS renewed_at"
			values[i], kind, text = int64(v), 'i', fmt.Sprint(v)
		case []byte:
			values[i], kind, text = string(v), 't', string(v)
		case string:
			kind, text = 't', v
		default:
			return nil, fmt.Errorf("read %s: a column has values of type %T", r.sum.Table, v)
		}
		_, _ = row.Write(binary.LittleEndian.AppendUint64([]byte{kind}, uint64(len(text)))) // a hash never returns an error
		_, _ = io.WriteString(row, text)
	}
	r.sum.add([sha256.Size]byte(row.Sum(nil)))
	return values, nil
}

func (s *TableSum) add(row [sha256.Size]byte) {
	s.Rows++
	var carry uint64
	for i := range s.hash {
		s.hash[i], carry = bits.Add64(s.hash[i], binary.LittleEndian.Uint64(row[8*i:]), carry)
	}
}

// storable returns an error that names the row and the column if a text cannot be
// stored by PostgreSQL.
func storable(table string, columns []string, values []any) error {
	for i, v := range values {
		if text, ok := v.(string); ok && (strings.Contains(text, "\x00") || !utf8.ValidString(text)) {
			return svc.Errorf(svc.CodeConflict, "PostgreSQL cannot store column %s of the row %v of table %s: it has a NUL or is not UTF-8",
				columns[i], values[0], table)
		}
	}
	return nil
}

// copyFrom fills a table of PostgreSQL with one statement, so that rows may
// refer to later rows.
func (t *target) copyFrom(ctx context.Context, table string, columns []string, next func() ([]any, error)) error {
	var failed error // the error of next: the driver returns only its text
	err := t.conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(func() ([]any, error) {
			values, err := next()
			if errors.Is(err, io.EOF) {
				return nil, nil
			}
			failed = err
			return values, err
		}))
		return err
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return t.d.edge(ctx, fmt.Errorf("write %s: %w", table, err))
	}
	return nil
}

// insert fills a table of SQLite.
func (t *target) insert(ctx context.Context, table string, columns []string, next func() ([]any, error)) error {
	places := make([]string, len(columns))
	for i := range places {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	into := table + " (" + strings.Join(columns, ", ") + ")"
	statement, err := t.conn.PrepareContext(ctx, "INSERT INTO "+into+" VALUES ("+strings.Join(places, ", ")+")") //nolint:gosec // names of our own
	if err != nil {
		return t.d.edge(ctx, fmt.Errorf("write %s: %w", table, err))
	}
	defer func() { _ = statement.Close() }()
	for {
		values, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_, err = statement.ExecContext(ctx, values...)
		}
		if err != nil {
			return t.d.edge(ctx, fmt.Errorf("write %s: %w", table, err))
		}
	}
}
