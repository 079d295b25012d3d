package engine

import (
	"context"

	"svc"
	"svc/store"
)

// SendMessage queues a message for the agent of a run's session. It is delivered by deliverMessages.
func (e *Engine) SendMessage(ctx context.Context, runID string, n svc.NewMessage) (svc.Message, error) {
	if n.When == "" {
		n.When = svc.MessageNow
	}
	if err := n.Validate(); err != nil {
		return svc.Message{}, err
	}
	m, err := once(ctx, e.Store.WriteRepeatable, func(tx *store.Tx) (svc.Message, error) {
		r, err := tx.LockRun(ctx, runID)
		if err != nil {
			return svc.Message{}, err
		}
		return e.addMessage(ctx, tx, &r, n)
	}, store.RunRow(runID))
	if err == nil {
		e.messages.wake.up()
	}
	return m, err
}

// Messages returns a page of the messages of a run, in the order in which they were sent.
func (e *Engine) Messages(ctx context.Context, runID string, page svc.Page) (svc.List[svc.Message], error) {
	if _, err := e.live(ctx, runID); err != nil {
		return svc.List[svc.Message]{}, err
	}
	return e.Store.Messages(ctx, runID, page)
}

// addMessage stores a message for a locked run. A message that the provider cannot receive is stored as undelivered.
func (e *Engine) addMessage(ctx context.Context, tx *store.Tx, r *svc.Run, n svc.NewMessage) (svc.Message, error) {
	takes, err := e.mayMessage(ctx, tx, r, n)
	if err != nil {
		return svc.Message{}, err
	}
	last, open, err := tx.LastMessage(ctx, r.ID)
	if err != nil {
		return svc.Message{}, err
	}
	if open >= svc.MaxOpenMessages {
		return svc.Message{}, svc.Errorf(svc.CodeConflict, "%d messages to this run are not delivered yet; wait for them", open)
	}
	m := svc.Message{ID: svc.NewID(), RunID: r.ID, Number: last + 1, Attempt: r.Attempt, Text: n.Text, When: n.When, Answer: n.Answer,
		State: svc.MessageQueued, By: svc.CallerName(ctx), CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
	if !takes {
		m.Settle(svc.MessageUndelivered, svc.MessageTakesNone)
	}
	tx.Emit(svc.TopicRunMessage, m.EventPayload(r))
	return m, tx.InsertMessage(ctx, m)
}

// mayMessage refuses a message that cannot be sent to the run's agent now. takes is false when its provider does not
// support messages.
func (e *Engine) mayMessage(ctx context.Context, tx *store.Tx, r *svc.Run, n svc.NewMessage) (takes bool, err error) {
	if !r.Status.Active() && !r.Reachable() {
		return false, svc.Errorf(svc.CodeRunNotActive, "the run is %s; messages can be sent only to a pending, spawning or running one", r.Status).With("status", r.Status)
	}
	if l, held := e.Hub.Attach.Holder(r.ID); held {
		return false, svc.Errorf(svc.CodeLeaseHeld, "%s is attached to this run and types there; ask them to detach first", l.Holder)
	}
	if r.Asks() && !n.Answer {
		return false, svc.Errorf(svc.CodeNeedsInput, "the agent has asked a question, and the message would answer it; set answer if that is intended")
	}
	if r.HostID == nil {
		return true, nil // decided when its host is known
	}
	report, known, err := providerOn(ctx, tx.Reader, r)
	switch {
	case err != nil:
		return false, err
	case known && n.When == svc.MessageTurnEnd && !report.Turns:
		return false, errNoTurns(r.Provider)
	}
	return !known || report.Message == takesPaste, nil
}

func errNoTurns(provider string) error {
	return svc.Errorf(svc.CodeNoTurns, "the hooks of provider %s do not report the end of a turn; send the message now", provider)
}

// takesPaste is what a host reports for a provider that receives messages by paste.
const takesPaste = "paste"

// providerOn returns what the run's host reported about the run's provider. known is false when the host has not
// reported anything yet.
func providerOn(ctx context.Context, r store.Reader, run *svc.Run) (report svc.ProviderReport, known bool, err error) {
	h, err := r.Host(ctx, *run.HostID)
	return h.Providers[run.Provider], h.ProvidersAt != nil, err
}

// acknowledge records that the tool received the message with this digest.
func acknowledge(ctx context.Context, tx *store.Tx, r *svc.Run, digest string) error {
	m, err := tx.SubmittedMessage(ctx, r.ID, r.Attempt, digest)
	if err != nil || m.State == "" {
		return err
	}
	m.Settle(svc.MessageAcknowledged, "")
	return keepMessage(ctx, tx, r, &m)
}

// keepMessage writes a message whose state changed, and updates the comments that were sent with it.
func keepMessage(ctx context.Context, tx *store.Tx, r *svc.Run, m *svc.Message) error {
	tx.Emit(svc.TopicRunMessage, m.EventPayload(r))
	if err := tx.UpdateMessage(ctx, m); err != nil {
		return err
	}
	sent, err := tx.LockCommentsOf(ctx, m.ID)
	if err != nil || len(sent) == 0 {
		return err
	}
	w, err := tx.Workspace(ctx, sent[0].WorkspaceID)
	if err != nil {
		return err
	}
	for _, c := range sent {
		c.Follow(*m)
		if err := tx.UpdateComment(ctx, &c); err != nil {
			return err
		}
		tx.Emit(svc.TopicCommentUpdated, c.EventPayload(w))
	}
	return nil
}
