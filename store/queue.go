package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc"
)

// queueOf is an expression for the queue of a pending run: its project and what
// it demands of a host, as one indexed text. A run that was refused by very many
// hosts, or that demands many labels, has a queue of its own, because PostgreSQL
// limits the size of an index row.
const queueOf = `(project_id || ' ' || coalesce(pinned_host_id, '') || ' ' || CASE WHEN length(refused) + length(host_labels) > 500 THEN id ELSE refused || ' ' || host_labels END || ' ' || provider)`

// These conditions are written exactly as in the indexes that serve them. openOn
// must be followed by a comparison with hosts. The other side of a comparison
// must be an expression too, made by appending an empty text: SQLite does not use
// an index of expressions for a plain text column, and prepares a statement again
// for each value of a plain parameter.
const (
	openOn        = "session_ended_at IS NULL AND host_id IS NOT NULL AND host_id || ''"
	isPending     = "status || '' = 'pending'"
	isQueued      = isPending + " AND NOT blocked" // no need holds it back
	isUnconfirmed = "status || '' = 'spawning' AND NOT acked"
)

// RunQueue is a queue of the pending runs of a project with the same demands on
// a host.
type RunQueue struct {
	ProjectID    string
	Provider     string
	PinnedHostID string   // empty: any
	Refused      []string // hosts that refused them
	Labels       map[string]string

	key  string
	runs []readyRun // all runs of the queue, if few runs wait in all queues; else nil
}

// fewQueued is the number of waiting runs up to which all are read with one
// query. If there are more, the queues are read first, and then the first runs
// of each.
const fewQueued = 32

// RunQueues returns every queue that has a run without an unmet need, and the
// projects of the queues by id. All of it is read from one state of the database,
// except the counts of active runs. The cost depends on the number of queues, not
// on the number of runs.
func (r Reader) RunQueues(ctx context.Context) (queues []RunQueue, projects map[string]QueueProject, err error) {
	queues, projects, all, err := r.fewQueues(ctx)
	if err == nil && !all {
		queues, projects, err = r.manyQueues(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("find queues: %w", err)
	}
	for i := range queues {
		if err := r.readQueue(ctx, &queues[i]); err != nil {
			return nil, nil, err
		}
	}
	return queues, projects, r.countActive(ctx, projects)
}

// manyQueues reads the queues, by steps in the index from one queue to the next.
func (r Reader) manyQueues(ctx context.Context) (queues []RunQueue, projects map[string]QueueProject, err error) {
	projects = map[string]QueueProject{}
	queues, err = collect(ctx, r.q, func(row scanner) (q RunQueue, err error) {
		p, err := scanQueueProject(row, &q.key)
		projects[p.ID] = p
		return q, err
	}, `WITH RECURSIVE queues (queue) AS (
			SELECT * FROM (SELECT `+queueOf+` FROM runs WHERE `+isQueued+` ORDER BY `+queueOf+` LIMIT 1) AS first
			UNION ALL
			SELECT (SELECT `+queueOf+` FROM runs WHERE `+isQueued+` AND `+queueOf+` > queue ORDER BY `+queueOf+` LIMIT 1)
				FROM queues WHERE queue IS NOT NULL)
		SELECT queue, `+queueProjectColumns+` FROM queues JOIN projects ON id = substr(queue, 1, 36) ORDER BY queue`)
	return queues, projects, err
}

// readyRun is a run in its queue, and the time from which it may be placed.
type readyRun struct {
	QueuedRun
	queue string
	held  bool     // another run holds it back
	from  svc.Time // when both its back-off and its not_before have ended
}

// fewQueues reads the queues with all their runs. all is false if more than
// fewQueued runs wait; then it returns nothing else.
func (r Reader) fewQueues(ctx context.Context) (queues []RunQueue, projects map[string]QueueProject, all bool, err error) {
	projects = map[string]QueueProject{}
	runs, err := collect(ctx, r.q, func(row scanner) (w readyRun, err error) {
		p, err := scanQueueProject(row, &w.queue, &w.ID, &w.Priority, &w.PendingSince, &w.held, &w.from)
		projects[p.ID] = p
		return w, err
	}, fmt.Sprintf(`SELECT queue, run, priority, pending_since, held, ready, `+queueProjectColumns+` FROM (
			SELECT `+queueOf+` AS queue, id AS run, priority, pending_since, (`+workspaceBusy+`) OR (`+predecessorActive+`) AS held,
				CASE WHEN coalesce(next_dispatch_at, 0) > coalesce(not_before, 0) THEN next_dispatch_at ELSE coalesce(not_before, 0) END AS ready
			FROM runs WHERE `+isQueued+` ORDER BY `+queueOf+` LIMIT %d) AS few
		JOIN projects ON id = substr(queue, 1, 36)`, fewQueued+1))
	if err != nil || len(runs) > fewQueued {
		return nil, nil, false, err
	}
	slices.SortFunc(runs, func(a, b readyRun) int {
		return cmp.Or(cmp.Compare(a.queue, b.queue), cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.PendingSince, b.PendingSince), cmp.Compare(a.ID, b.ID))
	})
	for _, w := range runs {
		if len(queues) == 0 || queues[len(queues)-1].key != w.queue {
			queues = append(queues, RunQueue{key: w.queue})
		}
		q := &queues[len(queues)-1]
		q.runs = append(q.runs, w)
	}
	return queues, projects, true, nil
}

