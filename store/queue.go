package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"svc"
)

// queueOf is the queue that a pending run stands in: what it demands of a host,
// as one text that is indexed. A run that very many hosts refused has a queue
// of its own, because PostgreSQL bounds the rows of an index.
const queueOf = `(coalesce(pinned_host_id, '') || ' ' || CASE WHEN length(refused) > 1000 THEN id ELSE refused END || ' ' || provider)`

// isPending and isUnconfirmed are written as in the indexes that serve them.
const (
	isPending     = "status || '' = 'pending'"
	isUnconfirmed = "status || '' = 'spawning' AND NOT acked"
)

// RunQueue is the pending runs that demand the same of a host.
type RunQueue struct {
	Provider     string
	PinnedHostID string   // empty: any
	Refused      []string // hosts that refused them
	Oldest       svc.Time // pending_since of the longest waiting

	key string
}

// RunQueues is every queue with a run in it. It costs what the queues are, not
// what the runs are.
func (r Reader) RunQueues(ctx context.Context) ([]RunQueue, error) {
	found, err := collect(ctx, r.q, func(row scanner) (q RunQueue, err error) { return q, row.Scan(&q.key, &q.Oldest) },
		`WITH RECURSIVE queues (queue) AS (
			SELECT * FROM (SELECT `+queueOf+` FROM runs WHERE `+isPending+` ORDER BY `+queueOf+` LIMIT 1) AS first
			UNION ALL
			SELECT (SELECT `+queueOf+` FROM runs WHERE `+isPending+` AND `+queueOf+` > queue ORDER BY `+queueOf+` LIMIT 1)
				FROM queues WHERE queue IS NOT NULL)
		SELECT queue, (SELECT pending_since FROM runs WHERE `+isPending+` AND `+queueOf+` = queue ORDER BY pending_since, id LIMIT 1)
			FROM queues WHERE queue IS NOT NULL`)
	if err != nil {
		return nil, fmt.Errorf("find queues: %w", err)
	}
	for i := range found {
		if err := r.readQueue(ctx, &found[i]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// readQueue takes a queue's key apart.
func (r Reader) readQueue(ctx context.Context, q *RunQueue) error {
	parts := strings.SplitN(q.key, " ", 3)
	if len(parts) != 3 {
		return fmt.Errorf("a queue is named %q", q.key)
	}
	refused := parts[1]
	q.PinnedHostID, q.Provider = parts[0], parts[2]
	if svc.IsID(refused) {
		err := r.q.QueryRowContext(ctx, "SELECT refused FROM runs WHERE id = $1", refused).Scan(&refused)
		if err != nil {
			return fmt.Errorf("read who refused a run: %w", err)
		}
	}
	return json.Unmarshal([]byte(refused), &q.Refused)
}

// QueuedRun is a pending run in its queue.
type QueuedRun struct {
	ID           string
	PendingSince svc.Time
}

// QueuedRuns is the longest waiting runs of a queue that may be placed at now.
func (r Reader) QueuedRuns(ctx context.Context, q RunQueue, now svc.Time, limit int) ([]QueuedRun, error) {
	found, err := collect(ctx, r.q, func(row scanner) (w QueuedRun, err error) { return w, row.Scan(&w.ID, &w.PendingSince) },
		`SELECT id, pending_since FROM runs WHERE `+isPending+` AND `+queueOf+` = $1 AND (next_dispatch_at IS NULL OR next_dispatch_at <= $2)
		ORDER BY pending_since, id LIMIT $3`, q.key, now, limit)
	if err != nil {
		return nil, fmt.Errorf("read a queue: %w", err)
	}
	return found, nil
}

// NextDispatch is when the next back-off after now ends; false: none is
// waited for.
func (r Reader) NextDispatch(ctx context.Context, now svc.Time) (at svc.Time, any bool, err error) {
	err = r.q.QueryRowContext(ctx, "SELECT next_dispatch_at FROM runs WHERE "+isPending+
		" AND next_dispatch_at IS NOT NULL AND next_dispatch_at > $1 ORDER BY next_dispatch_at LIMIT 1", now).Scan(&at)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("find the next restart: %w", err)
	}
	return at, true, nil
}

// OverdueRuns is the ids of runs of a queue that wait since before a time.
func (r Reader) OverdueRuns(ctx context.Context, q RunQueue, before svc.Time, limit int) ([]string, error) {
	found, err := collect(ctx, r.q, scanText, `SELECT id FROM runs WHERE `+isPending+` AND `+queueOf+` = $1 AND pending_since <= $2
		AND (next_dispatch_at IS NULL OR next_dispatch_at <= $2) ORDER BY pending_since, id LIMIT $3`, q.key, before, limit)
	if err != nil {
		return nil, fmt.Errorf("find runs that wait too long: %w", err)
	}
	return found, nil
}

func scanText(row scanner) (s string, err error) { return s, row.Scan(&s) }

// stillFits is a part of every change of a host: it could be given runs until
// then, if it could before. now names the argument that is the unit's time.
func stillFits(now string) string {
	return "last_fit_at = CASE WHEN status = 'online' AND NOT instance_suspect THEN " + now + " ELSE last_fit_at END"
}

// AnyFitted says whether any host, or the one that is named, could be given
// runs at any moment since a time.
func (r Reader) AnyFitted(ctx context.Context, pinned *string, since svc.Time) (bool, error) {
	query := `SELECT count(*) FROM hosts WHERE (last_fit_at > $1 OR status = 'online' AND NOT instance_suspect AND deleted_at IS NULL)`
	args := []any{since}
	if pinned != nil {
		query, args = query+" AND id = $2", append(args, *pinned)
	}
	var n int
	if err := r.q.QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
		return false, fmt.Errorf("ask which hosts fitted: %w", err)
	}
	return n > 0, nil
}

// Capacity is what a claim checks of a host when it is committed.
type Capacity struct {
	Name    string
	Fits    bool // it can be given runs at all
	Limited bool
	Free    int // of a limited one
}

// Capacity reads what a host can take now. A host that is deleted fits nobody.
func (tx *Tx) Capacity(ctx context.Context, hostID string) (c Capacity, err error) {
	err = tx.q.QueryRowContext(ctx, `SELECT name, status = 'online' AND NOT instance_suspect, max_runs IS NOT NULL,
		CASE WHEN max_runs IS NULL THEN 0 ELSE max_runs - (SELECT count(*) FROM runs WHERE runs.host_id = hosts.id
			AND runs.session_ended_at IS NULL AND runs.status <> 'pending') END
		FROM hosts WHERE id = $1 AND deleted_at IS NULL`, hostID).Scan(&c.Name, &c.Fits, &c.Limited, &c.Free)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Capacity{}, nil
	case err != nil:
		return c, fmt.Errorf("read a host's capacity: %w", err)
	}
	return c, nil
}

