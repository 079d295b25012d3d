package engine

import (
	"context"

	"svc"
	"svc/review"
)

// PreviewSend composes the prompt that comments would be sent with, and changes nothing.
func (e *Engine) PreviewSend(ctx context.Context, workspaceID string, n svc.NewSend) (svc.Sent, error) {
	if err := n.Validate(); err != nil {
		return svc.Sent{}, err
	}
	if _, err := e.Store.Workspace(ctx, workspaceID); err != nil {
		return svc.Sent{}, err
	}
	all, err := e.Store.AllComments(ctx, workspaceID)
	if err != nil {
		return svc.Sent{}, err
	}
	chosen, err := n.Chosen(all)
	if err != nil {
		return svc.Sent{}, err
	}
	return svc.Sent{Prompt: promptOf(n.Message, chosen)}, nil
}

// SendComments delivers comments to an agent. There is no conversation that could be gone on with, so that it is refused: a draft
// is sent only together with its delivery.
func (e *Engine) SendComments(ctx context.Context, workspaceID string, n svc.NewSend) (svc.Sent, error) {
	if _, err := e.PreviewSend(ctx, workspaceID, n); err != nil {
		return svc.Sent{}, err
	}
	return svc.Sent{}, svc.Errorf(svc.CodeConflict, "this orchestrator cannot go on with an agent's conversation, so nothing was sent and the drafts stay; "+
		"preview=true has the prompt, for a run that you start in this workspace")
}

// promptOf is what an agent is sent for comments.
func promptOf(message string, comments []svc.Comment) string {
	var remarks []review.Remark
	for _, c := range comments {
		at := placeOf(c)
		remarks = append(remarks, review.Remark{ID: c.ID, Path: c.Path, Old: at.Old, First: at.First, Last: at.Last, Quote: c.Quote, Body: c.Body, Revision: c.Checkpoint})
	}
	return review.Prompt(message, remarks)
}
