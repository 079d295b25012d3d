package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"svc"
)

// Registry is the list of the orchestrators that share a PostgreSQL database, for one of them. It is used for routing
// and display; only the lease decides which of them may write. It has its own connections, so that a busy writer does
// not delay the beats and make its process look dead.
type Registry struct {
	db      *sql.DB
	sockets sockets
	self    Member
	ahead   time.Duration // how far this process's clock was ahead of the database's, as last measured; only Beat uses it
}

// Member is an orchestrator that shares its database with others.
type Member struct {
	ID      string // new for each process
	Address string // where the other orchestrators reach it
	Version string

	// Fingerprints of the signing key, of the tokens and of the settings, from which no secret can be derived. The
	// first two must be the same for all members, the settings should be.
	KeyPrint, TokenPrint, ConfigPrint string
}

// Term is the time in which one orchestrator leads: from when it acquires the lease until another one does.
type Term struct {
	Epoch   int64
	Replica string // id of the leader; empty: there is none
	Address string // where the leader is reached
	Renewed int64  // when it last renewed its lease, by the database's clock in milliseconds
}

// Standing is the result of a beat.
type Standing struct {
	Term       Term
	Draining   bool          // an operator has requested that this process drains: it must hand over and end
	ClockAhead time.Duration // how far this process's clock is ahead of the database's
}

// Join adds an orchestrator to the list of those that share a database, and brings the schema up to date. It returns an
// error while an orchestrator serves the database alone, and if the signing key or the tokens differ from those of the
// other members.
func Join(ctx context.Context, dsn string, m Member, log *slog.Logger) (_ *Registry, err error) {
	r := &Registry{self: m, sockets: sockets{open: map[net.Conn]struct{}{}}}
	if r.db, err = openPostgres(dsn, sessionSettings, &r.sockets); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = r.db.Close()
			err = postgresDialect.edge(ctx, err)
		}
	}()
	r.db.SetMaxOpenConns(2)
	if err := awaitPostgres(ctx, r.db, log); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, log); err != nil {
		return nil, err
	}
	return r, r.list(ctx)
}

// prepare brings the schema up to date.
func (r *Registry) prepare(ctx context.Context, log *slog.Logger) error {
	known, err := hasMembers(ctx, r.db)
	if err != nil || known {
		return errors.Join(err, migrate(ctx, r.db, postgresDialect))
	}
	old, err := hasLease(ctx, r.db)
	if err != nil {
		return err
	}
	if !old {
		if err := refuseSessionLock(ctx, r.db); err != nil {
			return err
		}
		return migrate(ctx, r.db, postgresDialect)
	}
	return r.migrateAlone(ctx, log)
}

// migrateAlone brings a schema without the tables of members up to date. It first takes the lease alone, so that the
// schema does not change under an older orchestrator that serves the database. If that fails although the tables exist by
// then, another member that started at the same time has created them, and may lead already.
func (r *Registry) migrateAlone(ctx context.Context, log *slog.Logger) error {
	alone, err := takeLease(ctx, r.db, "", log)
	if err == nil {
		return errors.Join(migrate(ctx, r.db, postgresDialect), alone.release())
	}
	if known, again := hasMembers(ctx, r.db); again != nil || !known {
		return err
	}
	return migrate(ctx, r.db, postgresDialect)
}