// readQueue sets the fields of a queue from its key. Only the provider and the
// labels, which are JSON, may have spaces.
func (r Reader) readQueue(ctx context.Context, q *RunQueue) error {
	parts := strings.SplitN(q.key, " ", 3)
	if len(parts) != 3 {
		return fmt.Errorf("the key of a queue is invalid: %q", q.key)
	}
	q.ProjectID, q.PinnedHostID = parts[0], parts[1]
	if id, provider, found := strings.Cut(parts[2], " "); found && svc.IsID(id) {
		q.Provider = provider
		var refused, labels string
		if err := r.q.QueryRowContext(ctx, "SELECT refused, host_labels FROM runs WHERE id = $1", id).Scan(&refused, &labels); err != nil {
			return fmt.Errorf("read what a run demands: %w", err)
		}
		return errors.Join(json.Unmarshal([]byte(refused), &q.Refused), json.Unmarshal([]byte(labels), &q.Labels))
	}
	rest := json.NewDecoder(strings.NewReader(parts[2]))
	if err := errors.Join(rest.Decode(&q.Refused), rest.Decode(&q.Labels)); err != nil {
		return fmt.Errorf("the key of a queue is invalid: %q: %w", q.key, err)
	}
	q.Provider = strings.TrimPrefix(parts[2][rest.InputOffset():], " ")
	return nil
}

// QueuedRun is a pending run in its queue.
type QueuedRun struct {
	ID           string
	Priority     int
	PendingSince svc.Time
}

// QueuedRuns returns the first runs of a queue that may be placed at now, in
// their order.
func (r Reader) QueuedRuns(ctx context.Context, q RunQueue, now svc.Time, limit int) ([]QueuedRun, error) {
	if q.runs != nil {
		var ready []QueuedRun
		for _, w := range q.runs {
			if !w.held && w.from <= now && len(ready) < limit {
				ready = append(ready, w.QueuedRun)
			}
		}
		return ready, nil
	}
	found, err := collect(ctx, r.q, func(row scanner) (w QueuedRun, err error) { return w, row.Scan(&w.ID, &w.Priority, &w.PendingSince) },
		`SELECT id, priority, pending_since FROM runs WHERE `+isQueued+` AND `+queueOf+` = $1 || ''
		AND (next_dispatch_at IS NULL OR next_dispatch_at <= $2) AND (not_before IS NULL OR not_before <= $2)
		AND NOT (`+workspaceBusy+`) AND NOT (`+predecessorActive+`) ORDER BY priority DESC, pending_since, id LIMIT CAST($3 AS BIGINT)`, q.key, now, limit)
	if err != nil {
		return nil, fmt.Errorf("read a queue: %w", err)
	}
	return found, nil
}

