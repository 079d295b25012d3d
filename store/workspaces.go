package store

import (
	"context"
	"encoding/json"
	"fmt"

	"svc"
)

const workspaceColumns = `id, project_id, task_id, host_id, run_id, source, path, branch, state, error, base_ref, base_commit, base_fetched_at,
	checkpoint, relayed_checkpoint, tree, commit_id, files, additions, deletions, conflicts, restored_from, discarded_at, observed_at,
	size_bytes, landed_commit, landed_into, landed_at, landed_checkpoint, landing, created_at, updated_at, version`

func scanWorkspace(row scanner) (svc.Workspace, error) {
	var w svc.Workspace
	var source, conflicts, landing string
	err := row.Scan(&w.ID, &w.ProjectID, &w.TaskID, &w.HostID, &w.RunID, &source, &w.Path, &w.Branch, &w.State, &w.Error, &w.BaseRef, &w.BaseCommit,
		&w.BaseFetchedAt, &w.Checkpoint, &w.RelayedCheckpoint, &w.Tree, &w.Commit, &w.Files, &w.Additions, &w.Deletions, &conflicts,
		&w.RestoredFrom, &w.DiscardedAt, &w.ObservedAt, &w.SizeBytes, &w.LandedCommit, &w.LandedInto, &w.LandedAt,
		&w.LandedCheckpoint, &landing, &w.CreatedAt, &w.UpdatedAt, &w.Version)
	if err != nil {
		return w, err
	}
	w.Conflicts = []string{}
	if landing == "" {
		landing = "null"
	}
	for _, column := range []struct {
		text string
		into any
	}{{source, &w.Source}, {conflicts, &w.Conflicts}, {landing, &w.Landing}} {
		if err := json.Unmarshal([]byte(column.text), column.into); err != nil {
			return w, fmt.Errorf("workspace %s has invalid JSON: %w", w.ID, err)
		}
	}
	if w.Landing != nil && w.Landing.Conflicts == nil { // a landing without conflicts is stored so
		w.Landing.Conflicts = []string{}
	}
	if w.Conflicts == nil {
		w.Conflicts = []string{}
	}
	w.Repo, w.Isolation = w.Source.Repo, w.Source.Isolation
	return w, nil
}

// Workspace reads a workspace.
func (r Reader) Workspace(ctx context.Context, id string) (svc.Workspace, error) {
	return readOne(ctx, r.q, scanWorkspace, "workspace", id, "SELECT "+workspaceColumns+" FROM workspaces WHERE id = $1", id)
}

// LockWorkspace reads and locks a workspace that this unit changes.
func (tx *Tx) LockWorkspace(ctx context.Context, id string) (svc.Workspace, error) {
	return readOne(ctx, tx.q, scanWorkspace, "workspace", id, "SELECT "+workspaceColumns+" FROM workspaces WHERE id = $1"+tx.d.forUpdate, id)
}

// Workspaces returns a page of workspaces, newest first.
func (r Reader) Workspaces(ctx context.Context, f svc.WorkspaceFilter, page svc.Page) (svc.List[svc.Workspace], error) {
	var w where
	for _, filter := range []struct{ column, value string }{{"task_id", f.TaskID}, {"host_id", f.HostID}, {"project_id", f.ProjectID}} {
		if filter.value != "" {
			w.add(filter.column+" = ?", filter.value)
		}
	}
	if len(f.States) > 0 {
		addAmong(&w, "state", f.States)
	}
	if page.Cursor != "" {
		var at svc.Time
		var id string
		if err := readCursor("workspaces", page.Cursor, (*int64)(&at), &id); err != nil {
			return svc.List[svc.Workspace]{}, err
		}
		w.add("(created_at, id) < (?, ?)", at, id)
	}
	found, cut, err := collectUpTo(ctx, r.q, page.Bytes, scanWorkspace, fmt.Sprintf("SELECT %s FROM workspaces%s ORDER BY created_at DESC, id DESC LIMIT %d",
		workspaceColumns, w.sql(), page.Limit+1), w.args...)
	if err != nil {
		return svc.List[svc.Workspace]{}, fmt.Errorf("list workspaces: %w", err)
	}
	return paged(found, cut, page.Limit, func(w svc.Workspace) string { return cursor("workspaces", int64(w.CreatedAt), w.ID) }), nil
}

