package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc"
)

const runColumns = `id, task_id, project_id, provider, session_name, status, attempt, host_id, pinned_host_id, prompt, args, model, cwd,
	env, restart_policy, max_restarts, wait, priority, not_before, host_labels, ignore_needs, failure_reason, exit_code, error, result, result_reason, last_progress_seq, progress_message,
	progress_percent, needs_input, last_output_at, pending_since, next_dispatch_at, started_at, ended_at, session_ended_at,
	task_manual_marks, refused, acked, dispatched_at, created_by, created_at, updated_at, version, output_bytes, output_lines,
	past_hosts, end_claimed, blocked, unblocked_at, workspace_id, asked_at, turn_over,
	continues_run_id, resumes, conversation`

func scanRun(row scanner) (svc.Run, error) {
	var r svc.Run
	var args, env, labels, refused, past, conversation string
	err := row.Scan(&r.ID, &r.TaskID, &r.ProjectID, &r.Provider, &r.SessionName, &r.Status, &r.Attempt, &r.HostID, &r.PinnedHostID,
		&r.Prompt, &args, &r.Model, &r.Cwd, &env, &r.RestartPolicy, &r.MaxRestarts, &r.Wait, &r.Priority, &r.NotBefore, &labels, &r.IgnoreNeeds, &r.FailureReason, &r.ExitCode, &r.Error, &r.Result,
		&r.ResultReason, &r.LastProgressSeq, &r.ProgressMessage, &r.ProgressPercent, &r.NeedsInput, &r.LastOutputAt, &r.PendingSince,
		&r.NextDispatchAt, &r.StartedAt, &r.EndedAt, &r.SessionEndedAt, &r.TaskManualMarks, &refused, &r.Acked,
		&r.DispatchedAt, &r.CreatedBy, &r.CreatedAt, &r.UpdatedAt, &r.Version, &r.OutputBytes, &r.OutputLines,
		&past, &r.EndClaimed, &r.Blocked, &r.UnblockedAt, &r.WorkspaceID, &r.AskedAt, &r.TurnOver,
		&r.ContinuesRunID, &r.Resumes, &conversation)
	if err != nil {
		return r, err
	}
	r.Args, r.Env, r.HostLabels = []string{}, map[string]string{}, map[string]string{}
	for _, column := range []struct {
		text, usual string // usual: the text of most runs, for which the field has the right value already
		into        any
	}{{args, "[]", &r.Args}, {env, "{}", &r.Env}, {labels, "{}", &r.HostLabels}, {refused, "null", &r.Refused}, {past, "null", &r.PastHosts},
		{conversation, "null", &r.Conversation}} {
		if column.text == column.usual {
			continue
		}
		if err := json.Unmarshal([]byte(column.text), column.into); err != nil {
			return r, fmt.Errorf("run %s has invalid JSON: %w", r.ID, err)
		}
	}
	return r, nil
}

// Run reads a run.
func (r Reader) Run(ctx context.Context, id string) (svc.Run, error) {
	return readOne(ctx, r.q, scanNamedRun, "run", id, "SELECT "+runRead+" FROM runs WHERE id = $1", id)
}

// LockRun reads and locks a run that this unit changes.
func (tx *Tx) LockRun(ctx context.Context, id string) (svc.Run, error) {
	if r, ok := tx.known(id); ok {
		tx.cacheRun(r)
		return *r, nil
	}
	r, err := readOne(ctx, tx.q, scanRun, "run", id, "SELECT "+runColumns+" FROM runs WHERE id = $1"+tx.d.forUpdate, id)
	if err == nil {
		now := r // not r itself, which the caller may change
		tx.cacheRun(&now)
	}
	return r, err
}

// runSummary are the columns of a run in a list. Columns that may be large are
// left out, except for the beginning of the prompt.
var runSummary = strings.NewReplacer("prompt,", fmt.Sprintf("substr(prompt, 1, %d),", svc.Excerpt), "args,", "'[]',", "env,", "'{}',").Replace(runRead)

// addRunFilter adds the filters that do not determine which index is read.
func addRunFilter(w *where, f svc.RunFilter) {
	if len(f.Statuses) > 0 {
		addAmong(w, "status", f.Statuses)
	}
	if f.NeedsInput != nil {
		w.add("needs_input = ?", *f.NeedsInput)
	}
	if f.Provider != "" {
		w.add("provider = ?", f.Provider)
	}
	if f.CreatedBy != "" {
		w.add("created_by = ?", f.CreatedBy)
	}
}

