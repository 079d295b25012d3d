package engine

import (
	"context"

	"svc"
	"svc/review"
	"svc/store"
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

// SendComments gives comments to the agent of a workspace: as the prompt of a run that goes on with the conversation of the newest one in
// it, when that is over. The drafts become sent in the unit that admits the run: both or neither. Whoever sends at the same time
// finds no drafts any more.
func (e *Engine) SendComments(ctx context.Context, workspaceID string, n svc.NewSend) (svc.Sent, error) {
	if err := n.Validate(); err != nil {
		return svc.Sent{}, err
	}
	before, err := e.Store.Workspace(ctx, workspaceID)
	if err != nil {
		return svc.Sent{}, err
	}
	sent, err := once(ctx, e.Store.WriteRepeatable, func(tx *store.Tx) (svc.Sent, error) {
		w, err := tx.LockWorkspace(ctx, workspaceID)
		if err != nil {
			return svc.Sent{}, err
		}
		return e.send(ctx, tx, w, n)
	}, store.TargetRow(before.TaskID))
	if err == nil {
		e.claims.up()
	}
	return sent, err
}

// send is SendComments in its unit.
func (e *Engine) send(ctx context.Context, tx *store.Tx, w svc.Workspace, n svc.NewSend) (svc.Sent, error) {
	all, err := tx.AllComments(ctx, w.ID)
	if err != nil {
		return svc.Sent{}, err
	}
	chosen, err := n.Chosen(all)
	if err != nil {
		return svc.Sent{}, err
	}
	newest, err := tx.NewestRunIn(ctx, w.ID)
	if err != nil {
		return svc.Sent{}, err
	}
	if newest == "" {
		return svc.Sent{}, unsent(svc.Errorf(svc.CodeNoConversation, "no run has been in this workspace"))
	}
	prompt := promptOf(n.Message, chosen)
	r, err := e.admitContinuing(ctx, tx, svc.NewRun{Continues: &newest, Prompt: prompt})
	if err != nil {
		return svc.Sent{}, unsent(err)
	}
	for _, c := range chosen {
		c.State, c.RunID = svc.CommentSent, &r.ID
		if err := tx.UpdateComment(ctx, &c); err != nil {
			return svc.Sent{}, err
		}
		tx.Emit(svc.TopicCommentUpdated, c.EventPayload(w))
	}
	return svc.Sent{Prompt: prompt, RunID: &r.ID}, nil
}

// unsent says what to do in place of a send for which there is no conversation.
func unsent(err error) error {
	if svc.CodeOf(err) != svc.CodeNoConversation {
		return err
	}
	return svc.Errorf(svc.CodeNoConversation, "%s. Nothing was sent and the drafts stay; preview=true has the prompt, for a run that you start in this workspace", err.Error())
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
