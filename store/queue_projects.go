package store

import (
	"context"
	"fmt"
	"slices"

	"svc"
)

// QueueProject is a project with the fields that placement needs.
type QueueProject struct {
	ID         string
	MaxRuns    *int  // nil: no limit
	ActiveRuns int   // counted only if there is a limit
	Isolated   bool  // its runs get working copies
	Turn       int64 // the project with the lowest number was served the longest time ago
}

const queueProjectColumns = "id, max_runs, isolation IN ('clone', 'worktree'), turn"

// scanQueueProject scans queueProjectColumns, and the columns before them into
// before.
func scanQueueProject(row scanner, before ...any) (p QueueProject, err error) {
	return p, row.Scan(append(before, &p.ID, &p.MaxRuns, &p.Isolated, &p.Turn)...)
}

// QueueProjects returns projects by id, with the fields that placement needs.
func (r Reader) QueueProjects(ctx context.Context, ids []string) (map[string]QueueProject, error) {
	var w where
	w.among(r.d, "id", ids)
	found, err := collect(ctx, r.q, func(row scanner) (QueueProject, error) { return scanQueueProject(row) },
		"SELECT "+queueProjectColumns+" FROM projects"+w.sql(), w.args...)
	if err != nil {
		return nil, fmt.Errorf("read the projects of waiting runs: %w", err)
	}
	out := make(map[string]QueueProject, len(found))
	for _, p := range found {
		out[p.ID] = p
	}
	return out, r.countActive(ctx, out)
}

// countActive counts the active runs of the projects that have a limit.
func (r Reader) countActive(ctx context.Context, projects map[string]QueueProject) error {
	for id, p := range projects {
		if p.MaxRuns == nil {
			continue
		}
		if err := r.q.QueryRowContext(ctx, "SELECT "+openInProject("$1 || ''"), id).Scan(&p.ActiveRuns); err != nil {
			return fmt.Errorf("count the active runs of a project: %w", err)
		}
		projects[id] = p
	}
	return nil
}

// openInProject is a subquery: the number of active runs of a project. It is
// written exactly as in the index that serves it, so that the index of hosts is
// not used.
func openInProject(id string) string {
	return "(SELECT count(*) FROM runs WHERE session_ended_at IS NULL AND coalesce(host_id, '') <> '' AND project_id || '' = " + id + " AND status <> 'pending')"
}

// ProjectRoom is how many more runs of a project can be placed, and what the
// dispatch of a run needs of the project.
type ProjectRoom struct {
	Limited bool
	Free    int // how many more runs can be placed; only if Limited
	Slug    string
	Source  svc.Source // from which working copies are made
}

// ProjectRoom reads the ProjectRoom of a project.
func (tx *Tx) ProjectRoom(ctx context.Context, id string) (room ProjectRoom, err error) {
	var p svc.Project
	err = tx.q.QueryRowContext(ctx, "SELECT slug, repo, base, isolation, setup, setup_timeout, keep_days, max_runs IS NOT NULL, CASE WHEN max_runs IS NULL THEN 0 ELSE max_runs - "+
		openInProject("projects.id || ''")+" END FROM projects WHERE id = $1", id).
		Scan(&room.Slug, &p.Repo, &p.Base, &p.Isolation, &p.Setup, &p.SetupTimeout, &p.KeepDays, &room.Limited, &room.Free)
	if err != nil {
		return room, fmt.Errorf("read a project's room: %w", err)
	}
	room.Source = p.Source()
	return room, nil
}

// TakeTurn records that a run of the project was placed: the project now comes
// after all others. If it is the last already, nothing is written.
func (tx *Tx) TakeTurn(ctx context.Context, id string) error {
	if err := tx.later(ctx, anyRows, "UPDATE projects SET turn = (SELECT max(turn) FROM projects) + 1 WHERE id = $1 AND turn <= (SELECT coalesce(max(turn), -1) FROM projects WHERE id <> $1)", id); err != nil {
		return fmt.Errorf("note a project's turn: %w", err)
	}
	return nil
}

