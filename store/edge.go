package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"svc"
)

// edge translates the error of a driver into one that a caller can handle. No
// other function does that. ctx is the caller's.
func (d *dialect) edge(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var known *svc.Error
	switch {
	case errors.Is(err, sql.ErrNoRows), errors.As(err, &known):
		return err
	case d.unique(err):
		return svc.Errorf(svc.CodeConflict, "another request has just taken that name").Because(err)
	case ctx.Err() != nil: // the driver's error is a consequence of that
		return errors.Join(ctx.Err(), err)
	}
	if cause := d.cause(err); cause != "" {
		return svc.Unavailable(cause).Because(err)
	}
	return err
}

// edged is a querier whose errors are translated by edge and whose statements
// have a time limit. All records are read and written through it.
type edged struct {
	q querier
	d *dialect
	// detached: the end of the caller's context does not cancel a statement. In a
	// group that would close the connection, and with it the transaction of all
	// units.
	detached bool
	failed   *bool        // set when a statement fails; nil: not needed
	before   func() error // called before each statement; nil: nothing is to be done
}

// ready calls before.
func (e edged) ready(ctx context.Context) error {
	if e.before == nil {
		return nil
	}
	return e.edge(ctx, e.before())
}

// bound returns the context of a statement, with its time limit. The caller must
// call the cancel function when the statement has ended.
func (e edged) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if e.detached && ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if e.d.statementLimit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, e.d.statementLimit)
}

func (e edged) edge(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if e.failed != nil && !errors.Is(err, sql.ErrNoRows) {
		*e.failed = true
	}
	if e.detached {
		ctx = context.Background()
	}
	return e.d.edge(ctx, err)
}

// QueryRowContext queries one row.
func (e edged) QueryRowContext(ctx context.Context, query string, args ...any) edgedRow {
	if err := e.ready(ctx); err != nil {
		return edgedRow{err: err}
	}
	inner, cancel := e.bound(ctx)
	return edgedRow{row: e.q.QueryRowContext(inner, query, args...), e: e, ctx: ctx, cancel: cancel}
}

// QueryContext queries rows.
func (e edged) QueryContext(ctx context.Context, query string, args ...any) (*edgedRows, error) {
	if err := e.ready(ctx); err != nil {
		return nil, err
	}
	inner, cancel := e.bound(ctx)
	rows, err := e.q.QueryContext(inner, query, args...) //nolint:rowserrcheck // edgedRows does it
	if err != nil {
		cancel()
		return nil, e.edge(ctx, err)
	}
	return &edgedRows{Rows: rows, e: e, ctx: ctx, cancel: cancel}, nil
}

// ExecContext executes a statement that returns no rows.
func (e edged) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := e.ready(ctx); err != nil {
		return nil, err
	}
	inner, cancel := e.bound(ctx)
	defer cancel()
	res, err := e.q.ExecContext(inner, query, args...)
	return res, e.edge(ctx, err)
}

type edgedRow struct {
	row    *sql.Row
	e      edged
	ctx    context.Context //nolint:containedctx // of the one call that the row belongs to
	cancel context.CancelFunc
	err    error // why the query was not executed
}

// Scan reads the row. It returns sql.ErrNoRows if there is none.
func (r edgedRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.cancel()
	return r.e.edge(r.ctx, r.row.Scan(dest...))
}

type edgedRows struct {
	*sql.Rows
	e      edged
	ctx    context.Context //nolint:containedctx // of the one call that the rows belong to
	cancel context.CancelFunc
}

// Err returns the error that ended the rows early; nil: they are complete.
func (r *edgedRows) Err() error { return r.e.edge(r.ctx, r.Rows.Err()) }

// Scan reads a row.
func (r *edgedRows) Scan(dest ...any) error { return r.e.edge(r.ctx, r.Rows.Scan(dest...)) }

// Close ends the statement.
func (r *edgedRows) Close() error {
	defer r.cancel()
	return r.Rows.Close()
}

// withLimit runs do, and calls cancel if do takes longer than the limit of a
// statement. It is for calls that begin or end a transaction: a context with a
// deadline would end the transaction too.
func (d *dialect) withLimit(cancel context.CancelFunc, do func() error) error {
	if d.statementLimit == 0 {
		return do()
	}
	t := time.AfterFunc(d.statementLimit, cancel)
	defer t.Stop()
	return do()
}
