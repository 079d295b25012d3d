package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

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
	lease    *lease
	maxBatch int
	now      func() svc.Time
	announce func()
	proven   atomic.Int64 // when the last commit was answered, in ns since began
	began    time.Time
	lose     func() error // nil: no answer is lost

	queue  chan *unit
	closed chan struct{}
	once   sync.Once
	done   chan struct{}

	// of the goroutine alone
	conn    *sql.Conn
	stmts   *statements
	q       edged // of stmts
	serial  int64 // of the newest unit
	commits int64 // as the group that is being committed counted it
	rows    *runRows
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

const (
	// queueLimit is how long a caller waits for a place in a full queue.
	queueLimit = 5 * time.Second
	// groupLimit is when a group takes in no more units: on a database this slow
	// the rest is refused rather than kept waiting.
	groupLimit = 15 * time.Second
)

var errClosed = svc.Unavailable(svc.CauseShuttingDown)

func newWriter(s *Store, o Options) *writer {
	w := &writer{db: s.write, dialect: s.dialect, lease: s.lease, maxBatch: o.MaxBatch, now: s.clock, announce: s.announce, lose: o.LoseAnswer,
		rows: newRunRows(s.dialect), began: time.Now(),
		queue: make(chan *unit, 4*o.MaxBatch), closed: make(chan struct{}), done: make(chan struct{})}
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
	default:
	}
	full := time.NewTimer(queueLimit)
	defer full.Stop()
	select {
	case w.queue <- u:
		return u
	case <-full.C:
		return u.refused(svc.Unavailable(svc.CauseDatabaseBusy))
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
	if err == nil {
		w.proven.Store(int64(time.Since(w.began)))
	}
	for _, u := range batch {
		if err != nil && u.err == nil {
			u.err = err
		}
		close(u.done)
	}
	if events && err == nil {
		w.announce()
	}
	if err != nil && w.conn == nil && svc.CauseOf(err) == svc.CauseDatabaseUnreachable {
		w.refuseQueued(err)
	}
}

// refuseQueued answers those that wait for a database that is away: each group
// of them would wait for it again.
func (w *writer) refuseQueued(err error) {
	for range len(w.queue) {
		(<-w.queue).refused(err)
	}
}

func (w *writer) transact(batch []*unit) (events bool, err error) {
	if err := w.lease.check(); err != nil {
		return false, err
	}
	ctx := context.Background() // a group outlives any one caller; w.q limits each statement
	if err := w.begin(ctx); err != nil {
		return false, err
	}
	if err := w.runBatch(ctx, batch); err != nil {
		w.disconnect() // ends the transaction with it
		return false, err
	}
	var telling []*unit
	for _, u := range batch {
		if len(u.events) > 0 {
			telling = append(telling, u)
		}
	}
	if err := w.journal(ctx, telling); err != nil {
		w.disconnect()
		return false, err
	}
	if _, err := w.q.ExecContext(ctx, "COMMIT"); err != nil {
		w.disconnect()
		if err = w.settle(ctx, fmt.Errorf("commit: %w", err)); err != nil {
			return false, err
		}
	}
	if w.lose != nil {
		if err := w.lose(); err != nil {
			w.disconnect()
			return false, fmt.Errorf("commit: %w", err)
		}
	}
	return len(telling) > 0, nil
}

// begin begins a transaction. A connection that was left from the group before
// may have died since; then nothing was done, and a new one is tried.
func (w *writer) begin(ctx context.Context) error {
	for {
		fresh := w.conn == nil
		err := w.connect(ctx)
		if err == nil {
			if _, err = w.q.ExecContext(ctx, w.dialect.begin); err == nil {
				return nil
			}
			err = fmt.Errorf("begin: %w", err)
		}
		w.disconnect()
		if fresh || w.dialect.statementLimit == 0 {
			return err
		}
	}
}

