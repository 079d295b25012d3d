// Package store keeps the nouns in SQL: SQLite by default, PostgreSQL when a
// team outgrows one machine. One SQL text serves both engines; what truly
// differs sits in dialect.go.
//
// Every change goes through [Store.Write], a unit of work. Units are queued to
// a single writer and committed in groups: each in its own savepoint, one
// durable commit for many, every caller answered after the commit. A unit
// notes its events with [Tx.Emit]; they are numbered at the end of the group,
// under a lock that is held to the commit, so commit order is seq order.
//
// Reads go to a pool of their own and see what was committed.
//
// Statements are prepared once. SQLite prepares one anew at every execution when
// its LIMIT is a bare parameter, so limits are written as CAST($n AS BIGINT).
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

// Options says how a store behaves. The zero value is fine.
type Options struct {
	// Now is the clock of stored times. Nil: time.Now.
	Now func() time.Time
	// MaxBatch bounds the units of one commit. 0: 256. 1 turns grouping off,
	// which only the benchmark wants.
	MaxBatch int
	// Exclusive refuses a PostgreSQL database that another orchestrator serves,
	// and fences this one off when another takes over: see lease. An SQLite file
	// is always held by one.
	Exclusive bool
	// Replica is the member of a [Registry] that this process is. Then Exclusive waits until it is this one's turn to lead.
	// Empty: the database is served alone.
	Replica string
	// LoseAnswer is asked after each commit: its error is what the callers are
	// told, although their units are durable. Nil: every answer arrives. Tests
	// play a connection with it that breaks at the worst moment.
	LoseAnswer func() error
	// Counts is where what happened to writes is counted, over all stores that a process opens; nil: nobody wants to know.
	Counts *Counts
	// Log takes what nobody waits for. Nil: slog.Default().
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
	release func() error // gives up the claim on the data dir

	newest atomic.Pointer[[]svc.Event] // of the newest group of this writer, where their numbers are known

	mu        sync.Mutex // guards committed
	committed chan struct{}
}

// Open opens the database that dsn names, "sqlite:<file>" or a postgres://
// URL, and brings its schema up to date. It refuses a database that a newer
// version wrote, and one that another orchestrator holds. A PostgreSQL that does
// not answer is waited for, though not for ever.
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

// prepare brings the schema up to date, as the only orchestrator if it shall be
// exclusive.
func (s *Store) prepare(ctx context.Context, o Options) (err error) {
	if err := s.await(ctx); err != nil {
		return err
	}
	switch {
	case !o.Exclusive || s.dialect != postgresDialect:
		return migrate(ctx, s.write, s.dialect)
	case o.Replica != "": // the schema was seen to when it joined; a newer member may have added to it since
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

// startPatience is how long a start waits for a PostgreSQL that is itself
// starting, or away.
const startPatience = 30 * time.Second

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
		if err == nil || postgresDialect.cause(err) != svc.CauseDatabaseUnreachable || time.Since(began) > startPatience {
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

// closeLimit is how long a Close waits for a PostgreSQL that does not answer.
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
	if s.lease != nil { // nothing writes any more
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

// Abort cuts the connections to PostgreSQL, so that nobody waits any longer. It
// is for a shutdown that must end.
func (s *Store) Abort() { s.sockets.cut() }

// Lost is closed when another orchestrator took the database over: nothing is
// written any more, and nothing that is read here may be acted on. It is nil,
// which blocks, where that cannot happen.
func (s *Store) Lost() <-chan struct{} {
	if s.lease == nil {
		return nil
	}
	return s.lease.lost
}

// Term is the number of the claim under which this store writes: whoever takes the database over has a higher one. 0: it has none, as on SQLite,
// whose file is locked instead.
func (s *Store) Term() int64 { return s.lease.number() }

// LostError says who took it over.
func (s *Store) LostError() error { return s.lease.check() }

// Write runs fn as one unit of work and returns when it is durable, or when it
// failed and left nothing. fn may be given up before it starts when ctx ends,
// never after. It must not call Write, nor wait for anything but the database:
// all other writers wait for it. The rows are those it will need: see [Row].
func (s *Store) Write(ctx context.Context, fn func(*Tx) error, rows ...Row) error {
	return s.Queue(ctx, fn, rows...)()
}

// Queue is Write in two steps: it returns when the unit has its place in the
// queue, and what it gives waits for the unit's end. Units of one caller are
// run in the order in which it queued them, so a caller with many need not wait
// for one commit each.
func (s *Store) Queue(ctx context.Context, fn func(*Tx) error, rows ...Row) (wait func() error) {
	u := s.writer.queueUnit(ctx, fn, false, rows)
	return func() error { return s.dialect.edge(ctx, s.writer.wait(u)) }
}

// WriteRepeatable is Write for a fn that may be run more than once, of which
// only the last time counts. Several such units share a savepoint, the dearest
// part of a small one, and are run again when another orchestrator was in their
// way.
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
	err := s.dialect.within(cancel, func() (err error) {
		tx, err = s.read.BeginTx(inner, &sql.TxOptions{ReadOnly: true, Isolation: s.dialect.snapshotIsolation})
		return err
	})
	if err != nil {
		return s.dialect.edge(ctx, fmt.Errorf("begin a read: %w", err))
	}
	known := &txStatements{Tx: tx, known: s.reads}
	defer func() {
		_ = s.dialect.within(cancel, tx.Rollback)
		known.learn(ctx)
	}()
	return fn(Reader{q: edged{q: known, d: s.dialect}, d: s.dialect})
}

// Committed is closed at the next commit that journaled something. It is a
// wake-up, never the truth.
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