func hasMembers(ctx context.Context, db *sql.DB) (has bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = 'replicas' AND column_name = 'key_print')`).Scan(&has)
	return has, err
}

// list adds this process to the list. While another orchestrator serves the database alone, it waits, at most for
// leaseWait.
func (r *Registry) list(ctx context.Context) error {
	for began := time.Now(); ; {
		var alone leaseState
		err := inTx(ctx, r.db, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "SELECT FROM journal WHERE id = 1 FOR SHARE"); err != nil {
				return err
			}
			if err := tx.QueryRowContext(ctx, "SELECT holder, replica, "+leaseExpired+" FROM journal WHERE id = 1").
				Scan(&alone.holder, &alone.replica, &alone.expired); err != nil {
				return err
			}
			if alone.servesAlone() {
				return nil
			}
			if err := r.compare(ctx, tx); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO replicas (id, address, version, state, uplinks, since, last_seen_at, key_print, token_print, config_print)
				SELECT $1, $2, $3, 'ready', 0, at, at, $4, $5, $6 FROM (SELECT `+serverClock+` AS at) AS clock`,
				r.self.ID, r.self.Address, r.self.Version, r.self.KeyPrint, r.self.TokenPrint, r.self.ConfigPrint)
			return err
		})
		if err != nil {
			return fmt.Errorf("join the orchestrators on this database: %w", err)
		}
		if !alone.servesAlone() {
			return nil
		}
		if time.Since(began) > leaseWait { // the other orchestrator may be shutting down
			return svc.Errorf(svc.CodeConflict, "another orchestrator serves this database alone: %s; give it a cluster_address too, or stop it", alone.holder)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// servesAlone reports whether an orchestrator that is alive serves the database alone.
func (s leaseState) servesAlone() bool { return s.holder != "" && s.replica == "" && !s.expired }

// aliveMember is a condition on a replica: it is a member, and its last beat is at most $1 milliseconds old.
const aliveMember = "address <> '' AND state <> 'gone' AND last_seen_at > " + serverClock + " - CAST($1 AS BIGINT)"

// compare returns an error if the signing key or the tokens of this process differ from those of the living members.
func (r *Registry) compare(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "SELECT address, key_print, token_print FROM replicas WHERE "+aliveMember, replicaSilence.Milliseconds())
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var address, key, token string
		if err := rows.Scan(&address, &key, &token); err != nil {
			return err
		}
		if key != r.self.KeyPrint {
			return svc.Errorf(svc.CodeConflict, "the orchestrator at %s has another signing key; set SVC_SIGNING_KEY to the same value for all", address)
		}
		if token != r.self.TokenPrint {
			return svc.Errorf(svc.CodeConflict, "the orchestrator at %s has another access token or worker token; set SVC_TOKEN and SVC_WORKER_TOKEN to the same values for all", address)
		}
	}
	return rows.Err()
}

// refuseMembers returns an error if members are alive. It is for an orchestrator that is to serve the database alone.
func refuseMembers(ctx context.Context, tx *sql.Tx) error {
	var listed bool
	if err := tx.QueryRowContext(ctx, "SELECT to_regclass('replicas') IS NOT NULL").Scan(&listed); err != nil || !listed {
		return err
	}
	var address string
	err := tx.QueryRowContext(ctx, "SELECT address FROM replicas WHERE "+aliveMember+" LIMIT 1", replicaSilence.Milliseconds()).Scan(&address)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return svc.Errorf(svc.CodeConflict, "other orchestrators share this database, one at %s; set cluster_address to join them, or stop them", address)
}

const (
	beatLimit      = 2 * time.Second        // the timeout of Beat, Look and Leave
	clockCertainty = 500 * time.Millisecond // a slower answer is not used to compare the clocks
)

// beat is a single statement, so that it costs one round trip even if the database is slow. It updates the row of this
// process, marks silent members as gone, deletes old rows, and returns the term. All members do this at the same time,
// after an outage of the database for each other's rows. Therefore it skips rows that another member has locked.
var beat = `WITH clock AS MATERIALIZED (SELECT ` + serverClock + ` AS now),
	self AS (UPDATE replicas SET last_seen_at = now, uplinks = $2, clock_ahead = $3, state = CASE WHEN state = 'gone' THEN 'ready' ELSE state END
		FROM clock WHERE id = $1 RETURNING state, now),
	silent AS (UPDATE replicas SET state = 'gone', uplinks = 0 WHERE id IN (SELECT id FROM replicas, clock
		WHERE id <> $1 AND state <> 'gone' AND last_seen_at < now - CAST($4 AS BIGINT) FOR UPDATE OF replicas SKIP LOCKED)),
	forgotten AS (DELETE FROM replicas WHERE id IN (SELECT id FROM replicas, clock
		WHERE id <> $1 AND state = 'gone' AND last_seen_at < now - CAST($5 AS BIGINT) FOR UPDATE OF replicas SKIP LOCKED))
	SELECT self.state, self.now, ` + termColumns + ` FROM self, journal WHERE journal.id = 1`