func (w *writer) runBatch(ctx context.Context, batch []*unit) error {
	began := time.Now()
	for rest := batch; len(rest) > 0; {
		if time.Since(began) > groupLimit {
			for _, u := range rest {
				u.err = svc.Unavailable(svc.CauseDatabaseBusy)
			}
			return nil
		}
		n := together(rest)
		if broken := w.runUnits(ctx, rest[:n]); broken != nil {
			return broken
		}
		rest = rest[n:]
	}
	return nil
}

// settleLimit bounds the search for what became of a commit.
const settleLimit = 6 * time.Second

// settle finds out what became of a COMMIT that was not answered: nil means that
// it took place. The one that holds the lease is the only one that counts
// commits, and the row is locked until the server is done with the old
// transaction. Without an answer the caller is told that nobody knows.
func (w *writer) settle(ctx context.Context, failed error) error {
	if svc.CauseOf(failed) != svc.CauseDatabaseUnreachable {
		return failed // the database itself refused it
	}
	want := w.commits
	for deadline := time.Now().Add(settleLimit); w.lease != nil && time.Now().Before(deadline); {
		var epoch, commits int64
		err := w.connect(ctx)
		if err == nil {
			err = w.q.QueryRowContext(ctx, "SELECT epoch, commits FROM journal WHERE id = 1 FOR UPDATE").Scan(&epoch, &commits)
		}
		switch {
		case err != nil:
			w.disconnect()
			time.Sleep(100 * time.Millisecond) // the writer has nothing else to do
		case epoch == w.lease.epoch && commits == want:
			return nil
		case epoch == w.lease.epoch && commits == want-1:
			return failed
		default:
			deadline = time.Time{}
		}
	}
	return svc.Errorf(svc.CodeUnavailable, "the database went away while it committed: the change may or may not have happened; "+
		"look first, or repeat the request with the same Idempotency-Key").
		With("cause", string(svc.CauseDatabaseUnreachable)).With("outcome", "unknown").Because(failed)
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
	if _, err := w.q.ExecContext(ctx, "SAVEPOINT unit"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	whole := true
	for i := 0; i < len(units) && whole; i++ {
		whole = w.runUnit(units[i])
	}
	if whole {
		// It fails when a statement of a unit did and the unit went on.
		_, err := w.q.ExecContext(ctx, "RELEASE SAVEPOINT unit")
		if err == nil {
			return nil
		}
		units[0].err = err
	}
	w.rows.clear()
	for _, undo := range []string{"ROLLBACK TO SAVEPOINT unit", "RELEASE SAVEPOINT unit"} {
		if _, err := w.q.ExecContext(ctx, undo); err != nil {
			return fmt.Errorf("roll back a unit: %w", errors.Join(units[0].err, err))
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
	tx := &Tx{Reader: Reader{q: w.q, d: w.dialect}, Now: u.at, Serial: w.serial, rows: w.rows}
	tx.q.failed = &tx.failed
	if u.err = tx.run(u.fn); u.err == nil {
		u.events, u.err = encodeDrafts(tx.drafts, svc.CallerName(u.ctx))
	}
	if u.err == nil {
		w.rows.keep(tx.runs)
		return true
	}
	u.events = nil
	var decided *svc.Error // by the unit itself
	return !tx.wrote && !tx.failed && errors.As(u.err, &decided)
}

func (w *writer) connect(ctx context.Context) error {
	if w.conn != nil {
		return nil
	}
	if w.dialect.statementLimit > 0 {
		limited, cancel := context.WithTimeout(ctx, connectLimit)
		defer cancel()
		ctx = limited
	}
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return w.dialect.edge(context.Background(), fmt.Errorf("connect the writer: %w", err))
	}
	w.conn, w.stmts = conn, newStatements(conn)
	w.q = edged{q: w.stmts, d: w.dialect, detached: true}
	return nil
}

// disconnect drops the connection, and with it any open transaction.
func (w *writer) disconnect() {
	w.rows.clear()
	if w.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = w.conn.ExecContext(ctx, "ROLLBACK") // fails when nothing is open
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
	failed bool // a statement did
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
