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
	// Now is the unit's clock, fixed at its start.
	Now svc.Time
	// Serial counts the units of this process. Between two that follow each
	// other nothing of it changed the database.
	Serial int64

	w          *writer
	repeatable bool
	drafts     []svc.Draft
	after      []func()
	wrote      bool
	failed     bool               // a statement did
	changes    changes            // that wait
	runs       map[string]svc.Run // that this unit locked or wrote, by id
	kept       map[string]keptRow // idempotency keys that it wrote
	added      []string           // runs that it made
	taken      []svc.Signal       // that it took
}

// Emit journals an event with this unit, if it commits.
func (tx *Tx) Emit(topic svc.Topic, payload map[string]any) {
	tx.drafts = append(tx.drafts, svc.Draft{Topic: topic, Payload: payload})
}

// After calls fn once the unit is durable, before whoever waits for it is told. The writer waits for fn, which must not block.
func (tx *Tx) After(fn func()) { tx.after = append(tx.after, fn) }

// run keeps a panic of one unit from taking the writer down.
func (tx *Tx) run(fn func(*Tx) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in a unit of work: %v\n%s", v, debug.Stack())
		}
	}()
	return fn(tx)
}

// exec changes something at once and says how many rows.
func (tx *Tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tx.wrote = true
	tx.w.locked.targets = nil // it may have been one of them
	res, err := tx.q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// defers says that what is certain to succeed may wait: it saves a round trip,
// or the same row is written once instead of twice. If it fails after all, the
// unit is run again and waits for nothing.
func (tx *Tx) defers() bool { return tx.repeatable && !tx.w.direct }

// later changes exactly so many rows, at once or together with what follows.
func (tx *Tx) later(ctx context.Context, rows int64, query string, args ...any) error {
	if tx.defers() {
		tx.changes.add(statement{sql: query, args: args, rows: rows})
		return nil
	}
	n, err := tx.exec(ctx, query, args...)
	if err == nil && rows != anyRows && n != rows {
		err = stale(statement{sql: query, rows: rows}, n)
	}
	return err
}
