package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"svc"
)

// mostTogether bounds the units that share a savepoint.
const mostTogether = 64

// writer runs units of work one after the other on one connection and commits
// them in groups. Whoever arrives while a group is being committed is in the
// next one, so groups grow by themselves as the load does.
type writer struct {
	db       *sql.DB
	dialect  *dialect
	maxBatch int
	now      func() svc.Time
	announce func()

	queue  chan *unit
	closed chan struct{}
	once   sync.Once
	done   chan struct{}

	// of the goroutine alone
	conn   *sql.Conn
	stmts  *statements
	serial int64 // of the newest unit
	rows   *runRows
}

type unit struct {
	ctx    context.Context
	fn     func(*Tx) error
	events []encoded
	at     svc.Time
	err    error
	done   chan struct{}

	repeatable bool // fn may be run again
}

var errClosed = svc.Errorf(svc.CodeUnavailable, "the orchestrator is shutting down")

func newWriter(db *sql.DB, d *dialect, maxBatch int, now func() svc.Time, announce func()) *writer {
	w := &writer{db: db, dialect: d, maxBatch: maxBatch, now: now, announce: announce, rows: newRunRows(d),
		queue: make(chan *unit, 4*maxBatch), closed: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

// queueUnit puts a unit behind those that are queued already. It waits only
// while the queue is full.
func (w *writer) queueUnit(ctx context.Context, fn func(*Tx) error, repeatable bool) *unit {
	u := &unit{ctx: ctx, fn: fn, repeatable: repeatable, done: make(chan struct{})}
	select {
	case <-w.closed:
		return u.refused(errClosed)
	default:
	}
	select {
	case w.queue <- u:
		return u
	case <-w.closed:
		return u.refused(errClosed)
	case <-ctx.Done():
		return u.refused(ctx.Err())
	}
}

func (u *unit) refused(err error) *unit {
	u.err = err
	close(u.done)
	return u
}

// wait returns when the unit is durable or failed.
func (w *writer) wait(u *unit) error {
	select {
	case <-u.done:
		return u.err
	case <-w.done: // closed while queued
		select {
		case <-u.done:
			return u.err
		default:
			return errClosed
		}
	}
}

// close lets what is queued finish.
func (w *writer) close() {
	w.once.Do(func() { close(w.closed) })
	<-w.done
}

func (w *writer) run() {
	defer close(w.done)
	defer w.disconnect()
	for {
		select {
		case u := <-w.queue:
			w.commit(w.gather(u))
		case <-w.closed:
			for {
				select {
				case u := <-w.queue:
					w.commit(w.gather(u))
				default:
					return
				}
			}
		}
	}
}

func (w *writer) gather(first *unit) []*unit {
	batch := []*unit{first}
	for len(batch) < w.maxBatch {
		select {
		case u := <-w.queue:
			batch = append(batch, u)
		default:
			return batch
		}
	}
	return batch
}

// commit runs a group. A unit that fails is rolled back to its savepoint and
// touches no other; a commit that fails fails them all.
func (w *writer) commit(batch []*unit) {
	events, err := w.transact(batch)
	for _, u := range batch {
		if err != nil && u.err == nil {
			u.err = err
		}
		close(u.done)
	}
	if events && err == nil {
		w.announce()
	}
}

func (w *writer) transact(batch []*unit) (events bool, err error) {
	ctx := context.Background() // a group outlives any one caller
	if err := w.connect(ctx); err != nil {
		return false, err
	}
	if _, err := w.conn.ExecContext(ctx, w.dialect.begin); err != nil {
		w.disconnect()
		return false, fmt.Errorf("begin: %w", err)
	}
	var telling []*unit
	for rest := batch; len(rest) > 0; {
		n := together(rest)
		if broken := w.runUnits(ctx, rest[:n]); broken != nil {
			w.disconnect() // ends the transaction with it
			return false, broken
		}
		rest = rest[n:]
	}
	for _, u := range batch {
		if len(u.events) > 0 {
			telling = append(telling, u)
		}
	}
	if err := w.journal(ctx, telling); err != nil {
		w.disconnect()
		return false, err
	}
	if _, err := w.stmts.ExecContext(ctx, "COMMIT"); err != nil {
		w.disconnect()
		return false, fmt.Errorf("commit: %w", err)
	}
	return len(telling) > 0, nil
}

// together is how many units from the start share a savepoint.
func together(batch []*unit) int {
	n := 1
	for batch[0].repeatable && n < min(len(batch), mostTogether) && batch[n].repeatable {
		n++
	}
	return n
}

// runUnits runs units in one savepoint. The error of a single unit stays with
// it. When one of several fails after it changed something, all are undone, and
// each is run again by itself. An error of the savepoint breaks the group.
func (w *writer) runUnits(ctx context.Context, units []*unit) (broken error) {
	if _, err := w.stmts.ExecContext(ctx, "SAVEPOINT unit"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	whole := true
	for i := 0; i < len(units) && whole; i++ {
		whole = w.runUnit(units[i])
	}
	if whole {
		// It fails when a statement of a unit did and the unit went on.
		_, err := w.stmts.ExecContext(ctx, "RELEASE SAVEPOINT unit")
		if err == nil {
			return nil
		}
		units[0].err = err
	}
	w.rows.clear()
	for _, undo := range []string{"ROLLBACK TO SAVEPOINT unit", "RELEASE SAVEPOINT unit"} {
		if _, err := w.stmts.ExecContext(ctx, undo); err != nil {
			return fmt.Errorf("roll back a unit: %w", errors.Join(err, units[0].err))
		}
	}
	if len(units) == 1 {
		units[0].events = nil
		return nil
	}
	for _, u := range units {
		if broken := w.runUnits(ctx, []*unit{u}); broken != nil {
			return broken
		}
	}
	return nil
}

// runUnit is false when the unit failed and may have changed something.
func (w *writer) runUnit(u *unit) (whole bool) {
	u.events = nil
	if u.err = u.ctx.Err(); u.err != nil {
		return true
	}
	u.at = w.now()
	w.serial++
	tx := &Tx{Reader: Reader{q: patient{w.stmts}, d: w.dialect}, Now: u.at, Serial: w.serial, rows: w.rows}
	if u.err = tx.run(u.fn); u.err == nil {
		u.events, u.err = encodeDrafts(tx.drafts, svc.CallerName(u.ctx))
	}
	if u.err == nil {
		w.rows.keep(tx.runs)
		return true
	}
	u.events = nil
	var decided *svc.Error // by the unit; anything else may be a statement's
	return !tx.wrote && errors.As(u.err, &decided)
}

// patient runs statements to their end: a caller that leaves in the middle of
// one would take the connection along, and with it everyone's transaction.
type patient struct{ q querier }

func (p patient) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.q.QueryContext(context.WithoutCancel(ctx), query, args...)
}

func (p patient) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return p.q.QueryRowContext(context.WithoutCancel(ctx), query, args...)
}

func (p patient) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return p.q.ExecContext(context.WithoutCancel(ctx), query, args...)
}

