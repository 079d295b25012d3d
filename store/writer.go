package store

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"svc"
)

// writer runs units of work one after the other on one connection and commits
// them in groups. Whoever arrives while a group is being committed is in the
// next one, so groups grow by themselves as the load does.
type writer struct {
	id       string // under which it notes what it has committed
	db       *sql.DB
	dialect  *dialect
	lease    *lease
	counts   *Counts
	maxBatch int
	now      func() svc.Time
	announce func([]svc.Event) // that are at hand of what was committed
	proven   atomic.Int64      // when the last commit was answered, in ns since began
	began    time.Time
	lose     func() error                        // nil: no answer is lost
	observe  atomic.Pointer[func(time.Duration)] // nil: nobody does

	queue  chan *unit
	closed chan struct{}
	once   sync.Once
	done   chan struct{}

	// of the goroutine alone
	conn    *sql.Conn
	stmts   *statements
	q       edged  // of stmts
	serial  int64  // of the newest unit
	xid     string // of the transaction, where the database tells
	group   int64  // of the newest transaction
	rows    *runRows
	locked  lockedRows
	changes changes // of the units that share the savepoint
	saved   bool    // there is something to undo: the savepoint is set
	alone   bool    // the group is one unit, and the transaction its savepoint
	direct  bool    // nothing waits: what waited before was refused
	proving bool    // the transaction shall write something, though its units may not
	// numbered is the events of the newest group, where we know their numbers.
	numbered []svc.Event
}

type unit struct {
	ctx    context.Context
	fn     func(*Tx) error
	events []encoded
	after  []func() // see Tx.After
	at     svc.Time
	err    error
	done   chan struct{}

	repeatable bool // fn may be run again
	rows       []Row
	begun      bool // fn was called
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
	w := &writer{db: s.write, dialect: s.dialect, lease: s.lease, counts: o.Counts, maxBatch: o.MaxBatch, now: s.clock, announce: s.announce, lose: o.LoseAnswer,
		id: svc.NewID(), rows: newRunRows(), began: time.Now(),
		queue: make(chan *unit, 4*o.MaxBatch), closed: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

// queueUnit puts a unit after those that are queued already. It waits only
// while the queue is full.
func (w *writer) queueUnit(ctx context.Context, fn func(*Tx) error, repeatable bool, rows []Row) *unit {
	u := &unit{ctx: ctx, fn: fn, repeatable: repeatable, rows: rows, done: make(chan struct{})}
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

// gather is a unit and all that wait behind it. When none does, those that are about to queue one may do so first: a
// worker's frames come together, and each group costs a commit.
func (w *writer) gather(first *unit) []*unit {
	batch := []*unit{first}
	if len(w.queue) == 0 {
		runtime.Gosched()
	}
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
	w.conn, w.stmts = conn, newStatements(conn, w.dialect)
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
