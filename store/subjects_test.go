package store

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"svc"
)

// journaled writes events about random subjects and returns them, oldest first.
func journaled(t *testing.T, s *Store, ids map[string][]string, n int) []svc.Event {
	t.Helper()
	topics := []svc.Topic{svc.TopicRunCreated, svc.TopicRunFinished, svc.TopicHostUpdated, svc.TopicItemUpdated}
	for i := 0; i < n; i += 50 {
		err := s.Write(t.Context(), func(tx *Tx) error {
			for range min(50, n-i) {
				payload := map[string]any{"text": ids["run_id"][0]} // an id in another field must not match
				for name, some := range ids {
					if id := rand.N(len(some) + 1); id < len(some) {
						payload[name] = some[id]
					}
				}
				tx.Emit(topics[rand.N(len(topics))], payload)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	events, err := s.EventsAfter(t.Context(), 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// wantEventsBySubject compares lists and resumed streams, with random filters,
// with the events that match according to their payloads.
func wantEventsBySubject(t *testing.T, s *Store, ids map[string][]string, events []svc.Event) {
	t.Helper()
	payloads := make([]map[string]any, len(events))
	for i, e := range events {
		if err := json.Unmarshal(e.Payload, &payloads[i]); err != nil {
			t.Fatal(err)
		}
	}
	for range 25 {
		f := svc.EventFilter{}
		for _, field := range f.Fields() {
			if some := ids[field.Name]; rand.N(3) == 0 {
				*field.ID = append([]string{svc.NewID()}, some...)[rand.N(len(some)+1)]
			}
		}
		if rand.N(2) == 0 {
			f.Topics = svc.Globs{"run.*"}
		}
		var want []int64
		for i, e := range events {
			if naive(f, e.Topic, payloads[i]) {
				want = append(want, e.Seq)
			}
		}
		after := int64(rand.N(len(events)))
		later, head, _, err := s.EventsOfAfter(t.Context(), f, after, 1<<20, 0)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := slices.BinarySearch(want, after+1)
		if got := seqs(later); !slices.Equal(got, want[first:]) || head != events[len(events)-1].Seq {
			t.Fatalf("%+v after %d: got %v up to %d, want %v", f, after, got, head, want[first:])
		}
		slices.Reverse(want)
		var got []int64
		for page := (svc.Page{Limit: 7, Bytes: rand.N(2) * 300}); ; {
			list, err := s.Events(t.Context(), f, page)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, seqs(list.Items)...)
			if list.NextCursor == nil {
				break
			}
			page.Cursor = *list.NextCursor
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: got %v, want %v", f, got, want)
		}
	}
}

func naive(f svc.EventFilter, topic svc.Topic, payload map[string]any) bool {
	for _, field := range f.Fields() {
		if *field.ID != "" && payload[field.Name] != *field.ID {
			return false
		}
	}
	return f.Topics.Match(topic)
}

func seqs(events []svc.Event) (out []int64) {
	for _, e := range events {
		out = append(out, e.Seq)
	}
	return out
}

// Queries by subject return the same events before, while and after the columns
// of older events are filled. After that each column has the id of the payload.
func TestEventsAreFoundBySubjectAtAnyAge(t *testing.T) {
	t.Parallel()
	const step = 100 // small, so that three steps are enough: the lists are read in pages of only seven events
	onBoth(t, Options{}, func(t *testing.T, s *Store) {
		ids := map[string][]string{}
		for i, name := range subjectColumns {
			for range 1 + i {
				ids[name] = append(ids[name], svc.NewID())
			}
		}
		old := journaled(t, s, ids, 2*step+50)
		wantEventsBySubject(t, s, ids, old)

		// As directly after the migration: no column is filled.
		err := s.Write(t.Context(), func(tx *Tx) error {
			if _, err := tx.exec(t.Context(), "UPDATE journal SET subjects_from = head + 1"); err != nil {
				return err
			}
			_, err := tx.exec(t.Context(), "UPDATE events SET project_id = NULL, task_id = NULL, run_id = NULL, host_id = NULL, workspace_id = NULL")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		all := journaled(t, s, ids, 50)
		steps := 0
		for more := true; more; steps++ {
			wantEventsBySubject(t, s, ids, all)
			if more, err = s.fillSubjects(t.Context(), step); err != nil {
				t.Fatal(err)
			}
		}
		if steps != 4 {
			t.Errorf("it took %d steps, want three and one that finds nothing", steps)
		}
		for _, name := range subjectColumns {
			var wrong int
			query := fmt.Sprintf("SELECT count(*) FROM events WHERE coalesce(%s, '') <> coalesce(%s, '')", name, s.dialect.inPayload(name))
			if err := s.read.QueryRowContext(t.Context(), query).Scan(&wrong); err != nil || wrong > 0 {
				t.Errorf("%d events have another %s than their payload, %v", wrong, name, err)
			}
		}
		wantEventsBySubject(t, s, ids, all)
	})
}
