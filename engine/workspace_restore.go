package engine

import (
	"context"
	"time"

	"svc"
	"svc/store"
	"svc/wire"
)

// RestoreWorkspace creates a new workspace on a host from the newest relayed checkpoint of another one, whose own
// host may be gone. The record is the intent: the host is asked until it has made the workspace. The setup
// script is left to its first run.
func (e *Engine) RestoreWorkspace(ctx context.Context, id, hostID string) (svc.Workspace, error) {
	host, err := e.Store.Host(ctx, hostID)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return svc.Workspace{}, svc.Invalid("host_id", "there is no host %s", hostID)
	}
	if err != nil {
		return svc.Workspace{}, err
	}
	w, err := once(ctx, e.Store.WriteRepeatable, func(tx *store.Tx) (svc.Workspace, error) {
		before, err := tx.LockWorkspace(ctx, id)
		switch {
		case err != nil:
			return before, err
		case before.RelayedCheckpoint == 0:
			return before, svc.Errorf(svc.CodeNotRelayed, "no checkpoint of this workspace was relayed so far")
		case !e.makesWorkspaces(host.ID):
			return before, svc.Errorf(svc.CodeHostNotConnected, "host %s is not connected, or cannot make working copies", host.Name)
		}
		title, err := tx.WorkItem(ctx, before.TaskID)
		if err != nil {
			return before, err
		}
		w := svc.Workspace{ID: svc.NewWorkspaceID(), ProjectID: before.ProjectID, TaskID: before.TaskID, HostID: host.ID, RunID: before.RunID, Source: before.Source,
			Repo: before.Repo, Isolation: before.Isolation, State: svc.WorkspacePreparing, Conflicts: []string{}, CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
		w.Branch = svc.WorkspaceBranch(title.Title, w.ID)
		beginWith(&w, before)
		if err := tx.InsertWorkspace(ctx, w); err != nil {
			return w, err
		}
		payload := w.EventPayload()
		payload["branch"], payload["restored_from"] = w.Branch, w.RestoredFrom
		tx.Emit(svc.TopicWorkspaceCreated, payload)
		return w, nil
	})
	if err == nil {
		e.restores.up()
	}
	return w, err
}

// restorePoll is how often hosts are asked for workspaces that are not made yet.
const restorePoll = 10 * time.Second

// askRestores asks hosts repeatedly for the workspaces that are restored without a run and not made yet. A lost
// request, a host that was away and a restart need no special handling. A repeated request does not disturb a host
// that is working on it.
func (e *Engine) askRestores(ctx context.Context) error {
	tick := time.NewTicker(restorePoll)
	defer tick.Stop()
	for {
		if err := e.askForRestores(ctx); err != nil && ctx.Err() == nil {
			e.Log.Warn("workspaces cannot be restored; trying again", "error", err)
		}
		select {
		case <-e.restores.c:
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (e *Engine) askForRestores(ctx context.Context) error {
	found, err := e.Store.RestoringWorkspaces(ctx, claimUnit)
	if err != nil {
		return err
	}
	for _, w := range found {
		if !e.makesWorkspaces(w.HostID) {
			continue
		}
		order, err := e.workspaceOrder(ctx, w)
		if err != nil {
			return err
		}
		if _, err := e.askHost(ctx, w, wire.WorkspaceRequest{Do: wire.WorkspaceRestore, Workspace: order}, false); err != nil && svc.CodeOf(err) != svc.CodeHostNotConnected {
			return err
		}
	}
	return nil
}
