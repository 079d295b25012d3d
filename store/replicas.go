package store

import (
	"context"
	"fmt"
	"time"

	"svc"
)

const (
	// replicaSilence is the age of the last beat after which an orchestrator is marked as gone: several beats are
	// missing.
	replicaSilence = 5 * time.Second
	// replicaKept is how long an orchestrator that is gone stays in the list.
	replicaKept = 24 * time.Hour
)

const replicaColumns = "id, address, version, state, uplinks, since, last_seen_at"

func scanReplica(row scanner) (r svc.Replica, err error) {
	return r, row.Scan(&r.ID, &r.Address, &r.Version, &r.State, &r.Uplinks, &r.Since, &r.LastSeenAt)
}

// Shared reports whether other processes can read the database while this one serves it.
func (s *Store) Shared() bool { return s.dialect == postgresDialect }

// alone reports whether this process is the only orchestrator that may write.
func (s *Store) alone() bool { return s.dialect != postgresDialect || s.lease != nil }

// clock returns the time by which beats are compared: PostgreSQL's, which all its orchestrators share, or on SQLite
// that of this process, which is the only one.
func (tx *Tx) clock(ctx context.Context) (at svc.Time, err error) {
	if tx.d != postgresDialect {
		return tx.Now, nil
	}
	if err := tx.q.QueryRowContext(ctx, "SELECT "+serverClock).Scan(&at); err != nil {
		return 0, fmt.Errorf("read the database's clock: %w", err)
	}
	return at, nil
}

// RegisterReplica adds this process to the list of replicas. If it is the only orchestrator that may write, it marks
// all others as gone.
func (s *Store) RegisterReplica(ctx context.Context, r svc.Replica) error {
	return s.WriteRepeatable(ctx, func(tx *Tx) error {
		if s.alone() {
			if _, err := tx.exec(ctx, "UPDATE replicas SET state = 'gone' WHERE state <> 'gone' AND id <> $1", r.ID); err != nil {
				return fmt.Errorf("mark former replicas as gone: %w", err)
			}
		}
		return tx.BeatReplica(ctx, r)
	})
}

// BeatReplica records that a process is alive, and its number of uplinks. If the process is not listed or is marked as
// gone, it is listed with its own state. Processes without a beat for replicaSilence are marked as gone, and those
// without a beat for replicaKept are removed.
func (tx *Tx) BeatReplica(ctx context.Context, r svc.Replica) error {
	now, err := tx.clock(ctx)
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, "INSERT INTO replicas ("+replicaColumns+`) VALUES ($1,$2,$3,$4,$5,$6,$6) ON CONFLICT (id) DO UPDATE SET
		uplinks = excluded.uplinks, last_seen_at = excluded.last_seen_at,
		state = CASE WHEN replicas.state = 'gone' THEN excluded.state ELSE replicas.state END`,
		r.ID, r.Address, r.Version, r.State, r.Uplinks, now)
	if err != nil {
		return fmt.Errorf("note the beat of a replica: %w", err)
	}
	if _, err := tx.exec(ctx, "UPDATE replicas SET state = 'gone' WHERE state <> 'gone' AND last_seen_at < $1", now.Add(-replicaSilence)); err != nil {
		return fmt.Errorf("mark silent replicas as gone: %w", err)
	}
	if _, err := tx.exec(ctx, "DELETE FROM replicas WHERE state = 'gone' AND last_seen_at < $1", now.Add(-replicaKept)); err != nil {
		return fmt.Errorf("remove replicas that are gone: %w", err)
	}
	return nil
}

// DrainReplica requests that a process hands over and ends. first is false if it is draining already. A process that is
// gone is a conflict.
func (tx *Tx) DrainReplica(ctx context.Context, id string) (r svc.Replica, first bool, err error) {
	r, err = readOne(ctx, tx.q, scanReplica, "replica", id, "SELECT "+replicaColumns+" FROM replicas WHERE id = $1"+tx.d.forUpdate, id)
	switch {
	case err != nil:
		return r, false, err
	case r.State == svc.ReplicaGone:
		return r, false, svc.Errorf(svc.CodeConflict, "replica %s is gone", id).With("state", r.State)
	case r.State == svc.ReplicaDraining:
		return r, false, nil
	}
	r.State = svc.ReplicaDraining
	if _, err := tx.exec(ctx, "UPDATE replicas SET state = $1 WHERE id = $2", r.State, id); err != nil {
		return r, false, fmt.Errorf("drain a replica: %w", err)
	}
	return r, true, nil
}

// EndReplica records that a process has ended.
func (tx *Tx) EndReplica(ctx context.Context, id string) error {
	now, err := tx.clock(ctx)
	if err != nil {
		return err
	}
	if _, err := tx.exec(ctx, "UPDATE replicas SET state = 'gone', uplinks = 0, last_seen_at = $1 WHERE id = $2", now, id); err != nil {
		return fmt.Errorf("end a replica: %w", err)
	}
	return nil
}

// Replicas returns a page of orchestrator processes, newest first.
func (r Reader) Replicas(ctx context.Context, page svc.Page) (svc.List[svc.Replica], error) {
	var w where
	if page.Cursor != "" {
		var at svc.Time
		var id string
		if err := readCursor("replicas", page.Cursor, (*int64)(&at), &id); err != nil {
			return svc.List[svc.Replica]{}, err
		}
		w.add("(since, id) < (?, ?)", at, id)
	}
	found, cut, err := collectUpTo(ctx, r.q, page.Bytes, scanReplica, fmt.Sprintf("SELECT %s FROM replicas%s ORDER BY since DESC, id DESC LIMIT %d",
		replicaColumns, w.sql(), page.Limit+1), w.args...)
	if err != nil {
		return svc.List[svc.Replica]{}, fmt.Errorf("list replicas: %w", err)
	}
	return paged(found, cut, page.Limit, func(r svc.Replica) string { return cursor("replicas", int64(r.Since), r.ID) }), nil
}
