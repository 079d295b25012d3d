package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc"
)

const (
	// retryLimit is how long a group is tried again that others were in the way of.
	retryLimit = 10 * time.Second
	// mostTries of a unit that meets a deadlock, a lock that is not released in
	// time, or a row that someone else changed.
	mostTries = 4
)

// commit runs a group. A unit that fails is rolled back to its savepoint and
// touches no other; a commit that fails fails them all.
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

// refuseQueued answers those that wait for a database that is away: each group
// of them would wait for it again. Whoever was queued after the lease was lost
// is told so, and not what another group met before.
func (w *writer) refuseQueued(err error) {
	if lost := w.lease.check(); lost != nil {
		err = lost
	}
	for range len(w.queue) {
		(<-w.queue).refused(err)
		w.counts.refused(err, 1)
	}
}

// transact commits a group, if need be at another try.
func (w *writer) transact(batch []*unit) (events bool, err error) {
	for began := time.Now(); ; {
		events, err = w.try(batch)
		if err == nil || !w.dialect.transient(err) || time.Since(began) > retryLimit {
			return events, err
		}
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
	ctx := context.Background() // a group outlives any one caller; w.q limits each statement
	if err := w.begin(ctx, batch); err != nil {
		return false, err
	}
	defer w.forget()
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

// begin begins a transaction and locks what its units have named. A connection
// that was left from the group before may have died since; then nothing was
// done, and a new one is tried.
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
	w.xid, w.proving = "", false
	w.group++
	w.alone = len(batch) == 1 && !w.dialect.pipelined
	if !w.dialect.pipelined {
		return list
	}
	list = append(list, statement{sql: "SELECT CAST(pg_current_xact_id() AS TEXT)", scan: func(row scanner) error { return row.Scan(&w.xid) }})
	return append(list, w.lock(batch)...)
}

// forget drops what is true only within a transaction.
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
		n := w.together(rest)
		if broken := w.runUnits(ctx, rest[:n]); broken != nil {
			return broken
		}
		rest = rest[n:]
	}
	return nil
}

// together is how many units from the start share a savepoint.
func (w *writer) together(batch []*unit) int {
	n := 1
	for batch[0].repeatable && n < min(len(batch), w.dialect.mostTogether) && batch[n].repeatable {
		n++
	}
	return n
}

// runUnits runs units in one savepoint. The error of a single unit stays with
// it. When one of several fails after it changed something, all are undone, and
// each is run again by itself. An error of the savepoint breaks the group.
func (w *writer) runUnits(ctx context.Context, units []*unit) (broken error) {
	refused := false // what waited was
	for try := 1; ; try++ {
		w.changes, w.saved, w.direct = changes{}, false, refused
		whole := true
		for i := 0; i < len(units) && whole; i++ {
			whole = w.runUnit(ctx, units[i])
		}
		if whole {
			// It fails when a statement of a unit did and the unit went on, or when a
			// change that waited was refused after all.
			err := w.release(ctx)
			if err == nil {
				return nil
			}
			units[0].err, refused = err, true
		}
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

// sync sends what waits, of the unit and of those before it: the unit is going
// to ask the database itself.
func (w *writer) sync(ctx context.Context, tx *Tx) error {
	if w.saved && len(w.changes.list) == 0 && len(tx.changes.list) == 0 {
		return nil
	}
	tx.wrote = tx.wrote || len(tx.changes.list) > 0
	return w.send(ctx, append(w.unsent(), tx.changes.take()...)...)
}

var savepoint = []statement{{sql: "SAVEPOINT unit", rows: anyRows}}

// unsent is what the units before have decided, after the savepoint.
func (w *writer) unsent() []statement {
	list := w.changes.take()
	if !w.saved {
		w.saved = true
		if !w.alone {
			list = append(savepoint[:1:1], list...)
		}
	}
	return list
}

// release ends the savepoint of units that all went well.
func (w *writer) release(ctx context.Context) error {
	if !w.saved && len(w.changes.list) == 0 {
		return nil
	}
	list := w.unsent()
	if !w.alone {
		list = append(list, statement{sql: "RELEASE SAVEPOINT unit", rows: anyRows})
	}
	return w.send(ctx, list...)
}

// undo takes back what units did since the savepoint.
func (w *writer) undo(ctx context.Context, because error) error {
	w.rows.clear()
	w.locked.clear()
	w.changes = changes{}
	if !w.saved {
		return nil
	}
	w.saved = false
	undoing := []string{"ROLLBACK TO SAVEPOINT unit", "RELEASE SAVEPOINT unit"}
	if w.alone {
		undoing = []string{"ROLLBACK", w.dialect.begin}
	}
	for _, undo := range undoing { // not by send: nothing can be prepared here
		if _, err := w.q.ExecContext(ctx, undo); err != nil {
			return fmt.Errorf("roll back a unit: %w", errors.Join(because, err))
		}
	}
	return nil
}

// runUnit is false when the unit failed and may have changed something.
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
	var decided *svc.Error // by the unit itself
	return !tx.wrote && !tx.failed && errors.As(u.err, &decided)
}

// settleLimit bounds the search for what became of a commit.
const settleLimit = 6 * time.Second

// settle finds out what became of a COMMIT that was not answered: nil means that
// it took place. Without an answer the caller is told that nobody knows.
//
// The transaction's number tells whether it is still under way, and whether it
// was undone. That it was committed, the number does not prove: see commits.
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
				return failed // the number was another one's
			}
		}
		time.Sleep(100 * time.Millisecond) // the writer has nothing else to do
	}
	return svc.Errorf(svc.CodeUnavailable, "the database went away while it committed: the change may or may not have happened; "+
		"look first, or repeat the request with the same Idempotency-Key").
		With("cause", string(svc.CauseDatabaseUnreachable)).With("outcome", "unknown").Because(failed)
}
