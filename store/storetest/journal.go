package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/store"
)

func eventsAreGapless(t *testing.T, w *world) {
	for i := range 5 {
		w.write(func(tx *store.Tx) error {
			for k := range 250 { // more than one statement inserts
				tx.Emit(svc.TopicHostCreated, map[string]any{"n": i*250 + k})
			}
			return nil
		})
	}
	events := w.journal()
	for i, e := range events {
		if want := fmt.Sprintf(`{"n":%d}`, i); e.Seq != int64(i)+1 || string(e.Payload) != want || e.Topic != svc.TopicHostCreated {
			t.Fatalf("event %d is %d %s %s, want payload %s", i, e.Seq, e.Topic, e.Payload, want)
		}
	}
	head, purged, err := w.JournalEnds(w.ctx)
	if err != nil || head != 1250 || purged != 0 || len(events) != 1250 {
		t.Errorf("head %d, purged %d, %d events, %v; want 1250, 0, 1250", head, purged, len(events), err)
	}
}

// mark is the payload of the events in the tests that follow the journal.
type mark struct {
	Writer, Unit, Part int
}

// writeMarks runs units one after the other. Every fifth unit fails, and none of
// its events may be in the journal.
func writeMarks(ctx context.Context, s *store.Store, writer, units int) error {
	for u := range units {
		err := s.Write(ctx, func(tx *store.Tx) error {
			for part := range 1 + u%3 {
				tx.Emit(svc.TopicRunSignal, map[string]any{"Writer": writer, "Unit": u, "Part": part})
			}
			if u%5 == 4 {
				return errWanted
			}
			return nil
		})
		if (err != nil) != (u%5 == 4) {
			return fmt.Errorf("unit %d of writer %d: %w", u, writer, err)
		}
	}
	return nil
}

func marksOf(writers, units int) int {
	n := 0
	for u := range units {
		if u%5 != 4 {
			n += 1 + u%3
		}
	}
	return n * writers
}

// tail follows the journal as the event stream does, and checks each event when
// it arrives.
func tail(ctx context.Context, s *store.Store, total int) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond) // commits of another store do not close the channel Committed
	defer poll.Stop()
	last := int64(0)
	next := map[int]mark{}
	for {
		news := s.Committed()
		events, more, err := s.NewEvents(ctx, last, 37, 1<<20)
		if err != nil {
			return fmt.Errorf("after %d of %d events: %w", last, total, err)
		}
		for _, e := range events {
			if e.Seq != last+1 {
				return fmt.Errorf("seq %d follows %d", e.Seq, last)
			}
			last = e.Seq
			var got mark
			if err := json.Unmarshal(e.Payload, &got); err != nil {
				return err
			}
			if want := next[got.Writer]; got != (mark{got.Writer, want.Unit, want.Part}) {
				return fmt.Errorf("seq %d: writer %d is at %+v, want %+v", e.Seq, got.Writer, got, want)
			}
			next[got.Writer] = following(got)
		}
		if last == int64(total) {
			return nil
		}
		if more {
			continue
		}
		select {
		case <-news:
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("only %d of %d events came", last, total)
		}
	}
}

// following returns the mark that the same writer must journal next.
func following(m mark) mark {
	if m.Part < m.Unit%3 {
		return mark{m.Writer, m.Unit, m.Part + 1}
	}
	m = mark{m.Writer, m.Unit + 1, 0}
	if m.Unit%5 == 4 {
		m.Unit++
	}
	return m
}

func tailerSeesAll(t *testing.T, w *world) { tailWriters(t, []*store.Store{w.Store}, 16, 60) }

func tailWriters(t *testing.T, stores []*store.Store, writers, units int) {
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			if err := writeMarks(t.Context(), stores[i%len(stores)], i, units); err != nil {
				t.Error(err)
			}
		})
	}
	for _, s := range stores {
		wg.Go(func() {
			if err := tail(t.Context(), s, marksOf(writers, units)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func purgeRemovesPrefix(t *testing.T, w *world) {
	var at []svc.Time
	for range 6 {
		w.write(func(tx *store.Tx) error {
			tx.Emit(svc.TopicHostCreated, map[string]any{})
			at = append(at, tx.Now)
			return nil
		})
		waitFor(t, func() bool { return svc.TimeOf(time.Now()) > at[len(at)-1] })
	}
	check := func(cutoff svc.Time, removed, purged int64) {
		t.Helper()
		n, err := w.PurgeEvents(w.ctx, cutoff)
		if err != nil || n != removed {
			t.Errorf("the purge removed %d (%v), want %d", n, err, removed)
		}
		head, got, err := w.JournalEnds(w.ctx)
		if err != nil || head != 6 || got != purged {
			t.Errorf("head %d purged %d (%v), want 6 and %d", head, got, err, purged)
		}
		for i, e := range w.journal() {
			if e.Seq != purged+1+int64(i) {
				t.Errorf("event %d has seq %d after a purge up to %d", i, e.Seq, purged)
			}
		}
		list, err := w.Events(w.ctx, svc.EventFilter{}, svc.Page{Limit: 1})
		w.must(err)
		switch before := list.PurgedBefore; {
		case purged == 0 && before != nil, purged > 0 && before == nil:
			t.Errorf("events before %v are said to be removed, after a purge up to %d", before, purged)
		case purged > 0 && purged < 6 && *before != at[purged]:
			t.Errorf("events before %v are said to be removed, want those before the oldest, %v", *before, at[purged])
		case purged == 6 && *before != 0:
			t.Errorf("the oldest event is said to be of %v, want none", *before)
		}
	}
	check(at[0], 0, 0)
	check(at[2], 2, 2)
	check(at[1], 0, 2) // an older cutoff changes nothing
	check(at[5]+1, 4, 6)
	w.write(func(tx *store.Tx) error {
		tx.Emit(svc.TopicHostCreated, map[string]any{})
		return nil
	})
	if events := w.journal(); len(events) != 1 || events[0].Seq != 7 {
		t.Errorf("the first event after everything was purged is %v, want seq 7", events)
	}
}

func purgeBesideWriters(t *testing.T, w *world) {
	var writers, purger sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		writers.Go(func() {
			if err := writeMarks(w.ctx, w.Store, i, 50); err != nil {
				t.Error(err)
			}
		})
	}
	purger.Go(func() {
		for {
			if _, err := w.PurgeEvents(w.ctx, svc.TimeOf(time.Now())); err != nil {
				t.Errorf("purge: %v", err)
			}
			w.checkWhole()
			select {
			case <-done:
				return
			default:
			}
		}
	})
	writers.Wait()
	close(done)
	purger.Wait()
	if head, _, err := w.JournalEnds(w.ctx); err != nil || head != int64(marksOf(4, 50)) {
		t.Errorf("the head is %d (%v), want %d", head, err, marksOf(4, 50))
	}
}

// checkWhole fails the test if an event between the journal's ends is missing.
func (w *world) checkWhole() {
	w.must(w.View(w.ctx, func(r store.Reader) error {
		head, purged, err := r.JournalEnds(w.ctx)
		if err != nil {
			return err
		}
		events, err := r.EventsAfter(w.ctx, 0, 1<<20)
		if int64(len(events)) != head-purged {
			w.t.Errorf("%d events between %d and %d", len(events), purged, head)
		}
		for i, e := range events {
			if e.Seq != purged+1+int64(i) {
				w.t.Errorf("event %d behind %d has seq %d", i, purged, e.Seq)
			}
		}
		return err
	}))
}

// waitFor polls until a condition holds.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.After(waitLimit)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the condition never held")
		}
	}
}
