// Package store keeps the records in an SQL database: SQLite by default,
// PostgreSQL for several orchestrators or more load. Both engines execute the
// same SQL text; what differs is in dialect.go.
//
// Every change is a unit of work: see [Store.Write]. Units are queued for a
// single writer, which commits them in groups, with one durable commit for many
// units. A unit that fails is rolled back to a savepoint. Write returns after the
// commit. A unit adds its events with [Tx.Emit]. They are numbered at the end of
// the group, under a lock that is held until the commit, so that commit order is
// seq order.
//
// Reads use a pool of their own and see what was committed.
//
// Statements are prepared once. SQLite prepares a statement again at every
// execution if its LIMIT is a plain parameter, so limits are written as
// CAST($n AS BIGINT).
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc"
)

// Options are the options of a Store. The zero value is valid.
type Options struct {
	// Now is the clock of stored times. Nil: time.Now.
	Now func() time.Time
	// MaxBatch is the most units of one commit. 0: 256. 1 disables grouping, which
	// is only useful for the benchmark.
	MaxBatch int
	// Exclusive acquires the lease of a PostgreSQL database: Open refuses a database
	// that another orchestrator serves, and this store's writes fail after another
	// orchestrator has taken over: see lease. An SQLite file is always exclusive.
	Exclusive bool
	// Replica is the id of this process as a member of a [Registry]. With it, Exclusive waits until this process
	// becomes the leader. Empty: this process serves the database alone.
	Replica string
	// LoseAnswer is called after each commit. If it returns an error, the callers
	// get that error although their units are durable. Tests use it to simulate a
	// connection that breaks during a commit. Nil: no answer is lost.
	LoseAnswer func() error
	// Counts receives the counters of writes. Several stores of a process may share it. Nil: they are not counted.
	Counts *Counts
	// Log receives what is not returned as an error. Nil: slog.Default().
	Log *slog.Logger
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	Reader
	dialect *dialect
	dir     string // of SQLite's file; empty: PostgreSQL
	write   *sql.DB
	read    *sql.DB
	sockets sockets // to PostgreSQL
	writer  *writer
	reads   *statements // of the read connections
	lease   *lease      // nil: SQLite, or not exclusive
	probe   probe
	now     func() time.Time
	log     *slog.Logger
	release func() error // releases the lock of SQLite's file

	newest atomic.Pointer[[]svc.Event] // of this writer's newest group; nil on PostgreSQL, where their numbers are not known

	mu        sync.Mutex // guards committed
	committed chan struct{}
}

// Open opens the database that dsn names, "sqlite:<file>" or a postgres:// URL,
// and brings its schema up to date. It refuses a database that a newer version
// wrote or that another orchestrator holds. It waits a limited time for a
// PostgreSQL server that does not answer.
func Open(ctx context.Context, dsn string, o Options) (_ *Store, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxBatch == 0 {
		o.MaxBatch = 256
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Store{now: o.Now, log: o.Log, release: func() error { return nil }, committed: make(chan struct{}),
		sockets: sockets{open: map[net.Conn]struct{}{}}}
	defer func() {
		if err != nil {
			if s.dialect != nil {
				err = s.dialect.edge(ctx, err)
			}
			_ = s.Close()
		}
	}()
	if err := s.connect(dsn); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, o); err != nil {
		return nil, err
	}
	s.reads = newStatements(s.read, s.dialect)
	s.Reader = Reader{q: edged{q: s.reads, d: s.dialect}, d: s.dialect, view: s.View}
	s.writer = newWriter(s, o)
	return s, nil
}

// prepare brings the schema up to date, and acquires the lease if the store is
// exclusive.
func (s *Store) prepare(ctx context.Context, o Options) (err error) {
	if err := s.await(ctx); err != nil {
		return err
	}
	switch {
	case !o.Exclusive || s.dialect != postgresDialect:
		return migrate(ctx, s.write, s.dialect)
	case o.Replica != "": // Join has migrated the schema; a newer member may have migrated it further since
		s.lease, err = takeLease(ctx, s.write, o.Replica, s.log)
		return err
	}
	old, err := hasLease(ctx, s.write)
	if err != nil {
		return err
	}
	if !old {
		if err := refuseSessionLock(ctx, s.write); err != nil {
			return err
		}
		if err := migrate(ctx, s.write, s.dialect); err != nil {
			return err
		}
	}
	if s.lease, err = takeLease(ctx, s.write, "", s.log); err != nil || !old {
		return err
	}
	return migrate(ctx, s.write, s.dialect)
}

// startWait is how long a start waits for a PostgreSQL server that is
// starting or unreachable.
const startWait = 30 * time.Second

// await waits until the database answers.
func (s *Store) await(ctx context.Context) error {
	if s.dialect != postgresDialect {
		return nil
	}
	return awaitPostgres(ctx, s.write, s.log)
}

