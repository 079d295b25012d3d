package store

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// statements is a querier that prepares each text once. Parsing a statement
// costs SQLite more than running it; the texts are few and fixed but for the
// lists', whose filters make some dozens.
type statements struct {
	db interface {
		querier
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	}
	text  func(query string) string // as the database is given it
	mu    sync.Mutex                // guards known
	known map[string]*sql.Stmt
}

// mostStatements bounds the cache; past it a statement runs unprepared.
const mostStatements = 400

func newStatements(db interface {
	querier
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}, d *dialect) *statements {
	return &statements{db: db, text: d.text, known: map[string]*sql.Stmt{}}
}

var numbered = regexp.MustCompile(`\$[0-9]+`)

// unnumbered is a query whose parameters have no numbers, where each is used
// once and in order: SQLite's driver looks for the name of each, among the names
// of all.
func unnumbered(query string) string {
	if strings.Contains(query, "?") {
		return query
	}
	for i, parameter := range numbered.FindAllString(query, -1) {
		if parameter != "$"+strconv.Itoa(i+1) {
			return query
		}
	}
	return numbered.ReplaceAllString(query, "?")
}

func (s *statements) find(query string) (stmt *sql.Stmt, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[query], len(s.known) >= mostStatements
}

func (s *statements) prepared(ctx context.Context, query string) *sql.Stmt {
	stmt, full := s.find(query)
	if stmt != nil || full {
		return stmt
	}
	stmt, err := s.db.PrepareContext(ctx, s.text(query)) // it outlives ctx
	if err != nil {
		return nil // the unprepared call reports what is wrong
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.known[query]; other != nil {
		_ = stmt.Close()
		return other
	}
	s.known[query] = stmt
	return stmt
}

func (s *statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := s.prepared(ctx, query); stmt != nil {
		return stmt.QueryContext(ctx, args...)
	}
	return s.db.QueryContext(ctx, query, args...)
}

func (s *statements) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt := s.prepared(ctx, query); stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	return s.db.QueryRowContext(ctx, query, args...)
}

func (s *statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if stmt := s.prepared(ctx, query); stmt != nil {
		return stmt.ExecContext(ctx, args...)
	}
	return s.db.ExecContext(ctx, query, args...)
}

func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stmt := range s.known {
		_ = stmt.Close()
	}
	s.known = map[string]*sql.Stmt{}
}

// txStatements is statements in a transaction. One that is prepared runs so there; one that is not runs as it is and is
// noted: preparing takes another connection, and a holder of one must not wait for a second.
type txStatements struct {
	*sql.Tx
	known *statements
	noted []string
}

func (t *txStatements) prepared(ctx context.Context, query string) *sql.Stmt {
	stmt, full := t.known.find(query)
	switch {
	case stmt != nil:
		return t.StmtContext(ctx, stmt)
	case !full:
		t.noted = append(t.noted, query)
	}
	return nil
}

// learn prepares what was noted, once the transaction is over.
func (t *txStatements) learn(ctx context.Context) {
	for _, query := range t.noted {
		t.known.prepared(ctx, query)
	}
}

func (t *txStatements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := t.prepared(ctx, query); stmt != nil {
		return stmt.QueryContext(ctx, args...)
	}
	return t.Tx.QueryContext(ctx, query, args...)
}

func (t *txStatements) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt := t.prepared(ctx, query); stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	return t.Tx.QueryRowContext(ctx, query, args...)
}
