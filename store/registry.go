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

// Registry is the list of the orchestrators that share a PostgreSQL database, as one of them sees it. It serves routing and display;
// who may write is decided by the lease alone. It has connections of its own, so that a busy writer does not make its process look dead.
type Registry struct {
	db      *sql.DB
	sockets sockets
	self    Member
	ahead   time.Duration // how far this process's clock was ahead of the database's when that was last measured; only Beat uses it
}

// Member is an orchestrator that shares its database with others.
type Member struct {
	ID      string // new for each process
	Address string // where the others reach it
	Version string

	// What all must have in common, as prints that tell nobody a secret: the signing key and the tokens. Settings should be the same.
	KeyPrint, TokenPrint, ConfigPrint string
}

// Term is the turn of one leader: from when it took the lease until another does.
type Term struct {
	Epoch   int64
	Replica string // who leads; empty: nobody
	Address string // where it is reached
	Renewed int64  // when it last renewed its lease, by the database's clock in milliseconds
}

// Standing is what a beat found out.
type Standing struct {
	Term       Term
	Draining   bool          // this process was told to hand over and end
	ClockAhead time.Duration // how far its clock is ahead of the database's
}

// Join lists an orchestrator beside the others on the database and brings the schema up to date. It is refused while one serves the
// database alone, and when keys or tokens differ from those of the others.
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

// prepare brings the schema up to date. A database that has none of members yet is taken alone for it: an older orchestrator that
// serves it is not surprised.
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
	alone, err := takeLease(ctx, r.db, "", log)
	if err != nil {
		return err
	}
	return errors.Join(migrate(ctx, r.db, postgresDialect), alone.release())
}

