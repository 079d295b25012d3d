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

// queueOf is the queue that a pending run stands in: its project and what it
// demands of a host, as one text that is indexed. A run that very many hosts
// refused, or that wants many labels, has a queue of its own, because
// PostgreSQL bounds the rows of an index.
const queueOf = `(project_id || ' ' || coalesce(pinned_host_id, '') || ' ' || CASE WHEN length(refused) + length(host_labels) > 500 THEN id ELSE refused || ' ' || host_labels END || ' ' || provider)`

// These are written as in the indexes that serve them. openOn is followed by
// which hosts. What such an expression is compared with is an expression, too,
// as in "$1 || ”": SQLite does not look for a plain column of text in an index
// of expressions, and plans anew for each value of a plain parameter.
const (
	openOn        = "session_ended_at IS NULL AND host_id IS NOT NULL AND host_id || ''"
	isPending     = "status || '' = 'pending'"
	isQueued      = isPending + " AND NOT blocked" // no need holds it back
	isUnconfirmed = "status || '' = 'spawning' AND NOT acked"
)

// RunQueue is the pending runs of a project that demand the same of a host.
type RunQueue struct {
	ProjectID    string
	Provider     string
	PinnedHostID string   // empty: any
	Refused      []string // hosts that refused them
	Labels       map[string]string

	key  string
	runs []readyRun // all of them, where few runs wait; else nil
}

// fewQueued is how many runs are read at once, instead of their queues first
// and then the beginning of each.
const fewQueued = 32

// RunQueues is every queue with a run in it that no need holds back, and their
// projects by id, of one state but for the counts. It costs what the queues are,
// not what the runs are.
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

// manyQueues walks from queue to queue.
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

// readyRun is a run in its queue, and from when on it may be placed.
type readyRun struct {
	QueuedRun
	queue string
	held  bool     // by another run
	from  svc.Time // its back-off and its not_before end
}

// fewQueues reads the runs themselves. all says that no more than these wait.
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

// readQueue takes a queue's key apart. Only the provider may have spaces, and
// the labels, which are JSON.
func (r Reader) readQueue(ctx context.Context, q *RunQueue) error {
	parts := strings.SplitN(q.key, " ", 3)
	if len(parts) != 3 {
		return fmt.Errorf("a queue is named %q", q.key)
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
		return fmt.Errorf("a queue is named %q: %w", q.key, err)
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

// QueuedRuns is the first runs of a queue that may be placed at now, in their
// order.
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

// NextDispatch is when the next back-off or not_before after now ends, of the
// runs in all queues that RunQueues has found; false: none is waited for.
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
		return 0, false, fmt.Errorf("find the next run that may go: %w", err)
	}
	for _, next := range []*svc.Time{backOff, notBefore} {
		if next != nil && (!any || *next < at) {
			at, any = *next, true
		}
	}
	return at, any, nil
}

// firstPending is the lowest value of a column of pending runs after $1,
// written so that it is the first of the index that has those alone.
func firstPending(column string) string {
	return fmt.Sprintf("(SELECT %[1]s FROM runs WHERE %[2]s AND %[1]s IS NOT NULL AND %[1]s > $1 ORDER BY %[1]s LIMIT 1)", column, isPending)
}

// OverdueRuns is the ids of runs of a project that nothing but hosts held back
// since a time, and that do not wait as long as it takes. No parameter is plain:
// SQLite would plan the query anew for each value.
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

// PendingAfter is the ids of runs of a project that became pending after a time, as they say, and are held up by that: they would time
// out, or their back-off ends then.
func (r Reader) PendingAfter(ctx context.Context, projectID string, at svc.Time, limit int) ([]string, error) {
	found, err := collect(ctx, r.q, scanText, `SELECT id FROM runs WHERE `+isQueued+` AND NOT wait AND project_id = $1 || '' AND pending_since > CAST($2 AS BIGINT)
		UNION SELECT id FROM runs WHERE `+isPending+` AND next_dispatch_at IS NOT NULL AND next_dispatch_at > CAST($2 AS BIGINT)
			AND pending_since > CAST($2 AS BIGINT) AND project_id || '' = $1 || ''
		LIMIT CAST($3 AS BIGINT)`, projectID, at, limit)
	if err != nil {
		return nil, fmt.Errorf("find runs that are pending from later on: %w", err)
	}
	return found, nil
}

// PendingAtLeastSince is when somebody placed runs for the last time before a run became pending, by the order of the journal; 0: that is not
// known. It is later than the run says when its clock was behind.
func (tx *Tx) PendingAtLeastSince(ctx context.Context, r *svc.Run) (at svc.Time, err error) {
	err = tx.q.QueryRowContext(ctx, `SELECT coalesce(max(until), 0) FROM service_times
		WHERE head > 0 AND head < (SELECT min(seq) FROM events WHERE run_id = $1 AND created_at = $2)`, r.ID, r.PendingSince).Scan(&at)
	if err != nil {
		return 0, fmt.Errorf("find when a run became pending: %w", err)
	}
	return at, nil
}

func scanText(row scanner) (s string, err error) { return s, row.Scan(&s) }

// stillFits is a part of every change of a host: it could be given runs until
// then, if it could before. now names the argument that is the unit's time.
func stillFits(now string) string {
	return "last_fit_at = CASE WHEN status = 'online' AND NOT instance_suspect THEN " + now + " ELSE last_fit_at END"
}

// AnyFitted says whether any host with these labels, or the one that is named,
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
		return false, fmt.Errorf("ask which hosts fitted: %w", err)
	}
	return slices.ContainsFunc(hosts, func(h svc.Host) bool { return h.HasLabels(labels) }), nil
}

// Capacity is what a claim checks of a host when it is committed.
type Capacity struct {
	Name    string
	Fits    bool // it can be given runs at all
	Limited bool
	Free    int // of a limited one
}

// Capacities reads what hosts can take now. One that is deleted is left out: it
// fits nobody. The unit has named the hosts, so that nobody else gives them runs
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

// ServiceTimes is all that are known, oldest first.
func (r Reader) ServiceTimes(ctx context.Context) ([]ServiceTime, error) {
	found, err := collect(ctx, r.q, func(row scanner) (s ServiceTime, err error) { return s, row.Scan(&s.Began, &s.Until) },
		"SELECT began, until FROM service_times ORDER BY began")
	if err != nil {
		return nil, fmt.Errorf("read the times of service: %w", err)
	}
	return found, nil
}

// KeepServiceTimes replaces what is known of the times of service. Each is written with the end of the journal as it was then: what comes
// behind that happened later, whatever its clock says.
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
