package store

import (
	"context"
	"fmt"
	"runtime/debug"

	"svc"
)

// Tx is a unit of work: reads that see its own writes, and changes.
type Tx struct {
	Reader
	// Now is the time of the unit, fixed at its start.
	Now svc.Time
	// Serial numbers the units of this process in the order in which they run.
	// Between two consecutive units this process does not change the database.
	Serial int64

	w          *writer
	repeatable bool
	drafts     []svc.Draft
	after      []func()
	wrote      bool
	failed     bool                // a statement has failed
	changes    changes             // deferred changes
	runs       map[string]*svc.Run // runs that this unit locked or wrote, by id
	kept       map[string]keptRow  // idempotency keys that it wrote
	added      []string            // runs that it inserted
	taken      []svc.Signal        // signals that it recorded
}

// Emit journals an event with this unit, if it commits.
func (tx *Tx) Emit(topic svc.Topic, payload map[string]any) {
	tx.drafts = append(tx.drafts, svc.Draft{Topic: topic, Payload: payload})
}

// After calls fn once the unit is durable, before Write returns. The writer calls fn, so it must not block.
func (tx *Tx) After(fn func()) { tx.after = append(tx.after, fn) }

// run calls fn. It turns a panic into an error, so that the writer continues.
func (tx *Tx) run(fn func(*Tx) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in a unit of work: %v\n%s", v, debug.Stack())
		}
	}()
	return fn(tx)
}

// exec executes a statement at once and returns how many rows it changed.
func (tx *Tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tx.wrote = true
	tx.w.locked.targets = nil // the statement may change one of them
	res, err := tx.q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// mayDefer reports whether a change that is certain to succeed can be deferred:
// that saves a round trip, or writes a row once instead of twice. If a deferred
// change fails nevertheless, the unit is run again without deferring.
func (tx *Tx) mayDefer() bool { return tx.repeatable && !tx.w.direct }

// later executes a statement that must change exactly this many rows, at once or
// deferred.
func (tx *Tx) later(ctx context.Context, rows int64, query string, args ...any) error {
	return tx.put(ctx, statement{sql: query, args: args, rows: rows})
}

// put is later for a statement.
func (tx *Tx) put(ctx context.Context, s statement) error {
	if tx.mayDefer() {
		tx.changes.add(s)
		return nil
	}
	n, err := tx.exec(ctx, s.sql, s.args...)
	if err == nil && s.rows != anyRows && n != s.rows {
		err = stale(s, n)
	}
	return err
}
