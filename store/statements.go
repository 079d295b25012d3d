package store

import (
	"context"
	"database/sql"
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
	mu    sync.Mutex // guards known
	known map[string]*sql.Stmt
}

// mostStatements bounds the cache; past it a statement runs unprepared.
const mostStatements = 400

func newStatements(db interface {
	querier
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}) *statements {
	return &statements{db: db, known: map[string]*sql.Stmt{}}
}

func (s *statements) prepared(ctx context.Context, query string) *sql.Stmt {
	s.mu.Lock()
	stmt := s.known[query]
	full := len(s.known) >= mostStatements
	s.mu.Unlock()
	if stmt != nil || full {
		return stmt
	}
	stmt, err := s.db.PrepareContext(ctx, query) // it outlives ctx
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
