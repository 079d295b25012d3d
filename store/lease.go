package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"svc"
)

// lease is the right to write to a PostgreSQL database as its only
// orchestrator. It is a row, not a lock of a session, which would vanish with
// its connection: the row's epoch is compared by every group of units in the
// statement that locks the row to the commit (see writer.journal), so whoever
// takes over waits for what is being committed and cuts off what comes later.
// Correctness rests on the epoch alone; the times below only say when it is
// polite to take over. They are PostgreSQL's.
//
// A nil lease is no fence: an SQLite file is held by a lock of the kernel, and
// a store that is not exclusive does not ask.
//
// Orchestrators that share a database (see [Registry]) take the lease in turns: one
// of them leads, and the others wait until it no longer renews.
type lease struct {
	db      *sql.DB
	epoch   int64
	replica string // of the member that holds it; empty: it serves the database alone
	log     *slog.Logger

	mu   sync.Mutex // guards err
	err  error      // why it was lost; nil: it was not
	lost chan struct{}

	stop context.CancelFunc
	done chan struct{}
}

const (
	leaseLife  = 5 * time.Second // without a renewal it may be taken over
	memberLife = 4 * time.Second // the same for the lease of a member, which gives it up by itself then
	renewEvery = time.Second
	renewLimit = 3 * time.Second // of one renewal
	// leaseDoubt is how long one that wants to take over must itself have seen
	// no renewal: a server that was restarted, restored or set to another time
	// makes every lease look old.
	leaseDoubt = 2 * time.Second
	// leasePatience is how long a claim waits for a holder that renews its
	// lease: one that is being stopped needs a moment.
	leasePatience = 5 * time.Second
)

const serverClock = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"

// leaseState is the row as one look saw it.
type leaseState struct {
	epoch, renewedAt int64
	holder           string // "": nobody
	replica          string // of the holder, when it is a member
	expired          bool   // counted from the renewal or the start of the server, whichever is later
}

func readLease(ctx context.Context, db *sql.DB) (s leaseState, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	err = db.QueryRowContext(ctx, "SELECT epoch, renewed_at, holder, "+leaseReplica+", "+leaseExpired+" FROM journal WHERE id = 1").
		Scan(&s.epoch, &s.renewedAt, &s.holder, &s.replica, &s.expired)
	return s, err
}

// leaseReplica is the member that holds the lease; a schema from before there were members has no such column.
const leaseReplica = "coalesce(to_jsonb(journal) ->> 'replica', '')"

// leaseExpired is the condition on the journal's row.
var leaseExpired = fmt.Sprintf(`greatest(renewed_at, CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000 AS BIGINT))
	+ CASE WHEN `+leaseReplica+` = '' THEN %d ELSE %d END < %s`, leaseLife.Milliseconds(), memberLife.Milliseconds(), serverClock)