// Runs returns a page of runs with the fields that lists show, newest first. It
// is one statement, so it reads one state.
func (r Reader) Runs(ctx context.Context, f svc.RunFilter, page svc.Page) (svc.List[svc.Run], error) {
	var w where
	// The query reads the index of the filter that few runs pass: a task has few
	// runs, and few runs are active. "|| ''" prevents the use of another index.
	host, project := "host_id = ?", "project_id = ?"
	active := len(f.Statuses) > 0 && !slices.ContainsFunc(f.Statuses, func(s svc.RunStatus) bool { return !s.Active() })
	if f.TaskID != "" || active {
		host, project = "host_id || '' = ?", "project_id || '' = ?"
	} else if f.HostID != "" && r.d == sqliteDialect {
		project = "project_id || '' = ?" // not on PostgreSQL, which checks only plain columns within the host's index
	}
	if f.TaskID != "" {
		w.add("task_id = ?", f.TaskID)
	} else if active {
		w.add(activeRuns)
	}
	if f.HostID != "" {
		w.add(host, f.HostID)
	}
	if f.ProjectID != "" {
		w.add(project, f.ProjectID)
	}
	addRunFilter(&w, f)
	if page.Cursor != "" {
		var at svc.Time
		var id string
		if err := readCursor("runs", page.Cursor, (*int64)(&at), &id); err != nil {
			return svc.List[svc.Run]{}, err
		}
		w.add("(created_at, id) < (?, ?)", at, id)
	}
	found, cut, err := collectUpTo(ctx, r.q, page.Bytes, scanNamedRun, fmt.Sprintf("SELECT %s FROM runs%s ORDER BY created_at DESC, id DESC LIMIT %d",
		runSummary, w.sql(), page.Limit+1), w.args...)
	if err != nil {
		return svc.List[svc.Run]{}, fmt.Errorf("list runs: %w", err)
	}
	return paged(found, cut, page.Limit, func(r svc.Run) string { return cursor("runs", int64(r.CreatedAt), r.ID) }), nil
}

// activeRuns is the condition of the index runs_active.
const activeRuns = "status IN ('pending', 'spawning', 'running')"