// termColumns are the columns of the term for scanTerm.
var termColumns = `journal.epoch, CASE WHEN journal.holder = '' THEN '' ELSE journal.replica END, ` + leaseExpired + `,
	coalesce((SELECT address FROM replicas WHERE replicas.id = journal.replica), ''), journal.renewed_at`

func scanTerm(row scanner, before ...any) (t Term, err error) {
	var expired bool
	err = row.Scan(append(before, &t.Epoch, &t.Replica, &expired, &t.Address, &t.Renewed)...)
	if expired {
		t.Replica, t.Address = "", ""
	}
	return t, err
}

// Beat records that this process is alive, and how many connections of workers it has. If the process was marked as
// gone, it is listed again. Beat must not be called concurrently.
func (r *Registry) Beat(ctx context.Context, uplinks int) (s Standing, err error) {
	ctx, cancel := context.WithTimeout(ctx, beatLimit)
	defer cancel()
	began := time.Now()
	var state svc.ReplicaState
	var now int64
	s.Term, err = scanTerm(r.db.QueryRowContext(ctx, beat, r.self.ID, uplinks, r.ahead.Milliseconds(), replicaSilence.Milliseconds(), replicaKept.Milliseconds()), &state, &now)
	if errors.Is(err, sql.ErrNoRows) { // the row was deleted: the last beat is older than replicaKept
		if err = r.list(ctx); err == nil {
			s.Term, err = r.Look(ctx)
		}
	} else if took := time.Since(began); err == nil && took < clockCertainty { // else it is too uncertain when the database read its clock
		r.ahead = began.Add(took / 2).Sub(time.UnixMilli(now))
	}
	if err != nil {
		return Standing{}, fmt.Errorf("record that this orchestrator is alive: %w", err)
	}
	s.Draining, s.ClockAhead = state == svc.ReplicaDraining, r.ahead
	return s, nil
}

// Look returns the current term.
func (r *Registry) Look(ctx context.Context) (Term, error) {
	ctx, cancel := context.WithTimeout(ctx, beatLimit)
	defer cancel()
	t, err := scanTerm(r.db.QueryRowContext(ctx, "SELECT "+termColumns+" FROM journal WHERE id = 1"))
	if err != nil {
		return Term{}, fmt.Errorf("read which orchestrator leads: %w", err)
	}
	return t, nil
}

// Leave records that this process ends.
func (r *Registry) Leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatLimit)
	defer cancel()
	if _, err := r.db.ExecContext(ctx, "UPDATE replicas SET state = 'gone', uplinks = 0, last_seen_at = "+serverClock+" WHERE id = $1", r.self.ID); err != nil {
		return fmt.Errorf("record that this orchestrator ends: %w", err)
	}
	return nil
}

// Close closes the registry's connections.
func (r *Registry) Close() error { return r.db.Close() }

// Differences is what differs between the living members and should not.
type Differences struct {
	Versions bool // their versions differ
	Settings bool // settings that influence decisions differ
	Clocks   bool // the clock of a member differs from the database's by more than a second
}

// Differences compares the living members.
func (s *Store) Differences(ctx context.Context) (d Differences, err error) {
	err = s.q.QueryRowContext(ctx, `SELECT count(DISTINCT version) > 1, count(DISTINCT config_print) > 1, coalesce(max(abs(clock_ahead)), 0) > 1000
		FROM replicas WHERE `+aliveMember, replicaSilence.Milliseconds()).Scan(&d.Versions, &d.Settings, &d.Clocks)
	if err != nil {
		return d, fmt.Errorf("compare the orchestrators: %w", err)
	}
	return d, nil
}
