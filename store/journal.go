package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"svc"
)

// eventsPerInsert keeps a statement well below the engines' parameter limits.
const eventsPerInsert = 100

// encoded is an event of a unit as it is stored, but for its number.
type encoded struct{ topic, payload string }

// encodeDrafts is done with the unit, not with its group: what cannot be
// encoded fails that unit alone. Here, and nowhere else, an event learns the
// name of the person whose request caused it; empty: none did.
func encodeDrafts(drafts []svc.Draft, by string) ([]encoded, error) {
	out := make([]encoded, len(drafts))
	for i, d := range drafts {
		if by != "" {
			d.Payload["by"] = by
		}
		payload, err := json.Marshal(d.Payload)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", d.Topic, err)
		}
		out[i] = encoded{string(d.Topic), string(payload)}
	}
	return out, nil
}

// journal numbers the events of a group and writes them. The row that holds
// the head is locked from here to the commit, so no other writer can commit a
// lower number later. The same statement is the fence: it finds no row when
// another orchestrator has taken over, and one that takes over waits for it.
func (w *writer) journal(ctx context.Context, units []*unit) error {
	n := 0
	for _, u := range units {
		n += len(u.events)
	}
	var head int64
	row := w.q.QueryRowContext(ctx, `UPDATE journal SET head = head + $1, commits = commits + 1
		WHERE id = 1 AND (CAST($2 AS BIGINT) = 0 OR epoch = $2) RETURNING head, commits`, n, w.lease.number())
	switch err := row.Scan(&head, &w.commits); {
	case errors.Is(err, sql.ErrNoRows):
		return w.lease.lose()
	case err != nil:
		return fmt.Errorf("number the events: %w", err)
	}
	seq := head - int64(n)
	args := make([]any, 0, 4*min(n, eventsPerInsert))
	for _, u := range units {
		for _, e := range u.events {
			seq++
			args = append(args, seq, e.topic, e.payload, u.at)
			if len(args) == 4*eventsPerInsert {
				if err := w.insertEvents(ctx, args); err != nil {
					return err
				}
				args = args[:0]
			}
		}
	}
	return w.insertEvents(ctx, args)
}

func (w *writer) insertEvents(ctx context.Context, args []any) error {
	if len(args) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("INSERT INTO events (seq, topic, payload, created_at) VALUES ")
	for i := 1; i <= len(args); i += 4 {
		if i > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "($%d,$%d,$%d,$%d)", i, i+1, i+2, i+3)
	}
	if _, err := w.q.ExecContext(ctx, b.String(), args...); err != nil {
		return fmt.Errorf("journal events: %w", err)
	}
	return nil
}

const eventColumns = "seq, topic, payload, created_at"

// JournalEnds is the seq of the newest event and the newest seq that retention
// removed. Everything in between is there.
func (r Reader) JournalEnds(ctx context.Context) (head, purged int64, err error) {
	err = r.q.QueryRowContext(ctx, "SELECT head, purged FROM journal WHERE id = 1").Scan(&head, &purged)
	if err != nil {
		return 0, 0, fmt.Errorf("read the journal's ends: %w", err)
	}
	return head, purged, nil
}

// EventsAfter is up to limit events behind seq, oldest first.
func (r Reader) EventsAfter(ctx context.Context, seq int64, limit int) ([]svc.Event, error) {
	return collect(ctx, r.q, scanEvent,
		"SELECT "+eventColumns+" FROM events WHERE seq > $1 ORDER BY seq LIMIT $2", seq, limit)
}

// Events is a page of the journal, newest first.
func (r Reader) Events(ctx context.Context, globs svc.Globs, page svc.Page) (svc.List[svc.Event], error) {
	before := int64(1) << 62
	if page.Cursor != "" {
		if err := readCursor("events", page.Cursor, &before); err != nil {
			return svc.List[svc.Event]{}, err
		}
	}
	topics := globs.Expand()
	if len(topics) < 2 {
		r.view = nil // one query is one state
	}
	found, err := oneState(ctx, r, func(r Reader) ([]svc.Event, error) { return r.eventsBefore(ctx, topics, before, page.Limit+1) })
	if err != nil {
		return svc.List[svc.Event]{}, fmt.Errorf("list events: %w", err)
	}
	return paged(found, page.Limit, func(e svc.Event) string { return cursor("events", e.Seq) }), nil
}

// eventsBefore is up to limit events of the topics, newest first; nil: of all.
func (r Reader) eventsBefore(ctx context.Context, topics []svc.Topic, before int64, limit int) ([]svc.Event, error) {
	if topics == nil {
		return collect(ctx, r.q, scanEvent,
			"SELECT "+eventColumns+" FROM events WHERE seq < $1 ORDER BY seq DESC LIMIT $2", before, limit)
	}
	// A query per topic, merged: each is a short walk of its index, however
	// rare or common the topic is.
	return merged(topics, limit, func(t svc.Topic, last *svc.Event) ([]svc.Event, error) {
		var after int64
		if last != nil {
			after = last.Seq
		}
		return collect(ctx, r.q, scanEvent, "SELECT "+eventColumns+
			" FROM events WHERE topic = $1 AND seq < $2 AND seq > $3 ORDER BY seq DESC LIMIT $4", string(t), before, after, limit)
	}, func(a, b svc.Event) bool { return a.Seq > b.Seq })
}

func scanEvent(row scanner) (svc.Event, error) {
	var e svc.Event
	var payload string
	err := row.Scan(&e.Seq, &e.Topic, &payload, &e.CreatedAt)
	e.Payload = json.RawMessage(payload)
	return e, err
}

// purgeStep bounds the events that one unit removes: others write in between.
const purgeStep = 5000

// PurgeEvents removes the events before the first one that is not older than
// cutoff, and notes how far it went. It returns how many went.
func (s *Store) PurgeEvents(ctx context.Context, cutoff svc.Time) (int64, error) {
	head, last, err := s.JournalEnds(ctx)
	if err != nil {
		return 0, err
	}
	var keep *int64
	row := s.q.QueryRowContext(ctx, "SELECT min(seq) FROM events WHERE created_at >= $1", cutoff)
	if err := row.Scan(&keep); err != nil {
		return 0, fmt.Errorf("find the oldest event to keep: %w", err)
	}
	until := head
	if keep != nil {
		until = *keep - 1
	}
	var removed int64
	for last < until {
		upTo := min(last+purgeStep, until)
		err := s.Write(ctx, func(tx *Tx) error {
			n, err := tx.exec(ctx, "DELETE FROM events WHERE seq <= $1", upTo)
			if err != nil {
				return fmt.Errorf("purge events: %w", err)
			}
			removed += n
			_, err = tx.exec(ctx, "UPDATE journal SET purged = $1 WHERE id = 1 AND purged < $1", upTo)
			return err
		})
		if err != nil {
			return removed, err
		}
		last = upTo
	}
	return removed, nil
}