func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect the writer: %w", err)
	}
	w.conn, w.stmts = conn, newStatements(conn)
	return nil
}

// disconnect drops the connection, and with it any open transaction.
func (w *writer) disconnect() {
	w.rows.clear()
	if w.conn == nil {
		return
	}
	_, _ = w.conn.ExecContext(context.Background(), "ROLLBACK") // fails when nothing is open
	w.stmts.close()
	_ = w.conn.Close()
	w.conn, w.stmts = nil, nil
}

// Tx is a unit of work: reads that see its own writes, and changes.
type Tx struct {
	Reader
	// Now is the unit's clock, fixed at its start.
	Now svc.Time
	// Serial counts the units of this process. Between two that follow each
	// other nothing of it changed the database.
	Serial int64
	drafts []svc.Draft
	wrote  bool
	rows   *runRows
	runs   map[string]svc.Run // that this unit locked or wrote, by id
}

// Emit journals an event with this unit, if it commits.
func (tx *Tx) Emit(topic svc.Topic, payload map[string]any) {
	tx.drafts = append(tx.drafts, svc.Draft{Topic: topic, Payload: payload})
}

// run keeps a panic of one unit from taking the writer down.
func (tx *Tx) run(fn func(*Tx) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in a unit of work: %v\n%s", v, debug.Stack())
		}
	}()
	return fn(tx)
}

func (tx *Tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tx.wrote = true
	res, err := tx.q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
