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
// them in groups. Units that are queued while a group is being committed form the
// next group, so that groups become larger as the load grows.
type writer struct {
	id       string // identifies this writer in the table commits
	db       *sql.DB
	dialect  *dialect
	lease    *lease
	counts   *Counts
	maxBatch int
	now      func() svc.Time
	announce func([]svc.Event) // called after a commit of events, with the events if their numbers are known
	proven   atomic.Int64      // when the last commit was answered, in ns since began
	began    time.Time
	lose     func() error                        // see Options.LoseAnswer
	observe  atomic.Pointer[func(time.Duration)] // see Store.ObserveCommits; nil: not set

	queue  chan *unit
	closed chan struct{}
	once   sync.Once
	done   chan struct{}

	// The rest is used only by the writer's goroutine.
	conn    *sql.Conn
	stmts   *statements
	q       edged  // on stmts
	serial  int64  // of the newest unit
	xid     string // id of the transaction; empty on SQLite
	group   int64  // number of the newest transaction
	rows    *runRows
	locked  lockedRows
	changes changes // deferred changes of the units that share the savepoint
	saved   bool    // the savepoint is set
	joined  bool    // finish sends the deferred changes, without a savepoint: see changes.exact
	apart   bool    // groups are not joined, because a deferred change of this one was refused
	bare    bool    // the transaction has no change of an earlier savepoint, so that it can be rolled back instead of one (SQLite)
	direct  bool    // nothing is deferred, because a deferred change has failed
	proving bool    // the transaction must write something even if its units do not: see Store.Ready
	// numbered are the events of the newest group, on SQLite. On PostgreSQL their numbers are not known.
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
	// groupLimit is how long a group starts further units. If the database is that
	// slow, the rest of the group fails instead of waiting longer.
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

// queueUnit adds a unit to the end of the queue. It waits only if the queue is
// full.
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

// wait returns when the unit is durable or has failed.
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

// close ends the writer after all queued units.
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

// gather returns a unit and all units that wait behind it. It first yields to goroutines that are about to queue one,
// as long as more units arrive: a worker's frames arrive together, and each group costs a commit.
func (w *writer) gather(first *unit) []*unit {
	batch := []*unit{first}
	for seen := -1; len(w.queue) > seen && len(w.queue) < w.maxBatch; runtime.Gosched() {
		seen = len(w.queue)
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
	_, _ = w.conn.ExecContext(ctx, "ROLLBACK") // fails if no transaction is open
	w.stmts.close()
	_ = w.conn.Close()
	w.conn, w.stmts = nil, nil
}
