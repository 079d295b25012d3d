package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"svc"
)

const (
	// retryLimit is how long a group is repeated after transient errors, such as a
	// deadlock with another orchestrator.
	retryLimit = 10 * time.Second
	// mostTries is how often a unit is tried that fails with a transient error: a
	// deadlock, a lock timeout, or a concurrent change of a row.
	mostTries = 4
	// mostSharing is the most units that share a savepoint.
	mostSharing = 256
)

// commit runs a group of units and commits it. A unit that fails is rolled back
// to its savepoint and does not affect the others. If the commit fails, all units
// fail.
func (w *writer) commit(batch []*unit) {
	began := time.Now()
	events, err := w.transact(batch)
	if err == nil {
		if events || w.proving || w.dialect.pipelined {
			w.proven.Store(int64(time.Since(w.began)))
		}
		if observe := w.observe.Load(); observe != nil {
			(*observe)(time.Since(began))
		}
	}
	w.counts.refused(err, len(batch))
	for _, u := range batch {
		if err != nil && u.err == nil {
			u.err = err
		}
		if u.err == nil {
			for _, fn := range u.after {
				fn()
			}
		}
		close(u.done)
	}
	if events && err == nil {
		w.announce(w.numbered)
	}
	if err != nil && w.conn == nil && svc.CauseOf(err) == svc.CauseDatabaseUnreachable {
		w.refuseQueued(err)
	}
}

// refuseQueued fails all queued units while the database is unreachable, because
// each group of them would wait for it again. If the lease was lost, the units
// fail with that error instead of the error of the group before.
func (w *writer) refuseQueued(err error) {
	if lost := w.lease.check(); lost != nil {
		err = lost
	}
	for range len(w.queue) {
		(<-w.queue).refused(err)
		w.counts.refused(err, 1)
	}
}

// transact commits a group. It repeats the group after transient errors. If the database refuses a group whose units
// share a round trip with the commit (see writer.joined), it repeats the group with a savepoint, to find the unit whose
// change was refused.
func (w *writer) transact(batch []*unit) (events bool, err error) {
	defer func() { w.apart = false }()
	for began := time.Now(); ; {
		events, err = w.try(batch)
		refused := w.joined && svc.CauseOf(err) == "" && errors.As(err, new(*pgconn.PgError))
		if err == nil || !refused && !w.dialect.transient(err) || time.Since(began) > retryLimit {
			return events, err
		}
		w.apart = w.apart || refused
		for _, u := range batch {
			if u.begun && !u.repeatable {
				return false, err
			}
		}
		w.counts.retried()
		for _, u := range batch {
			u.err = nil
		}
	}
}

