package engine

import (
	"context"
	"slices"

	"svc"
	"svc/review"
	"svc/store"
)

// PreviewSend returns the prompt that comments would be sent with, and changes nothing.
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

// SendComments sends comments to the agent of a workspace: as a message to the run that is active in it, if its
// provider supports messages; otherwise as the prompt of a new run that continues the conversation of the newest run,
// once that is over. The drafts become sent in the same unit of work that stores the message or admits the run. A
// concurrent send finds no drafts left.
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

// send is SendComments within its unit of work.
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

// deliverPrompt sends a prompt to the agent of a workspace, as a message or as a new run.
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
		return svc.Sent{}, svc.Errorf(svc.CodeNoConversation, "no run has used this workspace")
	}
	r, err := e.admitContinuing(ctx, tx, svc.NewRun{Continues: &newest, Prompt: prompt})
	return svc.Sent{Prompt: prompt, RunID: &r.ID}, err
}

// sweepPrompts updates the comments that were sent as the prompt of a run, and reports whether the delivery of some
// is still unknown.
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

// notePrompt records whether a comment that was sent as the prompt of a run reached the agent. known is false while
// that is not decided.
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

// hasBegun reports whether an attempt of a run has started; 0: any attempt.
func (e *Engine) hasBegun(ctx context.Context, runID string, attempt int) (bool, error) {
	signals, err := e.Store.TakenSignals(ctx, runID)
	return slices.ContainsFunc(signals, func(s svc.Evidence) bool {
		return s.Kind == svc.SignalStarted && (attempt == 0 || s.Attempt == attempt)
	}), err
}

// takesMessage reports whether a message can be sent to the agent of a run. A message that is too long is sent as a
// prompt instead.
func takesMessage(ctx context.Context, tx *store.Tx, r *svc.Run, n svc.NewMessage) (bool, error) {
	pastable := n.Validate() == nil
	if r.Status != svc.RunRunning || !pastable {
		return false, nil
	}
	report, known, err := providerOn(ctx, tx.Reader, r)
	return known && report.Message == takesPaste, err
}

// unsent adds what the caller can do to an error that there is no conversation.
func unsent(err error) error {
	if svc.CodeOf(err) != svc.CodeNoConversation {
		return err
	}
	return svc.Errorf(svc.CodeNoConversation, "%s. Nothing was sent and the drafts stay; preview=true returns the prompt, for a run that you start in this workspace", err.Error())
}

// promptOf composes the prompt for comments.
func promptOf(message string, comments []svc.Comment) string {
	var remarks []review.Remark
	for _, c := range comments {
		at := placeOf(c)
		remarks = append(remarks, review.Remark{ID: c.ID, Path: c.Path, Old: at.Old, First: at.First, Last: at.Last, Quote: c.Quote, Body: c.Body, Revision: c.Checkpoint})
	}
	return review.Prompt(message, remarks)
}
