package store

import (
	"context"
	"fmt"

	"svc"
)

const messageColumns = `id, run_id, number, attempt, text, deliver_when, answer, state, reason, asked, nudged, sent_by, created_at, updated_at, version`

func scanMessage(row scanner) (m svc.Message, err error) {
	return m, row.Scan(&m.ID, &m.RunID, &m.Number, &m.Attempt, &m.Text, &m.When, &m.Answer, &m.State, &m.Reason, &m.Asked, &m.Nudged, &m.By,
		&m.CreatedAt, &m.UpdatedAt, &m.Version)
}

// messageOpen is the condition of the index of open messages.
const messageOpen = "messages.state IN ('queued', 'pasted')"

// Messages returns a page of the messages of a run, in the order in which they were sent.
func (r Reader) Messages(ctx context.Context, runID string, page svc.Page) (svc.List[svc.Message], error) {
	var w where
	w.add("run_id = ?", runID)
	if page.Cursor != "" {
		var number int64
		if err := readCursor("messages", page.Cursor, &number); err != nil {
			return svc.List[svc.Message]{}, err
		}
		w.add("number > ?", number)
	}
	found, cut, err := collectUpTo(ctx, r.q, page.Bytes, scanMessage, fmt.Sprintf("SELECT %s FROM messages%s ORDER BY number LIMIT %d",
		messageColumns, w.sql(), page.Limit+1), w.args...)
	if err != nil {
		return svc.List[svc.Message]{}, fmt.Errorf("list messages: %w", err)
	}
	return paged(found, cut, page.Limit, func(m svc.Message) string { return cursor("messages", m.Number) }), nil
}

// NextMessages returns the oldest open message of each run, for at most limit runs, ordered by run id. It begins after
// the run id after.
func (r Reader) NextMessages(ctx context.Context, after string, limit int) ([]svc.Message, error) {
	found, err := collect(ctx, r.q, scanMessage, "SELECT "+messageColumns+" FROM messages WHERE "+messageOpen+` AND run_id > $1 AND NOT EXISTS (
		SELECT 1 FROM messages AS older WHERE older.run_id = messages.run_id AND older.number < messages.number AND older.state IN ('queued', 'pasted'))
		ORDER BY run_id, number LIMIT CAST($2 AS BIGINT)`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list the next messages: %w", err)
	}
	return found, nil
}

// LastMessage returns the number of the newest message of a run, 0 if it has none, and how many messages are open.
func (tx *Tx) LastMessage(ctx context.Context, runID string) (number int64, open int, err error) {
	err = tx.q.QueryRowContext(ctx, "SELECT coalesce(max(number), 0), (SELECT count(*) FROM messages WHERE run_id = $1 AND "+messageOpen+") FROM messages WHERE run_id = $1", runID).
		Scan(&number, &open)
	if err != nil {
		return 0, 0, fmt.Errorf("count messages: %w", err)
	}
	return number, open, nil
}

// LockMessage reads and locks a message that this unit changes. The unit must lock its run first.
func (tx *Tx) LockMessage(ctx context.Context, id string) (svc.Message, error) {
	return readOne(ctx, tx.q, scanMessage, "message", id, "SELECT "+messageColumns+" FROM messages WHERE id = $1"+tx.d.forUpdate, id)
}

// SubmittedMessage returns the oldest message of an attempt with this digest that the host was asked to paste and that
// the agent has not acknowledged. If there is none, the message has an empty state.
func (tx *Tx) SubmittedMessage(ctx context.Context, runID string, attempt int, digest string) (m svc.Message, err error) {
	found, err := collect(ctx, tx.q, scanMessage, "SELECT "+messageColumns+` FROM messages WHERE run_id = $1 AND attempt = $2 AND digest = $3 AND asked
		AND state IN ('queued', 'pasted', 'unconfirmed') ORDER BY number LIMIT 1`+tx.d.forUpdate, runID, attempt, digest)
	if err != nil {
		return m, fmt.Errorf("find the message that was submitted: %w", err)
	}
	if len(found) > 0 {
		m = found[0]
	}
	return m, nil
}

// InsertMessage adds a message.
func (tx *Tx) InsertMessage(ctx context.Context, m svc.Message) error {
	_, err := tx.exec(ctx, "INSERT INTO messages ("+messageColumns+", digest) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16)",
		m.ID, m.RunID, m.Number, m.Attempt, m.Text, m.When, m.Answer, m.State, m.Reason, m.Asked, m.Nudged, m.By, m.CreatedAt, m.UpdatedAt, m.Version,
		svc.PromptDigest(m.Text))
	if err != nil {
		return fmt.Errorf("insert message: %w", err)
	}
	return nil
}

// UpdateMessage writes the state of a message that was locked in this unit.
func (tx *Tx) UpdateMessage(ctx context.Context, m *svc.Message) error {
	m.UpdatedAt = tx.Now
	n, err := tx.exec(ctx, "UPDATE messages SET state = $1, reason = $2, asked = $3, nudged = $4, updated_at = $5, version = version + 1 WHERE id = $6 AND version = $7",
		m.State, m.Reason, m.Asked, m.Nudged, m.UpdatedAt, m.ID, m.Version)
	return changed("message", m.ID, &m.Version, n, err)
}
