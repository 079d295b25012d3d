package notify

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"svc"
	"svc/store"
)

const (
	// lease is how long an orchestrator leases a sink for a try, unless its term ends earlier. It is longer than a
	// try can take.
	lease = 3 * sendTimeout
	// mostDue is the most notifications that one unit of work reads.
	mostDue = 1000
	// settleLimit bounds the write of a try's outcome, also during a shutdown.
	settleLimit = 5 * time.Second
)

// claim chooses the next notification, records the try and leases the sink. It returns nil if nothing is to be sent
// now.
func (d *Dispatcher) claim(ctx context.Context, s svc.Sink, entries map[string]svc.InboxItem) (next *svc.Notification, m *message, err error) {
	err = d.Store.Write(ctx, func(tx *store.Tx) error {
		next, m = nil, nil
		state, err := tx.LockSink(ctx, s.Name)
		if err != nil || d.leased(state, tx.Now) || state.RetryAt != nil && *state.RetryAt > tx.Now {
			return err
		}
		due, err := tx.DueNotifications(ctx, s.Name, tx.Now, mostDue)
		if err != nil {
			return err
		}
		c := claiming{d: d, tx: tx, entries: entries}
		if due, err = c.prune(ctx, due); err != nil {
			return err
		}
		sent, err := tx.SentSince(ctx, s.Name, tx.Now.Add(-window))
		if err != nil {
			return err
		}
		if next, m, err = c.begin(ctx, due, sent); err != nil || next == nil {
			return err
		}
		state.Owner, state.LeasedUntil = d.owner, tx.Now.Add(lease)
		return tx.UpdateSink(ctx, state)
	})
	return next, m, err
}

// leased reports whether another try may be under way whose outcome will be written. An owner whose term is over
// cannot write any more. Its try is repeated at once, with the same id.
func (d *Dispatcher) leased(s svc.SinkState, now svc.Time) bool {
	term, _, _ := strings.Cut(s.Owner, ".")
	n, err := strconv.ParseInt(term, 10, 64)
	over := err == nil && n > 0 && n < d.term
	return s.Owner != "" && s.LeasedUntil > now && !over
}

// claiming is the state of the unit of work that begins a try.
type claiming struct {
	d       *Dispatcher
	tx      *store.Tx
	entries map[string]svc.InboxItem
}

// prune removes the notifications that must not be sent any more: the entry was closed, snoozed or dismissed, or the
// notification is too old. It returns the others.
func (c claiming) prune(ctx context.Context, due []svc.Notification) (left []svc.Notification, err error) {
	for _, n := range due {
		items, err := c.items(ctx, n)
		if err != nil {
			return nil, err
		}
		switch {
		case c.tx.Now.Sub(n.CreatedAt) >= life:
			err = c.finish(ctx, n, svc.NotificationExpired)
		case len(items) > 0:
			left = append(left, n)
		case n.Tries == 0: // never sent: its entry may open again, as when a snooze ends
			err = c.tx.DropNotification(ctx, n.ID)
		default:
			err = c.finish(ctx, n, svc.NotificationCancelled)
		}
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}

func (c claiming) finish(ctx context.Context, n svc.Notification, state svc.NotificationState) error {
	n.State, n.SettledAt = state, &c.tx.Now
	if state == svc.NotificationExpired && n.Error == "" {
		n.Error = errExpired.Error()
	}
	return c.tx.UpdateNotification(ctx, n)
}

// items returns the open entries of a notification: one, or those of a digest.
func (c claiming) items(ctx context.Context, n svc.Notification) (items []svc.InboxItem, err error) {
	members := []svc.Notification{n}
	if n.Digest() {
		if members, err = c.tx.Digested(ctx, n.ID); err != nil {
			return nil, err
		}
	}
	for _, each := range members {
		if i, open := c.entries[each.Key]; open {
			items = append(items, i)
		}
	}
	return items, nil
}

// begin counts a try before it is made. It creates a digest if one is due.
func (c claiming) begin(ctx context.Context, due, sent []svc.Notification) (*svc.Notification, *message, error) {
	chosen, digest := choose(due, sent)
	if len(chosen) == 0 {
		return nil, nil, nil
	}
	n := chosen[0]
	if digest {
		id := svc.NewID()
		n = svc.Notification{ID: id, Sink: n.Sink, Key: id, State: svc.NotificationWaiting, DueAt: c.tx.Now, CreatedAt: c.tx.Now}
		for _, member := range chosen {
			member.State, member.DigestID, member.SettledAt = svc.NotificationDigested, id, &c.tx.Now
			if err := c.tx.UpdateNotification(ctx, member); err != nil {
				return nil, nil, err
			}
		}
		if _, err := c.tx.AddNotification(ctx, n); err != nil {
			return nil, nil, err
		}
	}
	items, err := c.items(ctx, n)
	if err != nil {
		return nil, nil, err
	}
	n.Tries++
	m := ofEntry(n.ID, c.d.PublicURL, items[0])
	if n.Digest() {
		m = ofDigest(n.ID, c.d.PublicURL, items)
	}
	return &n, &m, c.tx.UpdateNotification(ctx, n)
}

// settle writes the outcome of a try and releases the sink. A try that was cut off by a shutdown is repeated later,
// with the same id.
func (d *Dispatcher) settle(ctx context.Context, s svc.Sink, n svc.Notification, failure error) error {
	cut := ctx.Err() != nil && failure != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	if failure != nil && !cut {
		d.failed[s.Name].Add(1)
		d.Log.Warn("a sink did not accept a notification", "sink", s.Name, "notification_id", n.ID, "tries", n.Tries, "error", failure)
	}
	return d.Store.Write(ctx, func(tx *store.Tx) error {
		state, err := tx.LockSink(ctx, s.Name)
		if err != nil {
			return err
		}
		n := n
		var never refusal
		switch {
		case cut:
		case failure == nil:
			n.State, n.SettledAt, n.Error = svc.NotificationSent, &tx.Now, ""
			state.SentAt, state.Failures, state.RetryAt, state.Error = &tx.Now, 0, nil, ""
		case errors.As(failure, &never):
			n.State, n.SettledAt, n.Error = svc.NotificationRefused, &tx.Now, failure.Error()
			state.FailedAt, state.Error, state.RetryAt = &tx.Now, failure.Error(), nil
			state.Failures++
		default:
			n.DueAt, n.Error = tx.Now.Add(max(backoff(n.Tries, jitter()), retryWait(failure))), failure.Error()
			state.Failures++
			retry := tx.Now.Add(max(backoff(state.Failures, jitter()), retryWait(failure)))
			state.FailedAt, state.Error, state.RetryAt = &tx.Now, failure.Error(), &retry
		}
		if state.Owner == d.owner {
			state.Owner, state.LeasedUntil = "", 0
		}
		if err := tx.UpdateNotification(ctx, n); err != nil {
			return err
		}
		return tx.UpdateSink(ctx, state)
	})
}