// DiscardedWorkspaces returns at most limit workspaces that were discarded before a time and are not removed.
func (r Reader) DiscardedWorkspaces(ctx context.Context, before svc.Time, limit int) ([]svc.Workspace, error) {
	found, err := collect(ctx, r.q, scanWorkspace, "SELECT "+workspaceColumns+` FROM workspaces
		WHERE discarded_at IS NOT NULL AND state <> 'removed' AND discarded_at < $1 ORDER BY discarded_at LIMIT CAST($2 AS BIGINT)`, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list discarded workspaces: %w", err)
	}
	return found, nil
}

// LandedWorkspaces returns at most limit workspaces whose newest checkpoint was landed before a time, and which are
// neither discarded nor removed.
func (r Reader) LandedWorkspaces(ctx context.Context, before svc.Time, limit int) ([]svc.Workspace, error) {
	found, err := collect(ctx, r.q, scanWorkspace, "SELECT "+workspaceColumns+` FROM workspaces WHERE landed_at IS NOT NULL AND state <> 'removed'
		AND landed_checkpoint = checkpoint AND discarded_at IS NULL AND landed_at < $1 ORDER BY landed_at LIMIT CAST($2 AS BIGINT)`, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list landed workspaces: %w", err)
	}
	return found, nil
}

// OpenLandings returns at most limit workspaces whose host has not reported the outcome of their landing, the oldest
// requests first.
func (r Reader) OpenLandings(ctx context.Context, limit int) ([]svc.Workspace, error) {
	found, err := collect(ctx, r.q, scanWorkspace, "SELECT "+workspaceColumns+` FROM workspaces WHERE landing_due IS NOT NULL
		ORDER BY landing_due, id LIMIT CAST($1 AS BIGINT)`, limit)
	if err != nil {
		return nil, fmt.Errorf("list open landings: %w", err)
	}
	return found, nil
}

// RestoringWorkspaces returns at most limit workspaces that are to be created from a checkpoint and that no run uses.
func (r Reader) RestoringWorkspaces(ctx context.Context, limit int) ([]svc.Workspace, error) {
	found, err := collect(ctx, r.q, scanWorkspace, "SELECT "+workspaceColumns+` FROM workspaces WHERE state = 'preparing' AND restored_from <> ''
		AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.workspace_id = workspaces.id) ORDER BY created_at, id LIMIT CAST($1 AS BIGINT)`, limit)
	if err != nil {
		return nil, fmt.Errorf("list workspaces to be restored: %w", err)
	}
	return found, nil
}

// inWorkspace is a condition on a run: its session may be alive, so that it uses its workspace.
const inWorkspace = "other.session_ended_at IS NULL AND other.host_id IS NOT NULL AND other.status <> 'pending'"

// workspaceBusy is a condition on a run: another run uses the workspace in which this one is to continue.
const workspaceBusy = "workspace_id IS NOT NULL AND EXISTS (SELECT 1 FROM runs AS other WHERE other.workspace_id = runs.workspace_id AND other.id <> runs.id AND " + inWorkspace + ")"

// workspaceLeft is an expression for a run: when the session of the last other run ended in its workspace; 0: there was
// none.
const workspaceLeft = "coalesce((SELECT max(other.session_ended_at) FROM runs AS other WHERE other.workspace_id = runs.workspace_id AND other.id <> runs.id), 0)"

// predecessorActive is a condition on a run: the run that it continues is not over (see Run.Over).
const predecessorActive = "continues_run_id IS NOT NULL AND EXISTS (SELECT 1 FROM runs AS other WHERE other.id = runs.continues_run_id AND other.session_ended_at IS NULL AND (other.status = 'pending' OR other.host_id IS NOT NULL))"

// predecessorLeft is an expression for a run: when the session of the run that it continues ended; 0: it continues no
// run, or that run has no such time.
const predecessorLeft = "coalesce((SELECT other.session_ended_at FROM runs AS other WHERE other.id = runs.continues_run_id), 0)"

// Followers returns the ids of the pending runs that continue one of these runs.
func (r Reader) Followers(ctx context.Context, ids []string) ([]string, error) {
	var w where
	w.among(r.d, "continues_run_id", ids)
	w.add("continues_run_id IS NOT NULL")
	w.add("status || '' = 'pending'")
	found, err := collect(ctx, r.q, scanText, "SELECT id FROM runs"+w.sql()+" ORDER BY id", w.args...)
	if err != nil {
		return nil, fmt.Errorf("find runs that continue others: %w", err)
	}
	return found, nil
}

// NewestRunIn returns the id of the newest run of a workspace, whatever its status; empty: there is none. Of runs that
// were created in the same millisecond it returns the one that no other run continues.
func (r Reader) NewestRunIn(ctx context.Context, workspaceID string) (string, error) {
	found, err := collect(ctx, r.q, scanText, `SELECT id FROM runs WHERE workspace_id = $1
		ORDER BY created_at DESC, EXISTS (SELECT 1 FROM runs AS later WHERE later.continues_run_id = runs.id), id DESC LIMIT 1`, workspaceID)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}

