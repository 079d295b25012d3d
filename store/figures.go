package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"svc"
)

// Counts is what happened to writes since a process began.
type Counts struct {
	Fenced  atomic.Int64 // changes that were refused because another orchestrator leads, or may
	Retried atomic.Int64 // groups that were tried again: a deadlock, a lock that was not released in time, a row that someone else changed
}

// refused counts changes that failed, if they did because another one leads.
func (c *Counts) refused(why error, changes int) {
	if c != nil && svc.CauseOf(why) == svc.CauseLostLock {
		c.Fenced.Add(int64(changes))
	}
}

func (c *Counts) retried() {
	if c != nil {
		c.Retried.Add(1)
	}
}

// ObserveCommits has fn called after each group of units that was committed,
// with the time that the group took. It is called by the writer, so it must not
// wait.
func (s *Store) ObserveCommits(fn func(took time.Duration)) { s.writer.observe.Store(&fn) }

// Queued is how many units wait for the writer.
func (s *Store) Queued() int { return len(s.writer.queue) }

// RunFigures is how many runs are in each active state, and since when the one
// waits that waits longest for a host and is not held back by a need, a time or
// the back-off of a restart; 0: none waits.
type RunFigures struct {
	Count   map[svc.RunStatus]int
	Waiting svc.Time
}

// RunFigures counts the active runs at a time.
func (r Reader) RunFigures(ctx context.Context, now svc.Time) (RunFigures, error) {
	f := RunFigures{Count: map[svc.RunStatus]int{}}
	rows, err := r.q.QueryContext(ctx, `SELECT status, count(*), min(CASE WHEN status = 'pending' AND NOT blocked
		AND coalesce(next_dispatch_at, 0) <= $1 AND coalesce(not_before, 0) <= $1 THEN pending_since END)
		FROM runs WHERE status IN ('pending', 'spawning', 'running') GROUP BY status`, now)
	if err != nil {
		return f, fmt.Errorf("count the active runs: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var status svc.RunStatus
		var n int
		var since *svc.Time
		if err := rows.Scan(&status, &n, &since); err != nil {
			return f, fmt.Errorf("count the active runs: %w", err)
		}
		f.Count[status] = n
		if since != nil {
			f.Waiting = *since
		}
	}
	return f, rows.Err()
}