// takeLease claims a database, alone or as a member. It waits for a holder that has died. While one is alive, a member waits
// for its turn, and one that wants the database alone is refused.
func takeLease(ctx context.Context, db *sql.DB, replica string, log *slog.Logger) (*lease, error) {
	began := time.Now()
	var last leaseState
	since, renewed := began, false // when last was first seen, and whether a renewal was
	for first := true; ; first = false {
		s, err := readLease(ctx, db)
		if err != nil && (replica == "" || ctx.Err() != nil) {
			return nil, fmt.Errorf("read who serves the database: %w", err)
		}
		if err != nil { // a member waits for the database too
			s = last
		}
		if first || s.epoch != last.epoch || s.renewedAt != last.renewedAt {
			last, since, renewed = s, time.Now(), !first
		}
		own := replica != "" && s.replica == replica // of a turn that it gave up while the database was away
		if err == nil && (s.holder == "" || own || s.expired && time.Since(since) >= leaseDoubt) {
			l, err := swapLease(ctx, db, s, replica, log)
			shared := svc.CodeOf(err) == svc.CodeConflict // by members; those that were killed are so for a moment only
			if l != nil || err != nil && !shared || shared && time.Since(began) > replicaSilence+time.Second {
				return l, err
			}
		}
		if replica == "" && renewed && s.holder != "" && !s.expired && time.Since(began) > leasePatience {
			if s.replica != "" {
				return nil, svc.Errorf(svc.CodeConflict, "orchestrators share this database, and one leads: %s; set cluster_address to join them, or stop them", s.holder)
			}
			return nil, svc.Errorf(svc.CodeConflict, "another orchestrator serves this database: %s", s.holder)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// swapLease takes the lease if it is still as it was seen. Nobody takes it alone while members live, nor as a member before
// it is listed: both look under the lock of the row.
func swapLease(ctx context.Context, db *sql.DB, seen leaseState, replica string, log *slog.Logger) (*lease, error) {
	ctx, cancel := context.WithTimeout(ctx, postgresDialect.statementLimit)
	defer cancel()
	l := &lease{db: db, replica: replica, log: log, lost: make(chan struct{}), done: make(chan struct{})}
	host, _ := os.Hostname()
	holder := fmt.Sprintf("pid %d on %s since %s", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	err := inTx(ctx, db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "SELECT FROM journal WHERE id = 1 FOR UPDATE"); err != nil {
			return err
		}
		if replica == "" {
			if err := refuseMembers(ctx, tx); err != nil {
				return err
			}
		}
		set := ""
		if replica != seen.replica {
			set = ", replica = '" + replica + "'" // an id, or empty
		}
		return tx.QueryRowContext(ctx, "UPDATE journal SET epoch = epoch + 1, holder = $1, renewed_at = "+serverClock+set+
			" WHERE id = 1 AND epoch = $2 AND renewed_at = $3 RETURNING epoch", holder, seen.epoch, seen.renewedAt).Scan(&l.epoch)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("take over the database: %w", err)
	}
	if seen.holder != "" {
		log.Warn("took over the database from an orchestrator that no longer renews its claim", "was", seen.holder, "epoch", l.epoch)
	}
	renewing, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.renew(renewing)
	return l, nil
}

// inTx runs fn in a transaction of a connection of its own.
func inTx(ctx context.Context, db *sql.DB, fn func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// hasLease says whether the schema is new enough to have leases.
func hasLease(ctx context.Context, db *sql.DB) (bool, error) {
	_, err := readLease(ctx, db)
	var e *pgconn.PgError
	if errors.As(err, &e) && (e.Code == "42P01" || e.Code == "42703") { // no such table, no such column
		return false, nil
	}
	return err == nil, err
}

// renew keeps the lease alive on a connection of its own, so that a long group
// does not make it look dead.
func (l *lease) renew(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	silent := false
	renewed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked := time.Now()
		n, err := l.touch(ctx)
		if err == nil {
			renewed = asked
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && l.replica != "" && time.Since(renewed) >= memberLife:
			_ = l.end(svc.Unavailable(svc.CauseDatabaseUnreachable).Because(err)) // another leads now, or may at any moment
			return
		case err != nil && !silent:
			l.log.Warn("the claim on the database cannot be renewed", "error", err)
		case err == nil && n == 0:
			_ = l.lose()
			return
		case err == nil && silent:
			l.log.Info("the claim on the database is renewed again")
		}
		silent = err != nil
	}
}

func (l *lease) touch(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, renewLimit)
	defer cancel()
	res, err := l.db.ExecContext(ctx, "UPDATE journal SET renewed_at = "+serverClock+" WHERE id = 1 AND epoch = $1", l.epoch)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// lose notes that the lease is another's, and says so.
func (l *lease) lose() error {
	if err := l.check(); err != nil {
		return err
	}
	who := ""
	if s, err := readLease(context.Background(), l.db); err == nil && s.holder != "" {
		who = ": " + s.holder
	}
	return l.end(svc.Errorf(svc.CodeUnavailable, "another orchestrator has taken over this database%s; this one must stop", who).
		With("cause", string(svc.CauseLostLock)))
}

// end notes why nothing may be written any more, unless something else was noted before.
func (l *lease) end(why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = why
		close(l.lost)
	}
	return l.err
}

// check is why nothing may be written any more, nil while it may.
func (l *lease) check() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *lease) number() int64 {
	if l == nil {
		return 0
	}
	return l.epoch
}

// release gives the lease up, so that the next one need not wait.
func (l *lease) release() error {
	l.stop()
	<-l.done
	if l.check() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewLimit)
	defer cancel()
	_, err := l.db.ExecContext(ctx, "UPDATE journal SET holder = '', renewed_at = 0 WHERE id = 1 AND epoch = $1", l.epoch)
	if err != nil {
		return fmt.Errorf("give up the claim on the database: %w", err)
	}
	return nil
}
