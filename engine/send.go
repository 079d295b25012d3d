package engine

import (
	"context"
	"slices"

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

// SendComments gives comments to the agent of a workspace: as a message to the run that is active in it, where its provider takes
// messages, else as the prompt of a run that goes on with the conversation of the newest one, when that is over. The drafts become sent in
// the unit that keeps the message or admits the run: both or neither. Whoever sends at the same time finds no drafts any more.
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
		e.messages.wake.up()
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
	sent, err := e.deliverPrompt(ctx, tx, w, promptOf(n.Message, chosen))
	if err != nil {
		return svc.Sent{}, unsent(err)
	}
	for _, c := range chosen {
		c.Send(sent)
		if err := tx.UpdateComment(ctx, &c); err != nil {
			return svc.Sent{}, err
		}
		tx.Emit(svc.TopicCommentUpdated, c.EventPayload(w))
	}
	return sent, nil
}

// deliverPrompt gives a prompt to the agent of a workspace, as a message or as a run.
func (e *Engine) deliverPrompt(ctx context.Context, tx *store.Tx, w svc.Workspace, prompt string) (svc.Sent, error) {
	use, err := tx.WorkspaceUse(ctx, w.ID, "")
	if err != nil {
		return svc.Sent{}, err
	}
	if use.RunID != "" {
		r, err := tx.LockRun(ctx, use.RunID)
		if err != nil {
			return svc.Sent{}, err
		}
		message := svc.NewMessage{Text: prompt, When: svc.MessageNow}
		if takes, err := takesMessage(ctx, tx, &r, message); err != nil {
			return svc.Sent{}, err
		} else if takes {
			m, err := e.addMessage(ctx, tx, &r, message)
			return svc.Sent{Prompt: prompt, RunID: &r.ID, MessageID: &m.ID}, err
		}
	}
	newest, err := tx.NewestRunIn(ctx, w.ID)
	if err != nil {
		return svc.Sent{}, err
	}
	if newest == "" {
		return svc.Sent{}, svc.Errorf(svc.CodeNoConversation, "no run has been in this workspace")
	}
	r, err := e.admitContinuing(ctx, tx, svc.NewRun{Continues: &newest, Prompt: prompt})
	return svc.Sent{Prompt: prompt, RunID: &r.ID}, err
}

// sweepPrompts finds out which comments have reached an agent as the prompt of a run, and says whether there are more.
func (e *Engine) sweepPrompts(ctx context.Context) (open bool, err error) {
	for after := ""; ; {
		found, err := e.Store.QueuedComments(ctx, after, messageBatch)
		if err != nil {
			return true, err
		}
		for _, c := range found {
			after = c.ID
			known, err := e.notePrompt(ctx, c)
			if err != nil {
				return true, err
			}
			open = open || !known
		}
		if len(found) < messageBatch {
			return open, nil
		}
	}
}

// notePrompt notes what became of a comment that was sent as the prompt of a run, if that is known.
func (e *Engine) notePrompt(ctx context.Context, c svc.Comment) (known bool, err error) {
	r, err := e.live(ctx, *c.RunID)
	if err != nil {
		return false, err
	}
	begun := r.StartedAt != nil
	if !begun && r.Attempt > 1 {
		if begun, err = e.hasBegun(ctx, r.ID, 0); err != nil {
			return false, err
		}
	}
	if !begun && r.Status.Active() {
		return false, nil
	}
	_, err = e.changeComment(ctx, c.ID, nil, func(_ *store.Tx, now *svc.Comment, _ svc.Workspace) error {
		if now.Delivery == svc.MessageQueued && now.MessageID == nil && now.RunID != nil && *now.RunID == r.ID {
			now.Delivered(begun)
		}
		return nil
	})
	if svc.CodeOf(err) == svc.CodeNotFound { // it was deleted meanwhile
		err = nil
	}
	return err == nil, err
}

// hasBegun says whether an attempt of a run has started; 0: any of them.
func (e *Engine) hasBegun(ctx context.Context, runID string, attempt int) (bool, error) {
	signals, err := e.Store.TakenSignals(ctx, runID)
	return slices.ContainsFunc(signals, func(s svc.Evidence) bool {
		return s.Kind == svc.SignalStarted && (attempt == 0 || s.Attempt == attempt)
	}), err
}

// takesMessage says whether the agent of a run can be given a message. One that is too long goes as a prompt.
func takesMessage(ctx context.Context, tx *store.Tx, r *svc.Run, n svc.NewMessage) (bool, error) {
	pastable := n.Validate() == nil
	if r.Status != svc.RunRunning || !pastable {
		return false, nil
	}
	report, known, err := providerOn(ctx, tx.Reader, r)
	return known && report.Message == takesPaste, err
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