// NextDispatch returns when the next back-off or not_before of a waiting run
// ends, after now. queues must be the result of RunQueues. any is false if there
// is no such time.
func (r Reader) NextDispatch(ctx context.Context, queues []RunQueue, now svc.Time) (at svc.Time, any bool, err error) {
	if many := slices.ContainsFunc(queues, func(q RunQueue) bool { return q.runs == nil }); !many {
		for _, q := range queues {
			for _, w := range q.runs {
				if w.from > now && (!any || w.from < at) {
					at, any = w.from, true
				}
			}
		}
		return at, any, nil
	}
	var backOff, notBefore *svc.Time
	if err := r.q.QueryRowContext(ctx, "SELECT "+firstPending("next_dispatch_at")+", "+firstPending("not_before"), now).Scan(&backOff, &notBefore); err != nil {
		return 0, false, fmt.Errorf("find when the next run may be placed: %w", err)
	}
	for _, next := range []*svc.Time{backOff, notBefore} {
		if next != nil && (!any || *next < at) {
			at, any = *next, true
		}
	}
	return at, any, nil
}

// firstPending is a subquery: the lowest value of a column of pending runs after
// $1. It is written so that the index of these runs has the value first.
func firstPending(column string) string {
	return fmt.Sprintf("(SELECT %[1]s FROM runs WHERE %[2]s AND %[1]s IS NOT NULL AND %[1]s > $1 ORDER BY %[1]s LIMIT 1)", column, isPending)
}

// OverdueRuns returns the ids of runs of a project that have waited for a host,
// and for nothing else, since a time or longer. Runs with the flag wait are left
// out: they have no dispatch timeout. No parameter is plain, because SQLite would
// prepare the query again for each value.
func (r Reader) OverdueRuns(ctx context.Context, projectID string, before svc.Time, limit int) ([]string, error) {
	found, err := collect(ctx, r.q, scanText, `SELECT id FROM runs WHERE `+isQueued+` AND NOT wait AND project_id = $1 || '' AND pending_since <= CAST($2 AS BIGINT)
		AND (next_dispatch_at IS NULL OR next_dispatch_at <= CAST($2 AS BIGINT)) AND (not_before IS NULL OR not_before <= CAST($2 AS BIGINT))
		AND (unblocked_at IS NULL OR unblocked_at <= CAST($2 AS BIGINT))
		AND NOT (`+workspaceBusy+`) AND NOT (`+workspaceLeft+` > CAST($2 AS BIGINT))
		AND NOT (`+predecessorActive+`) AND NOT (`+predecessorLeft+` > CAST($2 AS BIGINT)) ORDER BY pending_since, id LIMIT CAST($3 AS BIGINT)`, projectID, before, limit)
	if err != nil {
		return nil, fmt.Errorf("find runs that wait too long: %w", err)
	}
	return found, nil
}

// PendingAfter returns the ids of runs of a project whose pending_since lies after a time, and which that delays: their
// dispatch timeout begins too late, or they have a back-off that ends after that time.
func (r Reader) PendingAfter(ctx context.Context, projectID string, at svc.Time, limit int) ([]string, error) {
	found, err := collect(ctx, r.q, scanText, `SELECT id FROM runs WHERE `+isQueued+` AND NOT wait AND project_id = $1 || '' AND pending_since > CAST($2 AS BIGINT)
		UNION SELECT id FROM runs WHERE `+isPending+` AND next_dispatch_at IS NOT NULL AND next_dispatch_at > CAST($2 AS BIGINT)
			AND pending_since > CAST($2 AS BIGINT) AND project_id || '' = $1 || ''
		LIMIT CAST($3 AS BIGINT)`, projectID, at, limit)
	if err != nil {
		return nil, fmt.Errorf("find runs whose pending_since is in the future: %w", err)
	}
	return found, nil
}

// PendingAtLeastSince returns the end of the last service time that was written before the run became pending, by the
// order of the journal; 0: that is not known. If it is later than the run's pending_since, the clock that set
// pending_since was behind.
func (tx *Tx) PendingAtLeastSince(ctx context.Context, r *svc.Run) (at svc.Time, err error) {
	err = tx.q.QueryRowContext(ctx, `SELECT coalesce(max(until), 0) FROM service_times
		WHERE head > 0 AND head < (SELECT min(seq) FROM events WHERE run_id = $1 AND created_at = $2)`, r.ID, r.PendingSince).Scan(&at)
	if err != nil {
		return 0, fmt.Errorf("find when a run became pending: %w", err)
	}
	return at, nil
}

func scanText(row scanner) (s string, err error) { return s, row.Scan(&s) }

