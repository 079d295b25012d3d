package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"svc"
)

// edge turns what a driver says into what a caller can act on. It is the one
// place that decides; ctx is the caller's.
func (d *dialect) edge(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var known *svc.Error
	switch {
	case errors.Is(err, sql.ErrNoRows), errors.As(err, &known):
		return err
	case d.unique(err):
		return svc.Errorf(svc.CodeConflict, "someone else just took that name").Because(err)
	case ctx.Err() != nil: // then whatever a driver says follows from that
		return errors.Join(ctx.Err(), err)
	}
	if cause := d.cause(err); cause != "" {
		return svc.Unavailable(cause).Because(err)
	}
	return err
}

// edged is a querier whose errors have passed the edge and whose statements all
// end. Everything that reads or writes records goes through one.
type edged struct {
	q querier
	d *dialect
	// detached statements run to their end whatever becomes of the caller: in a
	// group, a caller that leaves in the middle of a statement would take the
	// connection along, and with it everyone's transaction.
	detached bool
	failed   *bool        // set when a statement fails; nil: nobody asks
	before   func() error // is called before each statement; nil: nothing is to be done
}

// ready does what comes before a statement.
func (e edged) ready(ctx context.Context) error {
	if e.before == nil {
		return nil
	}
	return e.edge(ctx, e.before())
}

// bound limits a statement. What it gives must be called when it is over.
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

// QueryRowContext asks for one row.
func (e edged) QueryRowContext(ctx context.Context, query string, args ...any) edgedRow {
	if err := e.ready(ctx); err != nil {
		return edgedRow{err: err}
	}
	inner, cancel := e.bound(ctx)
	return edgedRow{row: e.q.QueryRowContext(inner, query, args...), e: e, ctx: ctx, cancel: cancel}
}

// QueryContext asks for rows.
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

// ExecContext changes something.
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
	err    error // that kept it from being asked for
}

// Scan reads the row; without one it is sql.ErrNoRows.
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

// Err is what ended the rows before their time.
func (r *edgedRows) Err() error { return r.e.edge(r.ctx, r.Rows.Err()) }

// Scan reads a row.
func (r *edgedRows) Scan(dest ...any) error { return r.e.edge(r.ctx, r.Rows.Scan(dest...)) }

// Close ends the statement.
func (r *edgedRows) Close() error {
	defer r.cancel()
	return r.Rows.Close()
}

// within runs do under a context that ends when do takes longer than the limit
// of a statement, and then lives on with its parent. It is for what begins a
// transaction, whose context must outlive the call.
func (d *dialect) within(cancel context.CancelFunc, do func() error) error {
	if d.statementLimit == 0 {
		return do()
	}
	t := time.AfterFunc(d.statementLimit, cancel)
	defer t.Stop()
	return do()
}
