package engine

import (
	"context"

	"svc"
	"svc/store"
	"svc/wire"
)

// Inbox returns a page of the entries that need a person's attention, newest first.
func (e *Engine) Inbox(ctx context.Context, f svc.InboxFilter, page svc.Page) (svc.List[svc.InboxItem], error) {
	return e.Store.Inbox(ctx, f, e.now(), page)
}

// SnoozeInbox hides an entry until a time, for all users.
func (e *Engine) SnoozeInbox(ctx context.Context, key string, until svc.Time) (svc.InboxItem, error) {
	if err := svc.CheckSnooze(until, e.now()); err != nil {
		return svc.InboxItem{}, err
	}
	return e.markInbox(ctx, key, &until)
}

// DismissInbox hides an entry for good, for all users. If its cause occurs again, that is a new entry.
func (e *Engine) DismissInbox(ctx context.Context, key string) (svc.InboxItem, error) {
	return e.markInbox(ctx, key, nil)
}

func (e *Engine) markInbox(ctx context.Context, key string, until *svc.Time) (svc.InboxItem, error) {
	return once(ctx, e.Store.WriteRepeatable, func(tx *store.Tx) (svc.InboxItem, error) {
		item, err := tx.InboxItem(ctx, key, tx.Now)
		if err != nil {
			return item, err
		}
		if until == nil && item.Dismissed {
			return item, nil
		}
		item.SnoozedUntil, item.Dismissed = until, until == nil
		p := item.EventPayload()
		topic := svc.TopicInboxDismissed
		if until != nil {
			topic, p["until"] = svc.TopicInboxSnoozed, *until
		}
		tx.Emit(topic, p)
		return item, tx.MarkInbox(ctx, key, until, svc.CallerName(ctx))
	})
}

// noteDisk records that a host began or ceased to have too little free disk space. The database has the current
// state: a failed write is tried again with the next heartbeat, and a restart of the orchestrator does not create a
// new occurrence.
func (e *Engine) noteDisk(ctx context.Context, f *wire.Heartbeat) error {
	low := f.Refusing != nil && f.Refusing.Code == svc.RefusalDiskLow
	if e.hosts.diskLow(f.HostID) == low {
		return nil
	}
	err := e.Store.Write(ctx, func(tx *store.Tx) error { return tx.NoteDiskLow(ctx, f.HostID, low) }, store.HostRow(f.HostID))
	if err == nil {
		e.hosts.diskNoted(f.HostID, low)
	}
	return err
}