func awaitPostgres(ctx context.Context, db *sql.DB, log *slog.Logger) error {
	for began := time.Now(); ; {
		ping, cancel := context.WithTimeout(ctx, connectLimit)
		err := db.PingContext(ping)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil || postgresDialect.cause(err) != svc.CauseDatabaseUnreachable || time.Since(began) > startWait {
			return err
		}
		log.Warn("the database does not answer; trying again", "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (s *Store) connect(dsn string) error {
	var err error
	switch {
	case strings.HasPrefix(dsn, "sqlite:"):
		file := strings.TrimPrefix(dsn, "sqlite:")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fmt.Errorf("make the database's folder: %w", err)
		}
		release, err := holdFile(file + ".lock")
		if err != nil {
			return err
		}
		s.release = release
		if err := ownFile(file); err != nil {
			return err
		}
		s.dialect, s.dir = sqliteDialect, filepath.Dir(file)
		if s.write, err = openSQLite(file, toWrite); err != nil {
			return err
		}
		s.write.SetMaxOpenConns(1)
		if s.read, err = openSQLite(file, toRead); err != nil {
			return err
		}
	case strings.HasPrefix(dsn, "postgres://"), strings.HasPrefix(dsn, "postgresql://"):
		s.dialect = postgresDialect
		if s.write, err = openPostgres(dsn, sessionSettings+writerSettings, &s.sockets); err != nil {
			return err
		}
		s.write.SetMaxOpenConns(3) // the writer, the lease, and one to spare
		if s.read, err = openPostgres(dsn, sessionSettings, &s.sockets); err != nil {
			return err
		}
	default:
		return svc.Errorf(svc.CodeValidation, "database must be sqlite:<file> or postgres://…")
	}
	s.read.SetMaxOpenConns(8)
	s.read.SetMaxIdleConns(8)
	return nil
}

// closeLimit is how long Close waits for a PostgreSQL server that does not answer.
const closeLimit = 4 * time.Second

// Close waits for the queued units and closes the database.
func (s *Store) Close() error {
	limit := time.AfterFunc(closeLimit, s.Abort)
	defer limit.Stop()
	if s.writer != nil {
		s.writer.close()
		s.probe.wait()
	}
	var errs []error
	if s.lease != nil { // the writer has ended
		errs = append(errs, s.lease.release())
	}
	errs = append(errs, s.release())
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Abort closes all connections to PostgreSQL, which ends every wait for an
// answer. It is for a shutdown that must end now.
func (s *Store) Abort() { s.sockets.cut() }

// Lost returns a channel that is closed when this store has lost the lease of its
// database. After that it can write nothing, and nothing that is read from it may
// be acted on. The channel is nil, which blocks, for a store without a lease.
func (s *Store) Lost() <-chan struct{} {
	if s.lease == nil {
		return nil
	}
	return s.lease.lost
}

// Term returns the epoch of the lease with which this store writes. An orchestrator that takes over has a higher one.
// 0: the store has no lease, as on SQLite, whose file is locked instead.
func (s *Store) Term() int64 { return s.lease.number() }

// LostError returns why the lease was lost, for example which orchestrator has taken over; nil: it was not lost.
func (s *Store) LostError() error { return s.lease.check() }

// Write runs fn as one unit of work. It returns when the unit is durable, or when
// it has failed and was rolled back. If ctx ends before fn has started, fn is not
// run; once started it is not cancelled. fn must not call Write or wait for
// anything but the database, because all other units wait for it. rows are the
// rows that fn will need: see [Row].
func (s *Store) Write(ctx context.Context, fn func(*Tx) error, rows ...Row) error {
	return s.Queue(ctx, fn, rows...)()
}

// Queue is Write in two steps: Queue returns when the unit is in the queue, and
// the function wait returns when the unit has ended. Units are run in the order
// in which they were queued, so that a caller with many units need not wait for
// the commit of each.
func (s *Store) Queue(ctx context.Context, fn func(*Tx) error, rows ...Row) (wait func() error) {
	u := s.writer.queueUnit(ctx, fn, false, rows)
	return func() error { return s.dialect.edge(ctx, s.writer.wait(u)) }
}

// WriteRepeatable is Write for a function that may be run more than once; only
// the effects of its last run are committed. Several such units share a
// savepoint, which is the most expensive part of a small unit. They are also run
// again after a conflict with another orchestrator.
func (s *Store) WriteRepeatable(ctx context.Context, fn func(*Tx) error, rows ...Row) error {
	return s.QueueRepeatable(ctx, fn, rows...)()
}

// QueueRepeatable is WriteRepeatable in the two steps of Queue.
func (s *Store) QueueRepeatable(ctx context.Context, fn func(*Tx) error, rows ...Row) (wait func() error) {
	u := s.writer.queueUnit(ctx, fn, true, rows)
	return func() error { return s.dialect.edge(ctx, s.writer.wait(u)) }
}

// View runs fn on one consistent state of the database.
func (s *Store) View(ctx context.Context, fn func(Reader) error) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var tx *sql.Tx
	err := s.dialect.withLimit(cancel, func() (err error) {
		tx, err = s.read.BeginTx(inner, &sql.TxOptions{ReadOnly: true, Isolation: s.dialect.snapshotIsolation})
		return err
	})
	if err != nil {
		return s.dialect.edge(ctx, fmt.Errorf("begin a read: %w", err))
	}
	known := &txStatements{Tx: tx, known: s.reads}
	defer func() {
		_ = s.dialect.withLimit(cancel, tx.Rollback)
		known.prepareNoted(ctx)
	}()
	return fn(Reader{q: edged{q: known, d: s.dialect}, d: s.dialect})
}

// Committed returns a channel that is closed at the next commit of events by this
// store. It is only a wake-up: the reader must query the journal, and must also
// poll it.
func (s *Store) Committed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.committed
}

func (s *Store) announce(events []svc.Event) {
	if len(events) > 0 {
		s.newest.Store(&events)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.committed)
	s.committed = make(chan struct{})
}

func (s *Store) clock() svc.Time { return svc.TimeOf(s.now()) }
