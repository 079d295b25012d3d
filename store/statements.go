package store

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// statements is a querier that prepares each text once, because parsing a
// statement costs SQLite more than executing it. There are few texts, plus some
// dozens for lists with their filters.
type statements struct {
	db interface {
		querier
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	}
	text  func(query string) string // returns the text that is sent to the database
	mu    sync.Mutex                // guards known
	known map[string]*sql.Stmt
}

// mostStatements is the size of the cache. When it is full, other statements are
// executed unprepared.
const mostStatements = 400

func newStatements(db interface {
	querier
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}, d *dialect) *statements {
	return &statements{db: db, text: d.text, known: map[string]*sql.Stmt{}}
}

var numbered = regexp.MustCompile(`\$[0-9]+`)

// unnumbered replaces the numbered parameters of a query by "?", if each is used
// once and in order. SQLite's driver searches each numbered parameter by its name
// among all names.
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
	stmt, err := s.db.PrepareContext(ctx, s.text(query)) // the statement outlives ctx
	if err != nil {
		return nil // the unprepared call returns the error
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

// txStatements executes statements in a transaction. A text that is prepared already is used in its prepared form.
// Other texts are executed unprepared and are prepared after the transaction: preparing needs another connection, and
// a goroutine that holds a connection must not wait for a second one.
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

// prepareNoted prepares the noted texts. Call it after the transaction.
func (t *txStatements) prepareNoted(ctx context.Context) {
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
