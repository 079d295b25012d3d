package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"svc"
)

// encoded is an event of a unit as it is stored, without its seq.
type encoded struct {
	topic, payload string
	subjects       svc.Subjects
}

// encodeDrafts encodes the events of a unit when the unit ends, so that an event
// that cannot be encoded fails only that unit. It adds the name of the person
// whose request caused the events, if by is not empty.
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
		out[i] = encoded{string(d.Topic), string(payload), svc.SubjectsOf(d.Payload)}
	}
	return out, nil
}

// finish numbers the events of a group, writes them and commits. The journal's
// row stays locked from the numbering to the commit, so that no other writer can
// commit a lower seq later. sent is true if the COMMIT may have been sent: after
// an error the outcome is then unknown.
func (w *writer) finish(ctx context.Context, units []*unit) (sent bool, err error) {
	if w.dialect.pipelined {
		return true, w.finishPipelined(ctx, units)
	}
	if err := w.journal(ctx, units); err != nil {
		return false, err
	}
	_, err = w.q.ExecContext(ctx, "COMMIT")
	return true, err
}

// finishPipelined is finish in one round trip, so that a process that freezes cannot
// keep the journal's row locked. It also sends the changes of a joined group, before
// the numbering, so that the row is not locked while they are made. The statement
// that numbers the events also checks the fence: if another orchestrator has raised
// the epoch, head becomes NULL, which its NOT NULL constraint refuses. An
// orchestrator that takes over waits for this transaction.
func (w *writer) finishPipelined(ctx context.Context, units []*unit) error {
	var topics, payloads []string
	var times []int64
	subjects := make([][]*string, len(subjectColumns))
	for _, u := range units {
		for _, e := range u.events {
			topics, payloads, times = append(topics, e.topic), append(payloads, e.payload), append(times, int64(u.at))
			for i, f := range e.subjects.Fields() {
				if *f.ID == "" {
					subjects[i] = append(subjects[i], nil)
				} else {
					subjects[i] = append(subjects[i], f.ID)
				}
			}
		}
	}
	args := []any{w.lease.number(), len(topics), topics, payloads, times}
	for _, ids := range subjects {
		args = append(args, ids)
	}
	list := append(w.changes.take(), w.locked.deleteUnused()...)
	list = append(list, w.committing()...)
	err := w.send(ctx, append(list,
		statement{rows: int64(len(topics)), sql: numberAndInsert, args: args},
		statement{sql: "COMMIT", rows: anyRows})...)
	var refused *pgconn.PgError
	if w.lease != nil && errors.As(err, &refused) && refused.Code == "23502" && refused.TableName == "journal" {
		return w.lease.lose()
	}
	return err
}

// committing returns the statements that record this group in the table commits:
// see settle. The first group of a writer also deletes writers that have not
// committed for a week.
func (w *writer) committing() []statement {
	now := w.now()
	list := []statement{{rows: 1, args: []any{w.id, w.group, now},
		sql: "INSERT INTO commits (writer, latest, at) VALUES ($1, $2, $3) ON CONFLICT (writer) DO UPDATE SET latest = $2, at = $3"}}
	if w.group == 1 {
		list = append(list, statement{rows: anyRows, args: []any{now.Add(-7 * 24 * time.Hour)},
			sql: "DELETE FROM commits WHERE writer IN (SELECT writer FROM commits WHERE at < $1 FOR UPDATE SKIP LOCKED)"})
	}
	return list
}