// ServiceTime is a time in which an orchestrator was running.
type ServiceTime struct{ Began, Until svc.Time }

// ServiceTimes is all that are known, oldest first.
func (r Reader) ServiceTimes(ctx context.Context) ([]ServiceTime, error) {
	found, err := collect(ctx, r.q, func(row scanner) (s ServiceTime, err error) { return s, row.Scan(&s.Began, &s.Until) },
		"SELECT began, until FROM service_times ORDER BY began")
	if err != nil {
		return nil, fmt.Errorf("read the times of service: %w", err)
	}
	return found, nil
}

// KeepServiceTimes replaces what is known of the times of service.
func (tx *Tx) KeepServiceTimes(ctx context.Context, times []ServiceTime) error {
	if len(times) == 0 {
		return nil
	}
	last := times[len(times)-1]
	if _, err := tx.exec(ctx, "DELETE FROM service_times WHERE began < $1 OR began > $2", times[0].Began, last.Began); err != nil {
		return fmt.Errorf("forget times of service: %w", err)
	}
	for _, s := range times {
		if _, err := tx.exec(ctx, `INSERT INTO service_times (began, until) VALUES ($1, $2)
			ON CONFLICT (began) DO UPDATE SET until = $2 WHERE service_times.until <> $2`, s.Began, s.Until); err != nil {
			return fmt.Errorf("write the times of service: %w", err)
		}
	}
	return nil
}