// PendingRun is a pending run with the fields that determine its place in the
// order.
type PendingRun struct {
	QueuedRun
	ProjectID string
	NotBefore *svc.Time
	BackOff   *svc.Time
	Blocked   bool
	Busy      bool // another run uses its workspace
	Follows   bool // the run that it continues is not over
}

// PendingRuns returns every pending run, held back or not.
func (r Reader) PendingRuns(ctx context.Context) ([]PendingRun, error) {
	found, err := collect(ctx, r.q, func(row scanner) (p PendingRun, err error) {
		return p, row.Scan(&p.ID, &p.Priority, &p.PendingSince, &p.ProjectID, &p.NotBefore, &p.BackOff, &p.Blocked, &p.Busy, &p.Follows)
	}, "SELECT id, priority, pending_since, project_id, not_before, next_dispatch_at, blocked, "+workspaceBusy+", "+predecessorActive+" FROM runs WHERE "+isPending)
	if err != nil {
		return nil, fmt.Errorf("read the pending runs: %w", err)
	}
	return found, nil
}

// RunSummaries returns runs by id, with the fields that lists show.
func (r Reader) RunSummaries(ctx context.Context, ids []string) (map[string]svc.Run, error) {
	var w where
	w.among(r.d, "id", ids)
	found, err := collect(ctx, r.q, scanNamedRun, "SELECT "+runSummary+" FROM runs"+w.sql(), w.args...)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	out := make(map[string]svc.Run, len(found))
	for _, run := range found {
		out[run.ID] = run
	}
	return out, nil
}

// RunCounts counts the runs that pass the filter.
func (r Reader) RunCounts(ctx context.Context, f svc.RunFilter) (c svc.RunCounts, err error) {
	var w where
	for column, id := range map[string]string{"project_id": f.ProjectID, "task_id": f.TaskID, "host_id": f.HostID} {
		if id != "" {
			w.add(column+" = ?", id)
		}
	}
	addRunFilter(&w, f)
	type count struct {
		status     svc.RunStatus
		n, waiting int
	}
	found, err := collect(ctx, r.q, func(row scanner) (c count, err error) { return c, row.Scan(&c.status, &c.n, &c.waiting) },
		"SELECT status, count(*), sum(CASE WHEN needs_input THEN 1 ELSE 0 END) FROM runs"+w.sql()+" GROUP BY status", w.args...)
	if err != nil {
		return c, fmt.Errorf("count runs: %w", err)
	}
	for _, of := range found {
		*c.Of(of.status) = of.n
		c.NeedsInput += of.waiting
	}
	return c, nil
}

// ActiveRuns returns the ids of the active runs of a task and of the items below
// it, of a project, or of a host, oldest first.
func (r Reader) ActiveRuns(ctx context.Context, f svc.RunFilter) ([]string, error) {
	query, args := "SELECT id FROM runs WHERE "+activeRuns, []any{}
	switch {
	case f.TaskID != "":
		query, args = r.d.below+" "+query+" AND (task_id = $1 OR task_id IN (SELECT id FROM below))", append(args, f.TaskID)
	case f.ProjectID != "":
		query, args = query+" AND project_id || '' = $1", append(args, f.ProjectID)
	default:
		query, args = query+" AND host_id || '' = $1", append(args, f.HostID)
	}
	ids, err := collect(ctx, r.q, scanText, query+" ORDER BY created_at, id", args...)
	if err != nil {
		return nil, fmt.Errorf("find active runs: %w", err)
	}
	return ids, nil
}

// QueueCursor returns a cursor for a place in the order of the queue: the index
// of the place and the id of the run there.
func QueueCursor(at int, id string) string { return cursor("queue", at, id) }

// QueuePlace returns the index at which the page after a cursor begins, in the
// current order of ids.
func QueuePlace(ids []string, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	var at int
	var id string
	if err := readCursor("queue", text, &at, &id); err != nil {
		return 0, err
	}
	if i := slices.Index(ids, id); i >= 0 {
		return i + 1, nil
	}
	return min(max(at, 0), len(ids)), nil // the run was placed, and those after it moved up
}