// numberAndInsert numbers and inserts events. $1 is the epoch, 0 without a lease; $2 the number of events; then follow
// lists of topics, payloads and times, and one list for each subject column.
var numberAndInsert = func() string {
	names, lists := "", ""
	for i, c := range subjectColumns {
		names += ", " + c
		lists += fmt.Sprintf(", CAST($%d AS TEXT[])", 6+i)
	}
	return `WITH numbered AS (UPDATE journal SET head = CASE WHEN CAST($1 AS BIGINT) = 0 OR epoch = $1 THEN head + $2 END, commits = commits + 1
		WHERE id = 1 RETURNING head)
		INSERT INTO events (seq, topic, payload, created_at` + names + `) SELECT head - $2 + nth, topic, payload, at` + names + `
		FROM numbered, unnest(CAST($3 AS TEXT[]), CAST($4 AS TEXT[]), CAST($5 AS BIGINT[])` + lists + `)
		WITH ORDINALITY AS e (topic, payload, at` + names + `, nth)`
}()

// journal numbers and writes the events of a group on SQLite, where a statement
// costs no round trip. A group without events does not write to the journal,
// unless it must prove that the database accepts writes.
func (w *writer) journal(ctx context.Context, units []*unit) error {
	n := 0
	for _, u := range units {
		n += len(u.events)
	}
	if n == 0 && !w.proving {
		return nil
	}
	var head int64
	err := w.q.QueryRowContext(ctx, "UPDATE journal SET head = head + $1, commits = commits + 1 WHERE id = 1 RETURNING head", n).Scan(&head)
	if err != nil {
		return fmt.Errorf("number the events: %w", err)
	}
	seq := head - int64(n)
	w.numbered = make([]svc.Event, 0, n)
	args := make([]any, 0, eventWidth*min(n, rowsPerInsert))
	for _, u := range units {
		for _, e := range u.events {
			seq++
			w.numbered = append(w.numbered, svc.Event{Seq: seq, Topic: svc.Topic(e.topic), Payload: json.RawMessage(e.payload), CreatedAt: u.at})
			args = append(append(args, seq, e.topic, e.payload, u.at), subjectArgs(e.subjects)...)
			if len(args) == eventWidth*rowsPerInsert {
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
	text := insertedEvents.rows(len(args) / eventWidth)
	if _, err := w.q.ExecContext(ctx, text, args...); err != nil {
		return fmt.Errorf("journal events: %w", err)
	}
	return nil
}

const eventColumns = "seq, topic, payload, created_at"

var (
	insertedEvents = newInsert("events", eventColumns+", "+strings.Join(subjectColumns, ", "))
	eventWidth     = len(insertedEvents.columns)
)

// JournalEnds returns the seq of the newest event and the newest seq that
// retention removed. All events in between are in the journal.
func (r Reader) JournalEnds(ctx context.Context) (head, purged int64, err error) {
	err = r.q.QueryRowContext(ctx, "SELECT head, purged FROM journal WHERE id = 1").Scan(&head, &purged)
	if err != nil {
		return 0, 0, fmt.Errorf("read the journal's ends: %w", err)
	}
	return head, purged, nil
}

// EventsAfter returns at most limit events after seq, oldest first.
func (r Reader) EventsAfter(ctx context.Context, seq int64, limit int) ([]svc.Event, error) {
	return collect(ctx, r.q, scanEvent,
		"SELECT "+eventColumns+" FROM events WHERE seq > $1 ORDER BY seq LIMIT CAST($2 AS BIGINT)", seq, limit)
}

// EventsPage is EventsAfter with a limit of bytes: it ends after the event with
// which the payloads exceed it. more reports whether there may be other events.
func (r Reader) EventsPage(ctx context.Context, seq int64, limit, bytes int) (events []svc.Event, more bool, err error) {
	events, cut, err := collectUpTo(ctx, r.q, bytes, scanEvent,
		"SELECT "+eventColumns+" FROM events WHERE seq > $1 ORDER BY seq LIMIT CAST($2 AS BIGINT)", seq, limit)
	return events, cut || len(events) == limit, err
}

// NewEvents is EventsPage for readers that follow the journal. Most often the
// events of this writer's newest group are all that is new: they are returned from memory.
func (s *Store) NewEvents(ctx context.Context, seq int64, limit, bytes int) (events []svc.Event, more bool, err error) {
	if newest := s.newest.Load(); newest != nil {
		if at := seq + 1 - (*newest)[0].Seq; at >= 0 && at < int64(len(*newest)) && len(*newest) <= limit && sizeOf(*newest) <= bytes {
			return (*newest)[at:], false, nil
		}
	}
	return s.EventsPage(ctx, seq, limit, bytes)
}

// sizeOf returns the size of the events' payloads in bytes.
func sizeOf(events []svc.Event) (n int) {
	for _, e := range events {
		n += len(e.Payload)
	}
	return n
}

// Events returns a page of the journal, newest first.
func (r Reader) Events(ctx context.Context, f svc.EventFilter, page svc.Page) (svc.EventList, error) {
	before := int64(1) << 62
	if page.Cursor != "" {
		if err := readCursor("events", page.Cursor, &before); err != nil {
			return svc.EventList{}, err
		}
	}
	return oneState(ctx, r, func(r Reader) (svc.EventList, error) {
		found, cut, err := r.eventsBefore(ctx, f, span{before: before, newestFirst: true, limit: page.Limit + 1, bytes: page.Bytes})
		if err != nil {
			return svc.EventList{}, fmt.Errorf("list events: %w", err)
		}
		purged, err := r.purgedBefore(ctx)
		list := paged(found, cut, page.Limit, func(e svc.Event) string { return cursor("events", e.Seq) })
		return svc.EventList{Items: list.Items, NextCursor: list.NextCursor, PurgedBefore: purged}, err
	})
}

// purgedBefore returns the time of the oldest event, if older ones were removed:
// the events of older records are incomplete. Nil: nothing was removed; zero:
// all events were removed.
func (r Reader) purgedBefore(ctx context.Context) (*svc.Time, error) {
	_, purged, err := r.JournalEnds(ctx)
	if err != nil || purged == 0 {
		return nil, err
	}
	var at svc.Time
	err = r.q.QueryRowContext(ctx, "SELECT created_at FROM events WHERE seq > $1 ORDER BY seq LIMIT 1", purged).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return &at, err
}

// eventsBefore returns the events of a span that pass the filter, newest first.
func (r Reader) eventsBefore(ctx context.Context, f svc.EventFilter, s span) (found []svc.Event, cut bool, err error) {
	if f.Subjects != (svc.Subjects{}) {
		return r.eventsOf(ctx, f, s)
	}
	topics := f.Topics.Expand()
	if topics == nil {
		return collectUpTo(ctx, r.q, s.bytes, scanEvent,
			"SELECT "+eventColumns+" FROM events WHERE seq < $1 ORDER BY seq DESC LIMIT CAST($2 AS BIGINT)", s.before, s.limit)
	}
	// One query for each topic, merged: each reads a short range of the index by
	// topic, however rare or common the topic is.
	return merged(topics, s.limit, s.bytes, func(e svc.Event) int { return len(e.Payload) }, func(t svc.Topic, last *svc.Event) ([]svc.Event, bool, error) {
		var after int64
		if last != nil {
			after = last.Seq
		}
		return collectUpTo(ctx, r.q, s.bytes, scanEvent, "SELECT "+eventColumns+
			" FROM events WHERE topic = $1 AND seq < $2 AND seq > $3 ORDER BY seq DESC LIMIT CAST($4 AS BIGINT)", string(t), s.before, after, s.limit)
	}, func(a, b svc.Event) bool { return a.Seq > b.Seq })
}

func scanEvent(row scanner) (svc.Event, error) {
	var e svc.Event
	var payload string
	err := row.Scan(&e.Seq, (*string)(&e.Topic), &payload, (*int64)(&e.CreatedAt)) // scanning into named types is slower
	e.Payload = json.RawMessage(payload)
	return e, err
}

// purgeStep is the most events that one unit removes, so that other units are not
// delayed.
const purgeStep = 5000

// PurgeEvents removes the events before the first one that is not older than
// cutoff, and records the seq up to which it removed them. It returns how many
// it removed.
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