// WorkspaceUse is the use of a workspace by runs.
type WorkspaceUse struct {
	RunID string   // a run that uses it; empty: none does
	Since svc.Time // when the last session in it ended; 0: none has ended
}

// WorkspaceUse returns the use of a workspace by other runs than runID; empty: by any run.
func (r Reader) WorkspaceUse(ctx context.Context, workspaceID, runID string) (use WorkspaceUse, err error) {
	err = r.q.QueryRowContext(ctx, `SELECT coalesce(max(CASE WHEN `+inWorkspace+` THEN other.id END), ''), coalesce(max(other.session_ended_at), 0)
		FROM runs AS other WHERE other.workspace_id = $1 AND other.id <> $2`, workspaceID, runID).Scan(&use.RunID, &use.Since)
	if err != nil {
		return use, fmt.Errorf("read the use of a workspace: %w", err)
	}
	return use, nil
}

// InsertWorkspace adds a workspace.
func (tx *Tx) InsertWorkspace(ctx context.Context, w svc.Workspace) error {
	_, err := tx.exec(ctx, "INSERT INTO workspaces ("+workspaceColumns+`) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,
		$21,$22,$23,$24,$25,$26,$27,$28,$29,$30,$31,$32,$33)`, w.ID, w.ProjectID, w.TaskID, w.HostID, w.RunID, toJSON(w.Source), w.Path, w.Branch, w.State, w.Error, w.BaseRef,
		w.BaseCommit, w.BaseFetchedAt, w.Checkpoint, w.RelayedCheckpoint, w.Tree, w.Commit, w.Files, w.Additions, w.Deletions,
		conflictsOf(w), w.RestoredFrom, w.DiscardedAt, w.ObservedAt, w.SizeBytes, w.LandedCommit, w.LandedInto, w.LandedAt, w.LandedCheckpoint,
		landingOf(w), w.CreatedAt, w.UpdatedAt, w.Version)
	if err != nil {
		return fmt.Errorf("insert workspace: %w", err)
	}
	return nil
}

// UpdateWorkspace writes a workspace that was locked in this unit. It does not write the fields that are fixed at the
// creation.
func (tx *Tx) UpdateWorkspace(ctx context.Context, w *svc.Workspace) error {
	w.UpdatedAt = tx.Now
	n, err := tx.exec(ctx, `UPDATE workspaces SET run_id = $1, path = $2, state = $3, error = $4, base_ref = $5, base_commit = $6, base_fetched_at = $7,
		checkpoint = $8, relayed_checkpoint = $9, tree = $10, commit_id = $11, files = $12, additions = $13, deletions = $14, conflicts = $15,
		discarded_at = $16, observed_at = $17, updated_at = $18, size_bytes = $19, landed_commit = $20, landed_into = $21, landed_at = $22,
		landed_checkpoint = $23, landing = $24, landing_due = $25,
		land_failed_at = CASE WHEN CAST($26 AS BOOLEAN) THEN coalesce(land_failed_at, $18) END, version = version + 1 WHERE id = $27 AND version = $28`,
		w.RunID, w.Path, w.State, w.Error, w.BaseRef, w.BaseCommit, w.BaseFetchedAt, w.Checkpoint, w.RelayedCheckpoint, w.Tree, w.Commit,
		w.Files, w.Additions, w.Deletions, conflictsOf(*w), w.DiscardedAt, w.ObservedAt, w.UpdatedAt, w.SizeBytes,
		w.LandedCommit, w.LandedInto, w.LandedAt, w.LandedCheckpoint, landingOf(*w), landingDue(*w), w.LandFailed(), w.ID, w.Version)
	return changed("workspace", w.ID, &w.Version, n, err)
}

// landingOf returns the newest landing as JSON; empty: there was none.
func landingOf(w svc.Workspace) string {
	if w.Landing == nil {
		return ""
	}
	return toJSON(w.Landing)
}

// landingDue returns when the landing was requested whose outcome is awaited; nil: none is awaited.
func landingDue(w svc.Workspace) *svc.Time {
	if w.Landing == nil || w.Landing.State != svc.LandingOpen {
		return nil
	}
	return &w.Landing.At
}

// conflictsOf returns the conflicts as a JSON list, never null.
func conflictsOf(w svc.Workspace) string {
	if len(w.Conflicts) == 0 {
		return "[]"
	}
	return toJSON(w.Conflicts)
}