func hasMembers(ctx context.Context, db *sql.DB) (has bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = 'replicas' AND column_name = 'key_print')`).Scan(&has)
	return has, err
}

// list enters this process into the list, as soon as nobody serves the database alone.
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
		if time.Since(began) > leasePatience { // one that is being stopped needs a moment
			return svc.Errorf(svc.CodeConflict, "another orchestrator serves this database alone: %s; give it a cluster_address too, or stop it", alone.holder)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// servesAlone says whether someone alive holds the database for itself.
func (s leaseState) servesAlone() bool { return s.holder != "" && s.replica == "" && !s.expired }

// living is the condition on a replica that it is a member and has said that it lives, within the milliseconds that are $1.
const living = "address <> '' AND state <> 'gone' AND last_seen_at > " + serverClock + " - CAST($1 AS BIGINT)"

// compare refuses this process when it does not have the keys and tokens that the others have.
func (r *Registry) compare(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, "SELECT address, key_print, token_print FROM replicas WHERE "+living, replicaSilence.Milliseconds())
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

// refuseMembers refuses one that wants a database for itself while members live.
func refuseMembers(ctx context.Context, tx *sql.Tx) error {
	var listed bool
	if err := tx.QueryRowContext(ctx, "SELECT to_regclass('replicas') IS NOT NULL").Scan(&listed); err != nil || !listed {
		return err
	}
	var address string
	err := tx.QueryRowContext(ctx, "SELECT address FROM replicas WHERE "+living+" LIMIT 1", replicaSilence.Milliseconds()).Scan(&address)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return svc.Errorf(svc.CodeConflict, "other orchestrators share this database, one at %s; set cluster_address to join them, or stop them", address)
}

const (
	beatLimit      = 2 * time.Second        // of a beat, and of a look
	clockCertainty = 500 * time.Millisecond // a slower answer says nothing of clocks
)

// beat is one statement, so that a slow database is asked once: the row of this process, those of others that are gone, and who leads. Others do the same at
// the same time, after an outage of the database for each other: nobody waits for a row that another one holds.
var beat = `WITH clock AS MATERIALIZED (SELECT ` + serverClock + ` AS now),
	self AS (UPDATE replicas SET last_seen_at = now, uplinks = $2, clock_ahead = $3, state = CASE WHEN state = 'gone' THEN 'ready' ELSE state END
		FROM clock WHERE id = $1 RETURNING state, now),
	silent AS (UPDATE replicas SET state = 'gone', uplinks = 0 WHERE id IN (SELECT id FROM replicas, clock
		WHERE id <> $1 AND state <> 'gone' AND last_seen_at < now - CAST($4 AS BIGINT) FOR UPDATE OF replicas SKIP LOCKED)),
	forgotten AS (DELETE FROM replicas WHERE id IN (SELECT id FROM replicas, clock
		WHERE id <> $1 AND state = 'gone' AND last_seen_at < now - CAST($5 AS BIGINT) FOR UPDATE OF replicas SKIP LOCKED))
	SELECT self.state, self.now, ` + termColumns + ` FROM self, journal WHERE journal.id = 1`

// termColumns is the term as scanTerm reads it.
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

// Beat says that this process lives and how many connections of workers it carries. One that was taken for gone is back by it. It is called by one at a time.
func (r *Registry) Beat(ctx context.Context, uplinks int) (s Standing, err error) {
	ctx, cancel := context.WithTimeout(ctx, beatLimit)
	defer cancel()
	began := time.Now()
	var state svc.ReplicaState
	var now int64
	s.Term, err = scanTerm(r.db.QueryRowContext(ctx, beat, r.self.ID, uplinks, r.ahead.Milliseconds(), replicaSilence.Milliseconds(), replicaKept.Milliseconds()), &state, &now)
	if errors.Is(err, sql.ErrNoRows) { // it was away for longer than anyone is remembered
		if err = r.list(ctx); err == nil {
			s.Term, err = r.Look(ctx)
		}
	} else if took := time.Since(began); err == nil && took < clockCertainty { // else nobody can say when within that time the database looked at its clock
		r.ahead = began.Add(took / 2).Sub(time.UnixMilli(now))
	}
	if err != nil {
		return Standing{}, fmt.Errorf("say that this orchestrator lives: %w", err)
	}
	s.Draining, s.ClockAhead = state == svc.ReplicaDraining, r.ahead
	return s, nil
}

// Look is who leads now.
func (r *Registry) Look(ctx context.Context) (Term, error) {
	ctx, cancel := context.WithTimeout(ctx, beatLimit)
	defer cancel()
	t, err := scanTerm(r.db.QueryRowContext(ctx, "SELECT "+termColumns+" FROM journal WHERE id = 1"))
	if err != nil {
		return Term{}, fmt.Errorf("look who leads: %w", err)
	}
	return t, nil
}

// Leave says that this process ends.
func (r *Registry) Leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatLimit)
	defer cancel()
	if _, err := r.db.ExecContext(ctx, "UPDATE replicas SET state = 'gone', uplinks = 0, last_seen_at = "+serverClock+" WHERE id = $1", r.self.ID); err != nil {
		return fmt.Errorf("say that this orchestrator ends: %w", err)
	}
	return nil
}

// Close closes the registry's connections.
func (r *Registry) Close() error { return r.db.Close() }

// Differences is what members that live do not have in common, and should.
type Differences struct {
	Versions bool // they are not of one version
	Settings bool // settings that all decide by are not the same
	Clocks   bool // the clock of one is more than a second off the database's
}

// Differences compares the members that live.
func (s *Store) Differences(ctx context.Context) (d Differences, err error) {
	err = s.q.QueryRowContext(ctx, `SELECT count(DISTINCT version) > 1, count(DISTINCT config_print) > 1, coalesce(max(abs(clock_ahead)), 0) > 1000
		FROM replicas WHERE `+living, replicaSilence.Milliseconds()).Scan(&d.Versions, &d.Settings, &d.Clocks)
	if err != nil {
		return d, fmt.Errorf("compare the orchestrators: %w", err)
	}
	return d, nil
}
