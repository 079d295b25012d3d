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

// lease is the right to write to a PostgreSQL database as its only orchestrator.
// It is stored in the journal's row, and is not a lock of a session, which would
// be released when its connection breaks. Every group of units compares the row's
// epoch in the statement that locks the row until the commit (see
// writer.finishPipelined). An orchestrator that takes over raises the epoch: it
// waits for a commit that is in progress, and later groups of the former holder
// fail. Correctness depends on the epoch alone. The times below only decide when
// another orchestrator may take over. They are measured by PostgreSQL's clock.
//
// A nil lease is no fence: an SQLite file is protected by a file lock, and a
// store that is not exclusive has no protection.
//
// Orchestrators that share a database (see [Registry]) take the lease in turns:
// one of them leads, and the others wait until it no longer renews the lease.
type lease struct {
	db      *sql.DB
	epoch   int64
	replica string // id of the member that holds it; empty: the holder serves the database alone
	log     *slog.Logger

	mu   sync.Mutex // guards err
	err  error      // why the lease was lost; nil: it was not
	lost chan struct{}

	stop context.CancelFunc
	done chan struct{}
}

const (
	leaseLife  = 5 * time.Second // without a renewal for this long the lease may be taken over
	memberLife = 4 * time.Second // the same for the lease of a member, which ends its own term after this time
	renewEvery = time.Second
	renewLimit = 3 * time.Second // the timeout of one renewal
	// leaseObservation is how long an orchestrator must itself have observed that the
	// lease was not renewed before it takes over: after a restart, a restore or a
	// change of the server's clock every lease looks old.
	leaseObservation = 2 * time.Second
	// leaseWait is how long an orchestrator waits for a holder that still
	// renews its lease, because the holder may be shutting down.
	leaseWait = 5 * time.Second
)

const serverClock = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"

// leaseState is the lease as it was read at one moment.
type leaseState struct {
	epoch, renewedAt int64
	holder           string // empty: there is no holder
	replica          string // id of the holder, if it is a member
	expired          bool   // counted from the renewal or the start of the server, whichever is later
}

func readLease(ctx context.Context, db *sql.DB) (s leaseState, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	err = db.QueryRowContext(ctx, "SELECT epoch, renewed_at, holder, "+leaseReplica+", "+leaseExpired+" FROM journal WHERE id = 1").
		Scan(&s.epoch, &s.renewedAt, &s.holder, &s.replica, &s.expired)
	return s, err
}

// leaseReplica is an expression for the member that holds the lease. It also works on an older schema without that
// column.
const leaseReplica = "coalesce(to_jsonb(journal) ->> 'replica', '')"

// leaseExpired is a condition on the journal's row: the lease has expired.
var leaseExpired = fmt.Sprintf(`greatest(renewed_at, CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000 AS BIGINT))
	+ CASE WHEN `+leaseReplica+` = '' THEN %d ELSE %d END < %s`, leaseLife.Milliseconds(), memberLife.Milliseconds(), serverClock)

// takeLease acquires the lease of a database, as a member, or alone if replica is empty. It waits until the lease of a
// dead holder expires. While the holder is alive, a member waits for its turn, and an orchestrator that serves alone
// gets an error.
func takeLease(ctx context.Context, db *sql.DB, replica string, log *slog.Logger) (*lease, error) {
	began := time.Now()
	var last leaseState
	since, renewed := began, false // when last was first read, and whether the holder has renewed the lease since began
	for first := true; ; first = false {
		s, err := readLease(ctx, db)
		if err != nil && (replica == "" || ctx.Err() != nil) {
			return nil, fmt.Errorf("read who serves the database: %w", err)
		}
		if err != nil { // a member also waits for a database that is unreachable
			s = last
		}
		if first || s.epoch != last.epoch || s.renewedAt != last.renewedAt {
			last, since, renewed = s, time.Now(), !first
		}
		own := replica != "" && s.replica == replica // of this process's earlier term, which ended without a release
		if err == nil && (s.holder == "" || own || s.expired && time.Since(since) >= leaseObservation) {
			l, err := swapLease(ctx, db, s, replica, log)
			shared := svc.CodeOf(err) == svc.CodeConflict // members are listed; killed ones until replicaSilence has passed
			if l != nil || err != nil && !shared || shared && time.Since(began) > replicaSilence+time.Second {
				return l, err
			}
		}
		if replica == "" && renewed && s.holder != "" && !s.expired && time.Since(began) > leaseWait {
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

// swapLease acquires the lease if it has not changed since it was read. It returns nil, nil if it has. It refuses an
// orchestrator that serves alone while members are alive. Registry.list refuses members while an orchestrator serves
// alone. Both check under a lock of the journal's row.
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
			set = ", replica = '" + replica + "'" // replica is an id or empty
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
		log.Warn("took over the database from an orchestrator that no longer renews its lease", "was", seen.holder, "epoch", l.epoch)
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

// hasLease reports whether the schema is new enough to have leases.
func hasLease(ctx context.Context, db *sql.DB) (bool, error) {
	_, err := readLease(ctx, db)
	var e *pgconn.PgError
	if errors.As(err, &e) && (e.Code == "42P01" || e.Code == "42703") { // no such table, no such column
		return false, nil
	}
	return err == nil, err
}

// renew renews the lease until ctx ends. It uses a connection of its own, so that
// a long group of units does not delay it.
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
			_ = l.end(svc.Unavailable(svc.CauseDatabaseUnreachable).Because(err)) // another member may lead from now on
			return
		case err != nil && !silent:
			l.log.Warn("the lease of the database cannot be renewed; trying again", "error", err)
		case err == nil && n == 0:
			_ = l.lose()
			return
		case err == nil && silent:
			l.log.Info("the lease of the database is renewed again")
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

// lose marks the lease as taken over by another orchestrator, and returns the error for that.
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

// end marks the lease as lost, with the reason, and returns the reason. A reason that was set before stays.
func (l *lease) end(why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = why
		close(l.lost)
	}
	return l.err
}

// check returns why the lease was lost; nil: it is held.
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

// release ends the lease, so that the next holder need not wait until it expires.
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
		return fmt.Errorf("release the lease of the database: %w", err)
	}
	return nil
}
