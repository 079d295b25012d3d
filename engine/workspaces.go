package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"svc"
	"svc/hub"
	"svc/store"
	"svc/wire"
)

// giveWorkspace finds or creates the working copy of a run that is claimed for a host, in the claim's unit of work:
// each dispatch has exactly one workspace. A restart on the same host continues in the same workspace. On another
// host it gets a new one, which begins with the newest relayed checkpoint.
func giveWorkspace(ctx context.Context, tx *store.Tx, r *svc.Run, source svc.Source, hostID string) error {
	var before svc.Workspace
	if r.WorkspaceID != nil {
		var err error
		if before, err = tx.LockWorkspace(ctx, *r.WorkspaceID); err != nil {
			return err
		}
		if before.HostID == hostID && before.Usable() {
			failed := before.State == svc.WorkspaceFailed
			if failed {
				before.State, before.Error = svc.WorkspacePreparing, ""
			}
			if !failed && before.RunID == r.ID {
				return nil
			}
			before.RunID = r.ID
			return tx.UpdateWorkspace(ctx, &before)
		}
		if source.Isolation == svc.IsolationNone {
			source = before.Source
		}
	}
	if err := tx.NameRun(ctx, r); err != nil {
		return err
	}
	w := svc.Workspace{ID: svc.NewWorkspaceID(), ProjectID: r.ProjectID, TaskID: r.TaskID, HostID: hostID, RunID: r.ID, Source: source,
		State: svc.WorkspacePreparing, CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
	w.Branch = svc.WorkspaceBranch(r.TaskTitle, w.ID)
	if before.RelayedCheckpoint > 0 && before.Source.Repo == source.Repo {
		beginWith(&w, before)
	}
	if err := tx.InsertWorkspace(ctx, w); err != nil {
		return err
	}
	r.WorkspaceID = &w.ID
	payload := w.EventPayload()
	payload["attempt"], payload["branch"], payload["restored_from"] = r.Attempt, w.Branch, w.RestoredFrom
	tx.Emit(svc.TopicWorkspaceCreated, payload)
	return nil
}

// beginWith makes a new workspace begin with the newest relayed checkpoint of another one.
func beginWith(w *svc.Workspace, before svc.Workspace) {
	w.RestoredFrom, w.BaseCommit = before.ID, before.BaseCommit
	w.Checkpoint, w.RelayedCheckpoint = before.RelayedCheckpoint, before.RelayedCheckpoint
	w.Files, w.Additions, w.Deletions = before.Files, before.Additions, before.Deletions
}

// pinToWorkspace makes a new run use an existing workspace, and pins the run to the workspace's host.
func (e *Engine) pinToWorkspace(ctx context.Context, tx *store.Tx, n *svc.NewRun, projectID string) error {
	w, err := tx.Workspace(ctx, *n.WorkspaceID)
	switch {
	case svc.CodeOf(err) == svc.CodeNotFound:
		return svc.Invalid("workspace_id", "there is no workspace %s", *n.WorkspaceID)
	case err != nil:
		return err
	case w.ProjectID != projectID:
		return svc.Invalid("workspace_id", "is a workspace of another project")
	case n.HostID != nil && *n.HostID != w.HostID:
		return svc.Invalid("host_id", "is not the host of workspace %s, which is %s", w.ID, w.HostID)
	case !w.Usable():
		return svc.Errorf(svc.CodeConflict, "the workspace is %s; svc workspace restore makes a new one from its last checkpoint", w.State).With("state", w.State)
	}
	n.HostID = &w.HostID
	return nil
}

// dispatchedWorkspace returns the part of a dispatch about the run's working copy; nil: the run has none.
func (e *Engine) dispatchedWorkspace(ctx context.Context, r *svc.Run) (*wire.Workspace, error) {
	if r.WorkspaceID == nil {
		return nil, nil
	}
	w, err := e.Store.Workspace(ctx, *r.WorkspaceID)
	if err != nil {
		return nil, err
	}
	out, err := e.workspaceOrder(ctx, w)
	if err == nil && !r.IgnoreNeeds && out.Restore == nil {
		out.Needs, err = e.Store.NeededCommits(ctx, r.TaskID)
	}
	return out, err
}

// workspaceOrder returns the instructions for a host to make a workspace.
func (e *Engine) workspaceOrder(ctx context.Context, w svc.Workspace) (*wire.Workspace, error) {
	out := &wire.Workspace{ID: w.ID, Repo: w.Source.Repo, Base: w.Source.Base, Isolation: w.Source.Isolation, Setup: w.Source.Setup,
		SetupSeconds: int64(w.Source.SetupTimeout.Seconds()), Branch: w.Branch}
	if w.RestoredFrom != "" {
		from, err := e.Store.Workspace(ctx, w.RestoredFrom)
		if err != nil {
			return nil, err
		}
		out.Restore = &wire.Restore{WorkspaceID: from.ID, Checkpoint: from.RelayedCheckpoint, BaseCommit: from.BaseCommit}
	}
	return out, nil
}

// Workspace returns a workspace.
func (e *Engine) Workspace(ctx context.Context, id string) (svc.Workspace, error) {
	return e.Store.Workspace(ctx, id)
}

// Workspaces returns a page of workspaces, newest first.
func (e *Engine) Workspaces(ctx context.Context, f svc.WorkspaceFilter, page svc.Page) (svc.List[svc.Workspace], error) {
	return e.Store.Workspaces(ctx, f, page)
}

// changeWorkspace changes a workspace in a unit of work of its own.
func (e *Engine) changeWorkspace(ctx context.Context, id string, change func(*store.Tx, *svc.Workspace) error) (svc.Workspace, error) {
	return once(ctx, e.Store.WriteRepeatable, func(tx *store.Tx) (svc.Workspace, error) {
		w, err := tx.LockWorkspace(ctx, id)
		if err != nil {
			return w, err
		}
		err = change(tx, &w)
		return w, err
	})
}

// DiscardWorkspace marks a workspace as not wanted; with wanted it removes the mark. A discarded workspace is removed
// after the project's keep_days, if nothing is lost by it. A discard also gives up a landing whose outcome is not
// known: it is not asked for again.
func (e *Engine) DiscardWorkspace(ctx context.Context, id string, wanted bool) (svc.Workspace, error) {
	return e.changeWorkspace(ctx, id, func(tx *store.Tx, w *svc.Workspace) error {
		if w.State == svc.WorkspaceRemoved {
			return svc.Errorf(svc.CodeConflict, "the workspace was removed; the orchestrator's copy of its checkpoint stays readable")
		}
		gaveUp := !wanted && w.Landing.GiveUp(svc.CallerName(ctx))
		if gaveUp {
			tx.Emit(svc.TopicWorkspaceLandFailed, landingPayload(w))
		}
		if wanted == (w.DiscardedAt == nil) {
			if gaveUp {
				return tx.UpdateWorkspace(ctx, w)
			}
			return nil
		}
		topic := svc.TopicWorkspaceDiscarded
		now := tx.Now
		if w.DiscardedAt = &now; wanted {
			w.DiscardedAt, topic = nil, svc.TopicWorkspaceKept
		}
		tx.Emit(topic, w.EventPayload())
		return tx.UpdateWorkspace(ctx, w)
	})
}

// ofHost refuses a reporter that reports for another host, or with a run's token.
func (who Reporter) ofHost(w *svc.Workspace) error {
	if who.Attempt != 0 || who.Host != anyHost && who.Host != w.HostID {
		return svc.Errorf(svc.CodeForbidden, "workspace %s is not on this host", w.ID)
	}
	return nil
}

// ReportWorkspace stores a host's report about a workspace. A host repeats a report that may have been lost; a report
// without a change is not journaled.
func (e *Engine) ReportWorkspace(ctx context.Context, who Reporter, id string, report svc.WorkspaceReport) (svc.Workspace, error) {
	err := report.Validate()
	if err == nil {
		err = e.paceReport(ctx, who)
	}
	if err != nil {
		return svc.Workspace{}, err
	}
	return e.changeWorkspace(ctx, id, func(tx *store.Tx, w *svc.Workspace) error {
		if err := who.ofHost(w); err != nil {
			return err
		}
		before := *w
		w.Apply(report, tx.Now)
		if sameReport(before, *w) {
			*w = before
			return nil
		}
		if topic := stateTopic(before.State, w.State); topic != "" {
			payload := w.EventPayload()
			payload["error"] = w.Error
			if report.RunID == w.RunID && report.Attempt > 0 {
				payload["attempt"] = report.Attempt
			}
			tx.Emit(topic, payload)
		}
		if w.Checkpoint > before.Checkpoint {
			payload := checkpointPayload(w)
			if report.RunID == w.RunID && report.Attempt > 0 {
				payload["attempt"] = report.Attempt
			}
			tx.Emit(svc.TopicWorkspaceCheckpointed, payload)
		}
		return tx.UpdateWorkspace(ctx, w)
	})
}

// sameReport reports whether only the time of the report differs.
func sameReport(a, b svc.Workspace) bool {
	a.ObservedAt, b.ObservedAt = nil, nil
	if len(a.Conflicts) == 0 && len(b.Conflicts) == 0 {
		a.Conflicts, b.Conflicts = nil, nil
	}
	return equalJSON(a, b)
}

func equalJSON(a, b svc.Workspace) bool {
	x, errA := svc.JSON(a)
	y, errB := svc.JSON(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// stateTopic returns the topic that a change of state is journaled under; empty: none. Changes between ready and busy
// are visible in the run's own events.
func stateTopic(before, after svc.WorkspaceState) svc.Topic {
	held := func(s svc.WorkspaceState) bool { return s == svc.WorkspaceReady || s == svc.WorkspaceBusy }
	switch {
	case before == after, held(before) && held(after):
		return ""
	case held(after):
		return svc.TopicWorkspaceReady
	case after == svc.WorkspaceFailed:
		return svc.TopicWorkspaceFailed
	case after == svc.WorkspaceMissing:
		return svc.TopicWorkspaceMissing
	default:
		return ""
	}
}

func checkpointPayload(w *svc.Workspace) map[string]any {
	p := w.EventPayload()
	p["checkpoint"], p["tree"], p["files"], p["additions"], p["deletions"] = w.Checkpoint, w.Tree, w.Files, w.Additions, w.Deletions
	p["relayed"] = w.RelayedCheckpoint >= w.Checkpoint
	return p
}

// piecesAtOnce is how many pieces of checkpoints are received at a time for one host.
const piecesAtOnce = 4

// TakeCheckpoint receives a piece of a checkpoint's file from its host. It calls read only after the sender is
// verified, and for a few pieces at a time.
func (e *Engine) TakeCheckpoint(ctx context.Context, who Reporter, workspaceID string, read func() (hub.Piece, error)) (kept wire.CheckpointOffset, err error) {
	w, err := e.Store.Workspace(ctx, workspaceID)
	if err == nil {
		err = who.ofHost(&w)
	}
	if err == nil {
		err = e.paces.frames.wait(ctx, w.HostID, e.paces.endless)
	}
	if err != nil {
		return kept, err
	}
	release, err := e.pieces.acquire(ctx, w.HostID)
	if err != nil {
		return kept, err
	}
	defer release()
	p, err := read()
	if err != nil {
		return kept, err
	}
	p.HostID, p.WorkspaceID = w.HostID, w.ID
	kept.Offset, kept.Complete, err = e.Hub.Checkpoints.Take(p)
	return kept, err
}

// CheckpointRelayed records that a checkpoint was relayed completely. It returns an error if one of its files is not
// complete here.
func (e *Engine) CheckpointRelayed(ctx context.Context, who Reporter, id string, number int, done wire.CheckpointDone) (svc.Workspace, error) {
	err := done.Validate()
	if err == nil {
		err = e.paceReport(ctx, who)
	}
	if err != nil {
		return svc.Workspace{}, err
	}
	var pinned []int
	w, err := e.changeWorkspace(ctx, id, func(tx *store.Tx, w *svc.Workspace) (err error) {
		if err := who.ofHost(w); err != nil {
			return err
		}
		if pinned, err = tx.CommentedCheckpoints(ctx, id); err != nil {
			return err
		}
		if !e.Hub.Checkpoints.Has(id, number) {
			return svc.Errorf(svc.CodeNotRelayed, "the orchestrator does not have all files of checkpoint %d", number)
		}
		if err := e.Hub.Checkpoints.Describe(w.HostID, id, number, hub.CheckpointInfo{Tree: done.Tree, From: done.From}); err != nil {
			return err
		}
		if number <= w.RelayedCheckpoint { // it was relayed again, because the files here were lost
			return nil
		}
		w.RelayedCheckpoint, w.Files, w.Additions, w.Deletions = number, done.Files, done.Additions, done.Deletions
		w.Checkpoint = max(w.Checkpoint, number)
		tx.Emit(svc.TopicWorkspaceCheckpointed, checkpointPayload(w))
		return tx.UpdateWorkspace(ctx, w)
	})
	if err == nil {
		if err := e.Hub.Checkpoints.Trim(w.HostID, id, number, pinned); err != nil {
			e.Log.Warn("older checkpoints of a workspace cannot be removed", "workspace_id", id, "error", err)
		}
	}
	return w, err
}

// mostRestores limits how many workspaces are searched for a file, each of which began with a checkpoint of the next.
const mostRestores = 64

// CheckpointFile opens the bundle or the patch of a checkpoint; number 0: the newest relayed one. The checkpoints of
// a workspace include those of the workspace that it was restored from.
func (e *Engine) CheckpointFile(ctx context.Context, id string, number int, kind hub.CheckpointKind) (*os.File, svc.Workspace, error) {
	w, err := e.Store.Workspace(ctx, id)
	if err != nil {
		return nil, w, err
	}
	f, _, err := e.openCheckpoint(ctx, w, number, kind)
	return f, w, err
}

// openCheckpoint opens a file of a checkpoint. It also returns the id of the workspace that has the file: this one,
// or one that it was restored from.
func (e *Engine) openCheckpoint(ctx context.Context, first svc.Workspace, number int, kind hub.CheckpointKind) (*os.File, string, error) {
	if number == 0 {
		number = first.RelayedCheckpoint
	}
	w := first
	for range mostRestores {
		f, err := e.Hub.Checkpoints.Open(w.ID, number, kind)
		if err == nil {
			return f, w.ID, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, "", err
		}
		if w.RestoredFrom == "" {
			break
		}
		if w, err = e.Store.Workspace(ctx, w.RestoredFrom); err != nil {
			return nil, "", err
		}
	}
	if number == 0 {
		return nil, "", svc.Errorf(svc.CodeNotRelayed, "no checkpoint of this workspace was relayed so far")
	}
	return nil, "", svc.Errorf(svc.CodeNotRelayed, "the orchestrator does not have checkpoint %d of this workspace; the newest that it has is %d", number, first.RelayedCheckpoint)
}

// RestoreFile opens the bundle that a new workspace begins with, for the host of that workspace.
func (e *Engine) RestoreFile(ctx context.Context, who Reporter, id, forID string, number int) (*os.File, error) {
	w, err := e.Store.Workspace(ctx, forID)
	if err != nil {
		return nil, err
	}
	if err := who.ofHost(&w); err != nil {
		return nil, err
	}
	if w.RestoredFrom != id {
		return nil, svc.Errorf(svc.CodeForbidden, "workspace %s does not begin with a checkpoint of %s", forID, id)
	}
	f, _, err := e.CheckpointFile(ctx, id, number, hub.CheckpointBundle)
	return f, err
}
