package store

import (
	"context"
	"fmt"
	"strings"

	"svc"
)

// subjectColumns are the columns of events with the ids that events are found by.
var subjectColumns = func() (names []string) {
	for _, f := range new(svc.Subjects).Fields() {
		names = append(names, f.Name)
	}
	return names
}()

// subjectArgs returns the values of those columns.
func subjectArgs(s svc.Subjects) []any {
	args := make([]any, 0, len(subjectColumns))
	for _, f := range s.Fields() {
		if *f.ID == "" {
			args = append(args, nil)
		} else {
			args = append(args, *f.ID)
		}
	}
	return args
}

// inPayload returns an expression for the id of that name in an event's payload:
// the value that the column of that name has once it is filled.
func (d *dialect) inPayload(name string) string {
	id := fmt.Sprintf(d.payloadField, name)
	return "CASE WHEN length(" + id + ") = 36 THEN " + id + " END"
}

// span is a part of the journal, and the order in which its events are read.
type span struct {
	after, before int64 // exclusive
	newestFirst   bool
	limit         int
	bytes         int // svc.Page.Bytes
}

// eventsOf returns the events of a span that pass the filter. Below the seq
// journal.subjects_from the subject columns are not filled yet. There it compares
// the payloads, until FillSubjects has filled the columns.
func (r Reader) eventsOf(ctx context.Context, f svc.EventFilter, s span) (found []svc.Event, cut bool, err error) {
	var filled int64
	if err := r.q.QueryRowContext(ctx, "SELECT subjects_from FROM journal WHERE id = 1").Scan(&filled); err != nil {
		return nil, false, fmt.Errorf("read which events can be found by subject: %w", err)
	}
	low, high := s, s
	low.before, high.after = min(s.before, filled), max(s.after, filled-1)
	parts := []struct {
		span
		column func(string) string
	}{{low, r.d.inPayload}, {high, func(name string) string { return name }}}
	if s.newestFirst {
		parts[0], parts[1] = parts[1], parts[0]
	}
	for _, p := range parts {
		if p.limit = s.limit - len(found); cut || p.limit <= 0 || p.after+1 >= p.before {
			continue
		}
		var part []svc.Event
		if part, cut, err = r.eventsIn(ctx, f, p.span, p.column); err != nil {
			return nil, false, err
		}
		found = append(found, part...)
	}
	return found, cut, nil
}

// eventsIn reads a span by the index of the subject that the fewest events have:
// Fields returns it first. To the columns of the other subjects it appends an
// empty text, which prevents the use of their indexes.
func (r Reader) eventsIn(ctx context.Context, f svc.EventFilter, s span, column func(string) string) (found []svc.Event, cut bool, err error) {
	var w where
	narrowest := true
	for _, id := range f.Fields() {
		if *id.ID == "" {
			continue
		}
		c := column(id.Name)
		if !narrowest {
			c += " || ''"
		}
		w.add(c+" = ?", *id.ID)
		narrowest = false
	}
	if topics := f.Topics.Expand(); len(topics) > 0 {
		addAmong(&w, "topic || ''", topics)
	} else if topics != nil {
		return nil, false, nil
	}
	w.add("seq > ?", s.after)
	w.add("seq < ?", s.before)
	order := "seq"
	if s.newestFirst {
		order = "seq DESC"
	}
	return collectUpTo(ctx, r.q, s.bytes, scanEvent, fmt.Sprintf("SELECT %s FROM events%s ORDER BY %s LIMIT %d", eventColumns, w.sql(), order, s.limit), w.args...)
}

// EventsOfAfter returns at most limit events after seq that pass the filter, oldest first, and the ends of the journal
// from the same state. Like EventsPage it ends early after a number of bytes. If there may be more events, head is the
// seq of the last event that it returns.
func (r Reader) EventsOfAfter(ctx context.Context, f svc.EventFilter, seq int64, limit, bytes int) (events []svc.Event, head, purged int64, err error) {
	events, err = oneState(ctx, r, func(r Reader) (events []svc.Event, err error) {
		if head, purged, err = r.JournalEnds(ctx); err != nil {
			return nil, err
		}
		events, cut, err := r.eventsOf(ctx, f, span{after: seq, before: head + 1, limit: limit, bytes: bytes})
		if cut || len(events) == limit {
			head = events[len(events)-1].Seq
		}
		return events, err
	})
	return events, head, purged, err
}

// fillStep is the most events whose columns one unit fills, so that other units
// are not delayed.
const fillStep = 500

// FillSubjects fills the subject columns of one step of events that were written
// before these columns existed. It returns false if none are left.
func (s *Store) FillSubjects(ctx context.Context) (more bool, err error) {
	return s.fillSubjects(ctx, fillStep)
}

func (s *Store) fillSubjects(ctx context.Context, step int64) (more bool, err error) {
	set := make([]string, len(subjectColumns))
	for i, c := range subjectColumns {
		set[i] = c + " = " + s.dialect.inPayload(c)
	}
	err = s.Write(ctx, func(tx *Tx) error {
		var from, purged int64
		if err := tx.q.QueryRowContext(ctx, "SELECT subjects_from, purged FROM journal WHERE id = 1").Scan(&from, &purged); err != nil {
			return fmt.Errorf("read which events can be found by subject: %w", err)
		}
		if more = from > purged+1; !more {
			return nil
		}
		next := max(from-step, purged+1)
		if _, err := tx.exec(ctx, "UPDATE events SET "+strings.Join(set, ", ")+" WHERE seq >= $1 AND seq < $2", next, from); err != nil {
			return fmt.Errorf("fill the subjects of events: %w", err)
		}
		_, err := tx.exec(ctx, "UPDATE journal SET subjects_from = $1 WHERE id = 1", next)
		return err
	})
	return more, err
}
