package store

import (
	"context"
	"fmt"

	"svc"
)

const sinkColumns = "name, since, owner, leased_until, failures, retry_at, sent_at, failed_at, error"

func scanSink(row scanner) (s svc.SinkState, err error) {
	var retry svc.Time
	err = row.Scan(&s.Name, &s.Since, &s.Owner, &s.LeasedUntil, &s.Failures, &retry, &s.SentAt, &s.FailedAt, &s.Error)
	if retry > 0 {
		s.RetryAt = &retry
	}
	return s, err
}

// AddSink adds the state of a sink, if there is none yet.
func (tx *Tx) AddSink(ctx context.Context, name string) error {
	_, err := tx.exec(ctx, "INSERT INTO notify_sinks (name, since) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name, tx.Now)
	if err != nil {
		return fmt.Errorf("add a sink: %w", err)
	}
	return nil
}

// SinkState reads the state of a sink, with the number and the age of its waiting notifications.
func (r Reader) SinkState(ctx context.Context, name string) (svc.SinkState, error) {
	s, err := readOne(ctx, r.q, scanSink, "sink", name, "SELECT "+sinkColumns+" FROM notify_sinks WHERE name = $1", name)
	if err != nil {
		return s, err
	}
	err = r.q.QueryRowContext(ctx, "SELECT count(*), min(created_at) FROM notifications WHERE sink = $1 AND state = 'waiting'", name).Scan(&s.Waiting, &s.OldestAt)
	if err != nil {
		return s, fmt.Errorf("count what waits for sink %s: %w", name, err)
	}
	return s, nil
}

// LockSink reads and locks the state of a sink that this unit changes.
func (tx *Tx) LockSink(ctx context.Context, name string) (svc.SinkState, error) {
	return readOne(ctx, tx.q, scanSink, "sink", name, "SELECT "+sinkColumns+" FROM notify_sinks WHERE name = $1"+tx.d.forUpdate, name)
}

// UpdateSink writes the state of a sink that was locked in this unit.
func (tx *Tx) UpdateSink(ctx context.Context, s svc.SinkState) error {
	var retry svc.Time
	if s.RetryAt != nil {
		retry = *s.RetryAt
	}
	_, err := tx.exec(ctx, `UPDATE notify_sinks SET owner = $1, leased_until = $2, failures = $3, retry_at = $4, sent_at = $5, failed_at = $6, error = $7
		WHERE name = $8`, s.Owner, s.LeasedUntil, s.Failures, retry, s.SentAt, s.FailedAt, s.Error, s.Name)
	if err != nil {
		return fmt.Errorf("write the state of a sink: %w", err)
	}
	return nil
}

const notificationColumns = "id, sink, key, digest_id, state, tries, due_at, settled_at, error, created_at"

func scanNotification(row scanner) (n svc.Notification, err error) {
	return n, row.Scan(&n.ID, &n.Sink, &n.Key, &n.DigestID, &n.State, &n.Tries, &n.DueAt, &n.SettledAt, &n.Error, &n.CreatedAt)
}

// AddNotification adds a notification to the outbox. It returns false if the outbox already has one for this sink and
// key.
func (tx *Tx) AddNotification(ctx context.Context, n svc.Notification) (bool, error) {
	added, err := tx.exec(ctx, "INSERT INTO notifications ("+notificationColumns+`) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)
		ON CONFLICT (sink, key) DO NOTHING`, n.ID, n.Sink, n.Key, n.DigestID, n.State, n.Tries, n.DueAt, n.SettledAt, n.Error, n.CreatedAt)
	if err != nil {
		return false, fmt.Errorf("add a notification: %w", err)
	}
	return added == 1, nil
}

// UpdateNotification writes the state of a notification.
func (tx *Tx) UpdateNotification(ctx context.Context, n svc.Notification) error {
	_, err := tx.exec(ctx, "UPDATE notifications SET digest_id = $1, state = $2, tries = $3, due_at = $4, settled_at = $5, error = $6 WHERE id = $7",
		n.DigestID, n.State, n.Tries, n.DueAt, n.SettledAt, n.Error, n.ID)
	if err != nil {
		return fmt.Errorf("write a notification: %w", err)
	}
	return nil
}

// DropNotification deletes a notification that was never sent, so that it can be added again if its entry opens again.
func (tx *Tx) DropNotification(ctx context.Context, id string) error {
	_, err := tx.exec(ctx, "DELETE FROM notifications WHERE id = $1", id)
	if err != nil {
		return fmt.Errorf("drop a notification: %w", err)
	}
	return nil
}

// DueNotifications returns the notifications that are due for a sink, in the order in which they are to be sent.
// Notifications that failed several times come last, so that a notification that the sink cannot process does not delay
// the others.
func (r Reader) DueNotifications(ctx context.Context, sink string, now svc.Time, limit int) ([]svc.Notification, error) {
	found, err := collect(ctx, r.q, scanNotification, "SELECT "+notificationColumns+` FROM notifications
		WHERE sink = $1 AND state = 'waiting' AND due_at <= $2 ORDER BY tries / 3, created_at, id LIMIT CAST($3 AS BIGINT)`, sink, now, limit)
	if err != nil {
		return nil, fmt.Errorf("list due notifications: %w", err)
	}
	return found, nil
}

// SentSince returns the notifications that a sink has accepted since a time. A digest counts as one.
func (r Reader) SentSince(ctx context.Context, sink string, since svc.Time) ([]svc.Notification, error) {
	found, err := collect(ctx, r.q, scanNotification, "SELECT "+notificationColumns+` FROM notifications
		WHERE sink = $1 AND settled_at IS NOT NULL AND settled_at > $2 AND state = 'sent' AND digest_id = '' ORDER BY settled_at, id`, sink, since)
	if err != nil {
		return nil, fmt.Errorf("list sent notifications: %w", err)
	}
	return found, nil
}

// Digested returns the notifications that a digest contains, oldest first.
func (r Reader) Digested(ctx context.Context, digestID string) ([]svc.Notification, error) {
	found, err := collect(ctx, r.q, scanNotification, "SELECT "+notificationColumns+` FROM notifications
		WHERE digest_id = $1 AND digest_id <> '' ORDER BY created_at, id`, digestID)
	if err != nil {
		return nil, fmt.Errorf("list the notifications of a digest: %w", err)
	}
	return found, nil
}

// ForgetNotifications deletes at most limit notifications that were created before a time, whatever their state.
func (tx *Tx) ForgetNotifications(ctx context.Context, before svc.Time, limit int) (int64, error) {
	n, err := tx.exec(ctx, `DELETE FROM notifications WHERE id IN (SELECT id FROM notifications
		WHERE created_at < $1 ORDER BY created_at LIMIT CAST($2 AS BIGINT))`, before, limit)
	if err != nil {
		return 0, fmt.Errorf("forget notifications: %w", err)
	}
	return n, nil
}
