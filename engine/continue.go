package engine

import (
	"context"

	"svc"
	"svc/place"
	"svc/store"
	"svc/wire"
)

// predecessor returns the run that a run continues. The result has no id if the run continues none.
func predecessor(ctx context.Context, r store.Reader, run svc.Run) (svc.Run, error) {
	if run.ContinuesRunID == nil {
		return svc.Run{}, nil
	}
	return r.Run(ctx, *run.ContinuesRunID)
}

// complete validates a request, and copies from the continued run everything that never changes again. The location
// of the continued run may still change: admission reads it in its unit of work, and the claim reads it again.
func complete(ctx context.Context, r store.Reader, n *svc.NewRun) error {
	if err := n.Validate(); err != nil {
		return err
	}
	if n.Continues != nil {
		before, err := r.Run(ctx, *n.Continues)
		if svc.CodeOf(err) == svc.CodeNotFound {
			return svc.Invalid("continues", "there is no run %s", *n.Continues)
		}
		if err != nil {
			return err
		}
		if err := n.TakeOver(before); err != nil {
			return err
		}
	}
	return checkSendable(*n)
}

// admitContinuing admits a run that continues another one, as part of a larger unit of work.
func (e *Engine) admitContinuing(ctx context.Context, tx *store.Tx, n svc.NewRun) (svc.Run, error) {
	if err := complete(ctx, tx.Reader, &n); err != nil {
		return svc.Run{}, err
	}
	return e.admit(ctx, tx, n)
}

// continueRun makes a new run continue where the other one is, with its conversation unless a fresh one was
// requested.
func (e *Engine) continueRun(ctx context.Context, tx *store.Tx, r *svc.Run, fresh bool) error {
	before, err := predecessor(ctx, tx.Reader, *r)
	if err != nil || before.ID == "" {
		return err
	}
	r.Follow(before)
	if fresh {
		return nil
	}
	const instead = "; set fresh to begin a new conversation in the same workspace"
	if before.Conversation == nil {
		return svc.Errorf(svc.CodeNoConversation, "no conversation of run %s is known%s", before.ID, instead)
	}
	if r.PinnedHostID == nil {
		return svc.Errorf(svc.CodeNoConversation, "run %s has not been on any host%s", before.ID, instead)
	}
	host, err := tx.Host(ctx, *r.PinnedHostID)
	if err != nil {
		return err
	}
	if !host.Providers[r.Provider].Resumes {
		return svc.Errorf(svc.CodeNoConversation, "%s on host %s cannot resume a conversation%s", r.Provider, host.Name, instead)
	}
	r.Resume(*before.Conversation)
	return nil
}

// moveFollowers updates the runs that wait for a run that was claimed again: a restart may have placed that run on
// another host, and they must follow it. It reads only runs that had a host before; nothing waits on the host of a
// run that never had one.
func (u *claimUnitOfWork) moveFollowers(ctx context.Context, tx *store.Tx) error {
	if len(u.again) == 0 {
		return nil
	}
	followers, err := tx.Followers(ctx, u.again)
	if err != nil {
		return err
	}
	byID := make(map[string]svc.Run, len(u.claimed))
	for _, r := range u.claimed {
		byID[r.ID] = r
	}
	for _, id := range followers {
		r, err := tx.LockRun(ctx, id)
		if err != nil {
			return err
		}
		if r.Status == svc.RunPending && r.Attempt == 1 && r.Follow(byID[*r.ContinuesRunID]) {
			if err := tx.UpdateRun(ctx, &r); err != nil {
				return err
			}
		}
	}
	return nil
}

// mints reports whether svc chooses the conversation id for a provider on a host, and the worker supports it.
func (e *Engine) mints(h *place.Host, provider string) bool {
	link, ok := e.Hub.Uplinks.Of(h.ID)
	return ok && link.Has(wire.CapConversation) && h.Providers[provider].Conversation == svc.ConversationMinted
}

// dispatchedConversation returns the part of a dispatch about the tool's conversation.
func dispatchedConversation(r *svc.Run) *wire.Conversation {
	c := &wire.Conversation{Resume: r.Resumes}
	if r.Conversation != nil {
		c.ID = r.Conversation.ID
	}
	return c
}