func (w *writer) try(batch []*unit) (events bool, err error) {
	if err := w.lease.check(); err != nil {
		return false, err
	}
	ctx := context.Background() // a group does not depend on a single caller; w.q limits each statement
	if err := w.begin(ctx, batch); err != nil {
		return false, err
	}
	defer w.forget()
	if err := w.runBatch(ctx, batch); err != nil {
		w.disconnect() // also ends the transaction
		return false, err
	}
	var telling []*unit
	for _, u := range batch {
		if len(u.events) > 0 {
			telling = append(telling, u)
		}
	}
	sent, err := w.finish(ctx, telling)
	if err != nil {
		w.disconnect()
		if sent {
			err = w.settle(ctx, fmt.Errorf("commit: %w", err))
		}
		if err != nil {
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

// begin begins a transaction and locks the rows that the units have named. If the
// connection of the previous group is broken, nothing was done yet, and begin
// tries a new connection.
func (w *writer) begin(ctx context.Context, batch []*unit) error {
	for {
		fresh := w.conn == nil
		err := w.connect(ctx)
		if err == nil {
			if err = w.send(ctx, w.opening(batch)...); err == nil {
				return nil
			}
			err = fmt.Errorf("begin: %w", err)
		}
		w.disconnect()
		if fresh || w.dialect.statementLimit == 0 || w.dialect.transient(err) {
			return err
		}
	}
}

func (w *writer) opening(batch []*unit) []statement {
	list := []statement{{sql: w.dialect.begin, rows: anyRows}}
	w.xid, w.proving, w.joined = "", false, false
	w.group++
	w.bare = !w.dialect.pipelined
	if !w.dialect.pipelined {
		return list
	}
	list = append(list, statement{sql: "SELECT CAST(pg_current_xact_id() AS TEXT)", scan: func(row scanner) error { return row.Scan(&w.xid) }})
	return append(list, w.lock(batch)...)
}

// forget drops the cached rows that are valid only within a transaction.
func (w *writer) forget() {
	w.locked = lockedRows{}
	if w.dialect.pipelined {
		w.rows.clear()
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
		n := w.sharing(rest)
		w.joined = n == len(batch) && batch[0].repeatable && w.dialect.pipelined && !w.apart
		if broken := w.runUnits(ctx, rest[:n]); broken != nil {
			return broken
		}
		rest = rest[n:]
	}
	return nil
}

// sharing returns how many units from the start of the batch share a savepoint.
func (w *writer) sharing(batch []*unit) int {
	n := 1
	for batch[0].repeatable && n < min(len(batch), mostSharing) && batch[n].repeatable {
		n++
	}
	return n
}

// runUnits runs units in one savepoint. A unit's own error is stored in the unit.
// If one of several units fails after it may have changed something, all are
// rolled back, and each is run again in a savepoint of its own. broken is an
// error of the savepoint, after which the whole group fails.
func (w *writer) runUnits(ctx context.Context, units []*unit) (broken error) {
	refused := false // a deferred change has failed in an earlier try
	for try := 1; ; try++ {
		w.changes, w.saved, w.direct = changes{}, false, refused
		whole := true
		for i := 0; i < len(units) && whole; i++ {
			whole = w.runUnit(ctx, units[i])
		}
		if whole {
			if w.joined = w.joined && !w.saved && w.changes.exact(); w.joined {
				return nil // finish sends the changes
			}
			// This fails if a unit ignored the error of a statement, or if a deferred
			// change fails.
			err := w.release(ctx)
			if err == nil {
				return nil
			}
			units[0].err, refused = err, true
		}
		w.joined = false
		if err := w.undo(ctx, units[0].err); err != nil {
			return err
		}
		if len(units) == 1 {
			units[0].events = nil
			if u := units[0]; try == mostTries || !u.repeatable || !w.dialect.transient(u.err) && (w.direct || !refused) {
				return nil
			}
			continue
		}
		for _, u := range units {
			if broken := w.runUnits(ctx, []*unit{u}); broken != nil {
				return broken
			}
		}
		return nil
	}
}

// sync sends the deferred changes of the unit and of the units before it. It is
// called before a unit executes a statement itself.
func (w *writer) sync(ctx context.Context, tx *Tx) error {
	if w.saved && len(w.changes.list) == 0 && len(tx.changes.list) == 0 {
		return nil
	}
	tx.wrote = tx.wrote || len(tx.changes.list) > 0
	return w.send(ctx, append(w.unsent(), tx.changes.take()...)...)
}

var savepoint = []statement{{sql: "SAVEPOINT unit", rows: anyRows}}

// unsent returns the deferred changes of the units before, and before them the
// statement that sets the savepoint, if it is not set yet.
func (w *writer) unsent() []statement {
	list := w.changes.take()
	if !w.saved {
		w.saved = true
		if !w.bare {
			list = append(savepoint[:1:1], list...)
		}
	}
	return list
}

// release sends the deferred changes and releases the savepoint, after all units
// succeeded.
func (w *writer) release(ctx context.Context) error {
	if !w.saved && len(w.changes.list) == 0 {
		return nil
	}
	list := w.unsent()
	if !w.bare {
		list = append(list, statement{sql: "RELEASE SAVEPOINT unit", rows: anyRows})
	}
	if err := w.send(ctx, list...); err != nil {
		return err
	}
	w.bare = false
	return nil
}

// undo rolls back to the savepoint and drops the cached rows.
func (w *writer) undo(ctx context.Context, because error) error {
	w.rows.clear()
	w.locked.clear()
	w.changes = changes{}
	if !w.saved {
		return nil
	}
	w.saved = false
	undoing := []string{"ROLLBACK TO SAVEPOINT unit", "RELEASE SAVEPOINT unit"}
	if w.bare {
		undoing = []string{"ROLLBACK", w.dialect.begin}
	}
	for _, undo := range undoing { // not by send: after an error nothing can be prepared
		if _, err := w.q.ExecContext(ctx, undo); err != nil {
			return fmt.Errorf("roll back a unit: %w", errors.Join(because, err))
		}
	}
	return nil
}

// runUnit runs a unit. It returns false if the unit failed and may have changed
// something, so that the savepoint must be rolled back.
func (w *writer) runUnit(ctx context.Context, u *unit) (whole bool) {
	u.events, u.after = nil, nil
	if u.err = u.ctx.Err(); u.err != nil {
		return true
	}
	u.at, u.begun = w.now(), true
	w.serial++
	tx := &Tx{Reader: Reader{q: w.q, d: w.dialect}, Now: u.at, Serial: w.serial, w: w, repeatable: u.repeatable}
	tx.q.failed = &tx.failed
	tx.q.before = func() error { return w.sync(ctx, tx) }
	if u.err = tx.run(u.fn); u.err == nil {
		u.events, u.err = encodeDrafts(tx.drafts, svc.CallerName(u.ctx))
	}
	if u.err == nil {
		u.after = tx.after
		w.changes.merge(tx.changes)
		w.rows.keep(tx)
		w.locked.merge(tx)
		return true
	}
	u.events = nil
	var decided *svc.Error // an error that the unit itself decided on, not one of the database
	return !tx.wrote && !tx.failed && errors.As(u.err, &decided)
}

// settleLimit bounds the search for the outcome of a commit.
const settleLimit = 6 * time.Second

// settle finds the outcome of a COMMIT that was not answered. It returns nil if
// the transaction was committed. If the outcome cannot be found within
// settleLimit, the error says that it is unknown.
//
// The status of the transaction's id shows whether it is in progress or was
// aborted. The status "committed" alone is no proof: after a crash, PostgreSQL
// may give the id of a transaction that was in progress to another one. Therefore
// the row of this writer in the table commits is compared too.
func (w *writer) settle(ctx context.Context, failed error) error {
	if svc.CauseOf(failed) != svc.CauseDatabaseUnreachable {
		return failed // the database itself refused it
	}
	for deadline := time.Now().Add(settleLimit); w.xid != "" && time.Now().Before(deadline); {
		var status string
		err := w.connect(ctx)
		if err == nil {
			err = w.q.QueryRowContext(ctx, "SELECT coalesce(pg_xact_status(CAST($1 AS xid8)), '')", w.xid).Scan(&status)
		}
		switch {
		case err != nil:
			w.disconnect()
		case status == "aborted":
			return failed
		case status == "committed":
			var latest int64
			err := w.q.QueryRowContext(ctx, "SELECT coalesce(max(latest), 0) FROM commits WHERE writer = $1", w.id).Scan(&latest)
			switch {
			case err != nil:
				w.disconnect()
			case latest == w.group:
				return nil
			default:
				return failed // the id belongs to another transaction
			}
		}
		time.Sleep(100 * time.Millisecond) // the writer has nothing else to do
	}
	return svc.Errorf(svc.CodeUnavailable, "the connection to the database was lost during the commit: the change may or may not have been made; "+
		"check first, or repeat the request with the same Idempotency-Key").
		With("cause", string(svc.CauseDatabaseUnreachable)).With("outcome", "unknown").Because(failed)
}