// addAmong adds the condition that a column has one of the values.
func addAmong[T any](w *where, column string, values []T) {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	w.add(column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", args...)
}

// RunTarget is the work item of a new run, with the fields that admission needs.
type RunTarget struct {
	Kind        svc.Kind
	Title       string
	Number      int64
	ManualMarks int64
	Blocked     bool
	Project     svc.Project // only the fields that admission needs
}

// LockRunTarget reads the work item to which a run is to be added and its
// project, and locks the project against changes. Other units can add runs at the
// same time.
func (tx *Tx) LockRunTarget(ctx context.Context, taskID string) (RunTarget, error) {
	if t, named := tx.w.locked.targets[taskID]; named {
		if p, locked := tx.w.locked.projects[t.Project.ID]; locked {
			t.Project = p
			return t, nil
		}
	}
	t, err := tx.runTarget(ctx, taskID)
	if err != nil {
		return t, err
	}
	project, err := readOne(ctx, tx.q, func(row scanner) (p svc.Project, err error) {
		return p, row.Scan(&p.ID, &p.Slug, &p.Status, &p.Cwd, &p.Provider, &p.Model, &p.Repo, &p.Isolation)
	}, "project", t.Project.ID, "SELECT id, slug, status, cwd, provider, model, repo, isolation FROM projects WHERE id = $1"+tx.d.forShare, t.Project.ID)
	if err == nil && tx.d.forShare != "" { // the item may have changed while the unit waited for the project's lock
		t, err = tx.runTarget(ctx, taskID)
	}
	t.Project = project
	if err == nil {
		tx.w.locked.target(taskID, t)
	}
	return t, err
}

// runTarget reads the work item. It does not join the project, because SQLite would prepare the join again each time,
// due to the partial indexes.
func (tx *Tx) runTarget(ctx context.Context, taskID string) (RunTarget, error) {
	return readOne(ctx, tx.q, func(row scanner) (t RunTarget, err error) {
		return t, row.Scan(&t.Kind, &t.Title, &t.Number, &t.ManualMarks, &t.Blocked, &t.Project.ID)
	}, "work item", taskID, "SELECT kind, title, number, manual_marks, blocked, project_id FROM work_items WHERE id = $1 AND deleted_at IS NULL", taskID)
}

// ErrSessionTaken means that another run has the session name.
var ErrSessionTaken = errors.New("the session name is taken")

var (
	insertedRuns = newInsert("runs", runColumns)
	insertRun    = insertedRuns.one()
)

func runValues(r *svc.Run) []any {
	return []any{r.ID, r.TaskID, r.ProjectID, r.Provider, r.SessionName, r.Status, r.Attempt, r.HostID, r.PinnedHostID, r.Prompt, toJSON(r.Args),
		r.Model, r.Cwd, toJSON(r.Env), r.RestartPolicy, r.MaxRestarts, r.Wait, r.Priority, r.NotBefore, toJSON(labelsOf(r)), r.IgnoreNeeds, r.FailureReason, r.ExitCode, r.Error, r.Result, r.ResultReason,
		r.LastProgressSeq, r.ProgressMessage, r.ProgressPercent, r.NeedsInput, r.LastOutputAt, r.PendingSince, r.NextDispatchAt,
		r.StartedAt, r.EndedAt, r.SessionEndedAt, r.TaskManualMarks, toJSON(r.Refused), r.Acked, r.DispatchedAt, r.CreatedBy, r.CreatedAt,
		r.UpdatedAt, r.Version, r.OutputBytes, r.OutputLines, toJSON(r.PastHosts), r.EndClaimed, r.Blocked, r.UnblockedAt, r.WorkspaceID, r.AskedAt, r.TurnOver,
		r.ContinuesRunID, r.Resumes, toJSON(r.Conversation)}
}

// labelsOf returns the labels, never nil, so that equal demands are stored as equal
// texts.
func labelsOf(r *svc.Run) map[string]string {
	if r.HostLabels == nil {
		return map[string]string{}
	}
	return r.HostLabels
}

// InsertRun adds a run. It returns [ErrSessionTaken] if another run has its
// session name; the unit can continue after that. In a repeatable unit the insert
// is deferred. Then the unit may be run again to return that error.
func (tx *Tx) InsertRun(ctx context.Context, r svc.Run) error {
	if tx.mayDefer() {
		tx.changes.add(statement{sql: insertRun, args: runValues(&r), rows: 1, exact: true, bulk: insertedRuns})
		tx.added = append(tx.added, r.ID)
		tx.cacheRun(&r)
		return nil
	}
	n, err := tx.exec(ctx, insertRun+" ON CONFLICT (session_name) DO NOTHING", runValues(&r)...)
	if err != nil {
		return fmt.Errorf("insert run: %w", err)
	}
	if n == 0 {
		return fmt.Errorf("insert run: %w", ErrSessionTaken)
	}
	tx.added = append(tx.added, r.ID)
	tx.cacheRun(&r)
	return nil
}

// MarkAcked records that a host has confirmed an attempt. It returns false if the
// attempt was not given to that host, or is not spawning any more.
func (tx *Tx) MarkAcked(ctx context.Context, id string, attempt int, hostID string) (bool, error) {
	if r, ok := tx.known(id); ok {
		if r.Attempt != attempt || r.HostID == nil || *r.HostID != hostID || r.Status != svc.RunSpawning {
			return false, nil
		}
		return tx.changeCached(id, func(r *svc.Run) { r.Acked = true }), nil
	}
	n, err := tx.exec(ctx, "UPDATE runs SET acked = TRUE WHERE id = $1 AND attempt = $2 AND host_id = $3 AND status = 'spawning'", id, attempt, hostID)
	return n == 1, err
}

// RunHosts returns runs with only the fields that Run.HostOf needs: to which hosts their attempts were given.
func (r Reader) RunHosts(ctx context.Context, ids []string) ([]svc.Run, error) {
	var w where
	w.among(r.d, "id", ids)
	found, err := collect(ctx, r.q, func(row scanner) (run svc.Run, err error) {
		var past string
		if err := row.Scan(&run.ID, &run.Attempt, &run.HostID, &past); err != nil {
			return run, err
		}
		return run, json.Unmarshal([]byte(past), &run.PastHosts)
	}, "SELECT id, attempt, host_id, past_hosts FROM runs"+w.sql(), w.args...)
	if err != nil {
		return nil, fmt.Errorf("read hosts of runs: %w", err)
	}
	return found, nil
}

// Confirmed is an attempt that a host has confirmed to have.
type Confirmed struct {
	RunID   string
	Attempt int
	// Spawning is true if the start of the attempt was not reported yet.
	Spawning bool
}

// ConfirmedRuns returns, by host, every attempt that the host has confirmed and
// whose session may be alive.
func (r Reader) ConfirmedRuns(ctx context.Context, hostIDs []string) (map[string][]Confirmed, error) {
	found := map[string][]Confirmed{}
	for ids := range slices.Chunk(hostIDs, mostRows) {
		in, args := oneOf(ids)
		_, err := collect(ctx, r.q, func(row scanner) (host string, err error) {
			var c Confirmed
			err = row.Scan(&host, &c.RunID, &c.Attempt, &c.Spawning)
			found[host] = append(found[host], c)
			return host, err
		}, "SELECT host_id, id, attempt, status = 'spawning' FROM runs WHERE "+openOn+" IN ("+in+") AND acked AND status <> 'pending' ORDER BY id", args...)
		if err != nil {
			return nil, fmt.Errorf("list confirmed runs of hosts: %w", err)
		}
	}
	return found, nil
}

// SnapshotRuns returns every active run, and then the newest others, both newest
// first.
func (r Reader) SnapshotRuns(ctx context.Context, others int) ([]svc.Run, error) {
	active, err := r.Runs(ctx, svc.RunFilter{Statuses: []svc.RunStatus{svc.RunPending, svc.RunSpawning, svc.RunRunning}}, svc.Page{Limit: 1 << 30})
	if err != nil {
		return nil, err
	}
	rest, err := r.Runs(ctx, svc.RunFilter{Statuses: []svc.RunStatus{svc.RunExited, svc.RunFailed, svc.RunStopped}}, svc.Page{Limit: others})
	if err != nil {
		return nil, err
	}
	return append(active.Items, rest.Items...), nil
}