// stillFits is a part of every UPDATE of a host: if the host could be given runs
// before the change, last_fit_at becomes the unit's time. now is the parameter
// with that time.
func stillFits(now string) string {
	return "last_fit_at = CASE WHEN status = 'online' AND NOT instance_suspect THEN " + now + " ELSE last_fit_at END"
}

// AnyFitted reports whether a host with these labels, or only the pinned host,
// could be given runs at any moment since a time.
func (r Reader) AnyFitted(ctx context.Context, pinned *string, labels map[string]string, since svc.Time) (bool, error) {
	query := `SELECT labels FROM hosts WHERE (last_fit_at > $1 OR status = 'online' AND NOT instance_suspect AND deleted_at IS NULL)`
	args := []any{since}
	if pinned != nil {
		query, args = query+" AND id = $2", append(args, *pinned)
	}
	hosts, err := collect(ctx, r.q, func(row scanner) (h svc.Host, err error) {
		var text string
		if err := row.Scan(&text); err != nil {
			return h, err
		}
		return h, json.Unmarshal([]byte(text), &h.Labels)
	}, query, args...)
	if err != nil {
		return false, fmt.Errorf("read which hosts fitted: %w", err)
	}
	return slices.ContainsFunc(hosts, func(h svc.Host) bool { return h.HasLabels(labels) }), nil
}

// Capacity is what a claim checks of a host in the unit that places a run there.
type Capacity struct {
	Name    string
	Fits    bool // it can be given runs at all
	Limited bool
	Free    int // how many more runs it can be given; only if Limited
}

// Capacities returns the capacity of hosts. Deleted hosts are left out. The unit
// must have named the hosts (see [Row]), so that no other unit gives them runs
// meanwhile.
func (tx *Tx) Capacities(ctx context.Context, hostIDs []string) (map[string]*Capacity, error) {
	found := map[string]*Capacity{}
	for ids := range slices.Chunk(hostIDs, mostRows) {
		in, args := oneOf(ids)
		_, err := collect(ctx, tx.q, func(row scanner) (struct{}, error) {
			var id string
			var c Capacity
			err := row.Scan(&id, &c.Name, &c.Fits, &c.Limited, &c.Free)
			found[id] = &c
			return struct{}{}, err
		}, `SELECT id, name, status = 'online' AND NOT instance_suspect, max_runs IS NOT NULL,
			CASE WHEN max_runs IS NULL THEN 0 ELSE max_runs - `+openRuns+` END FROM hosts WHERE id IN (`+in+`) AND deleted_at IS NULL`, args...)
		if err != nil {
			return nil, fmt.Errorf("read the capacity of hosts: %w", err)
		}
	}
	return found, nil
}

// ServiceTime is a time in which an orchestrator was running.
type ServiceTime struct{ Began, Until svc.Time }

// ServiceTimes returns all service times that are stored, oldest first.
func (r Reader) ServiceTimes(ctx context.Context) ([]ServiceTime, error) {
	found, err := collect(ctx, r.q, func(row scanner) (s ServiceTime, err error) { return s, row.Scan(&s.Began, &s.Until) },
		"SELECT began, until FROM service_times ORDER BY began")
	if err != nil {
		return nil, fmt.Errorf("read the times of service: %w", err)
	}
	return found, nil
}

// KeepServiceTimes replaces the stored service times. A new or changed one is stored with the journal's head: events
// after that head happened later, whatever their clocks say.
func (tx *Tx) KeepServiceTimes(ctx context.Context, times []ServiceTime) error {
	if len(times) == 0 {
		return nil
	}
	last := times[len(times)-1]
	if _, err := tx.exec(ctx, "DELETE FROM service_times WHERE began < $1 OR began > $2", times[0].Began, last.Began); err != nil {
		return fmt.Errorf("forget times of service: %w", err)
	}
	for _, s := range times {
		if _, err := tx.exec(ctx, `INSERT INTO service_times (began, until, head) VALUES ($1, $2, (SELECT head FROM journal WHERE id = 1))
			ON CONFLICT (began) DO UPDATE SET until = $2, head = (SELECT head FROM journal WHERE id = 1) WHERE service_times.until <> $2`, s.Began, s.Until); err != nil {
			return fmt.Errorf("write the times of service: %w", err)
		}
	}
	return nil
}
