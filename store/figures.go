package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"svc"
)

// Counts are counters of writes since a process started.
type Counts struct {
	Fenced  atomic.Int64 // units that were refused because this process has lost the lease
	Retried atomic.Int64 // repetitions of groups, after a deadlock, a lock timeout, or a concurrent change of a row
}

// refused adds to Fenced if the units failed because another orchestrator has
// taken the lease.
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

// ObserveCommits sets a function that is called after each commit of a group of
// units, with the time that the group took. The writer calls it, so it must not
// block.
func (s *Store) ObserveCommits(fn func(took time.Duration)) { s.writer.observe.Store(&fn) }

// Queued returns how many units wait for the writer.
func (s *Store) Queued() int { return len(s.writer.queue) }

// RunFigures is the number of runs in each active state, and the longest wait.
type RunFigures struct {
	Count map[svc.RunStatus]int
	// Waiting is since when the run waits that waits longest for a host. Runs that a
	// need, a not_before or the back-off of a restart holds back do not count. 0: no
	// run waits.
	Waiting svc.Time
}

// RunFigures counts the active runs, as of a time.
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
