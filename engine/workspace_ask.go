package engine

import (
	"context"
	"time"

	"svc"
	"svc/store"
	"svc/wire"
)

// askTimeout is how long a host may take to respond. Before a removal it makes a checkpoint, which takes time for a
// large folder.
const askTimeout = 2 * time.Minute

// askHost sends a request about a workspace to its host. With wait, it waits for the result.
func (e *Engine) askHost(ctx context.Context, w svc.Workspace, request wire.WorkspaceRequest, wait bool) (*wire.WorkspaceResult, error) {
	link, ok := e.Hub.Uplinks.Of(w.HostID)
	if !ok || !link.Has(wire.CapWorkspace) {
		return nil, svc.Errorf(svc.CodeHostNotConnected, "the workspace's host is not connected; try again when it is back")
	}
	request.RequestID, request.WorkspaceID = svc.NewID(), w.ID
	a := e.asks.ask(request.RequestID, link)
	defer e.asks.forget(request.RequestID)
	if err := link.Send(request); err != nil {
		return nil, svc.Errorf(svc.CodeHostNotConnected, "the workspace's host went away; try again when it is back").Because(err)
	}
	if !wait {
		return nil, nil
	}
	timeout := time.NewTimer(askTimeout)
	defer timeout.Stop()
	select {
	case answer := <-a.answer:
		if answer == nil {
			return nil, svc.Errorf(svc.CodeHostNotConnected, "the workspace's host went away; try again when it is back")
		}
		return answer, nil
	case <-timeout.C:
		return nil, svc.Errorf(svc.CodeUnavailable, "the workspace's host has not answered within %s; try again", askTimeout)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// CheckpointWorkspace requests a checkpoint from the host. The result is reported by an event.
func (e *Engine) CheckpointWorkspace(ctx context.Context, id string) (svc.Workspace, error) {
	w, err := e.Store.Workspace(ctx, id)
	if err != nil {
		return w, err
	}
	if !w.Usable() {
		return w, svc.Errorf(svc.CodeConflict, "the workspace is %s", w.State)
	}
	_, err = e.askHost(ctx, w, wire.WorkspaceRequest{Do: wire.WorkspaceCheckpoint}, false)
	return w, err
}

// checkpointNow requests a checkpoint of the run's working copy at a moment when the agent is idle. If the host is
// away, it makes its next checkpoint as usual.
func (e *Engine) checkpointNow(ctx context.Context, r svc.Run) {
	if r.WorkspaceID == nil || r.HostID == nil {
		return
	}
	w := svc.Workspace{ID: *r.WorkspaceID, HostID: *r.HostID}
	if _, err := e.askHost(ctx, w, wire.WorkspaceRequest{Do: wire.WorkspaceCheckpoint}, false); err != nil {
		e.Log.Debug("a checkpoint could not be requested", "workspace_id", w.ID, "error", err)
	}
}

// RemoveWorkspace has the host remove a workspace. The host refuses if that would lose something (svc.Removal). tree
// names the state that the caller agrees to lose; empty: none.
func (e *Engine) RemoveWorkspace(ctx context.Context, id, tree string) (svc.Workspace, error) {
	w, err := e.Store.Workspace(ctx, id)
	if err != nil || w.State == svc.WorkspaceRemoved {
		return w, err
	}
	use, err := e.Store.WorkspaceUse(ctx, w.ID, "")
	if err != nil {
		return w, err
	}
	if use.RunID != "" {
		return w, notSafe([]svc.UnsafeReason{svc.UnsafeRun})
	}
	if w.Landing != nil && w.Landing.State == svc.LandingOpen {
		return w, landingOpen(w)
	}
	answer, err := e.askHost(ctx, w, wire.WorkspaceRequest{Do: wire.WorkspaceRemove, Tree: tree, Landed: w.LandedCheckpoint}, true)
	switch {
	case err != nil:
		return w, err
	case len(answer.Unsafe) > 0:
		return w, notSafe(answer.Unsafe)
	case !answer.OK:
		return w, svc.Errorf(svc.CodeUnavailable, "the host could not remove the workspace: %s", answer.Error)
	}
	return e.changeWorkspace(ctx, id, func(tx *store.Tx, w *svc.Workspace) error {
		if w.State == svc.WorkspaceRemoved {
			return nil
		}
		w.State = svc.WorkspaceRemoved
		tx.Emit(svc.TopicWorkspaceRemoved, w.EventPayload())
		return tx.UpdateWorkspace(ctx, w)
	})
}

func notSafe(reasons []svc.UnsafeReason) error {
	return svc.Errorf(svc.CodeWorkspaceNotSafe, "something would be lost by removing the workspace; nothing was removed").With("reasons", reasons)
}

// removePoll is how often overdue landed and discarded workspaces are searched for.
const removePoll = 10 * time.Minute

// removeUnwanted removes workspaces keep_days after they were landed or discarded and their last run ended, if
// nothing is lost by it.
func (e *Engine) removeUnwanted(ctx context.Context) error {
	tick := time.NewTicker(removePoll)
	defer tick.Stop()
	for {
		if err := e.removeOverdue(ctx); err != nil && ctx.Err() == nil {
			e.Log.Warn("landed and discarded workspaces cannot be removed; trying again", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (e *Engine) removeOverdue(ctx context.Context) error {
	now := e.now()
	found, err := e.Store.DiscardedWorkspaces(ctx, now.Add(-day), claimUnit)
	if err != nil {
		return err
	}
	landed, err := e.Store.LandedWorkspaces(ctx, now.Add(-day), claimUnit)
	if err != nil {
		return err
	}
	for _, w := range append(found, landed...) {
		use, err := e.Store.WorkspaceUse(ctx, w.ID, "")
		if err != nil {
			return err
		}
		since := w.LandedAt
		if w.DiscardedAt != nil {
			since = w.DiscardedAt
		}
		if use.RunID != "" || now.Sub(max(*since, use.Since)) < time.Duration(w.Source.KeepDays)*day {
			continue
		}
		_, err = e.RemoveWorkspace(ctx, w.ID, "")
		switch svc.CodeOf(err) {
		// On one of these errors the workspace stays, and the removal is tried again.
		case "", svc.CodeHostNotConnected, svc.CodeWorkspaceNotSafe, svc.CodeConflict:
		default:
			return err
		}
	}
	return nil
}

// purgeCheckpoints deletes the files of workspaces that were removed before the given time, or that have no record.
func (e *Engine) purgeCheckpoints(ctx context.Context, before svc.Time) (removed int, err error) {
	ids, err := e.Hub.Checkpoints.Workspaces()
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		gone, err := e.checkpointsGone(ctx, id, before)
		if err != nil {
			return removed, err
		}
		if !gone {
			continue
		}
		if err := e.Hub.Checkpoints.Remove(id); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// checkpointsGone reports whether a workspace was removed before the given time, or has no record.
func (e *Engine) checkpointsGone(ctx context.Context, workspaceID string, before svc.Time) (bool, error) {
	w, err := e.Store.Workspace(ctx, workspaceID)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return true, nil
	}
	return err == nil && w.State == svc.WorkspaceRemoved && w.UpdatedAt < before, err
}
