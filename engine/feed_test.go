package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/internal/clocktest"
	"svc/store"
)

// writeEvents journals events from several concurrent writers, each that many.
func (s *site) writeEvents(writers, each int) {
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				err := s.Store.Write(s.ctx, func(tx *store.Tx) error {
					tx.Emit(svc.TopicHostUpdated, map[string]any{})
					tx.Emit(svc.TopicProjectUpdated, map[string]any{})
					return nil
				})
				if err != nil {
					s.t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// follow reads until the seq last and checks that every seq after from comes exactly once.
func (r *reader) follow(from, last int64) error {
	for from < last {
		messages, err := r.next(r.s.ctx)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.id != from+1 {
				return fmt.Errorf("seq %d follows %d", m.id, from)
			}
			from = m.id
		}
	}
	return nil
}

func TestStreamHandsOverFromReplayToLiveWithoutGapOrDouble(t *testing.T) {
	bubble(t, func(s *site) {
		const writers, each = 8, 60
		total := int64(2 * writers * each)
		s.writeEvents(1, 20)
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				from := int64(i) * 3
				if err := s.subscribe(&from).follow(from, 40+total); err != nil {
					t.Errorf("reader %d: %v", i, err)
				}
			})
		}
		wg.Go(func() { s.writeEvents(writers, each) })
		wg.Wait()
	})
}

func TestStreamIsResumedByCursorAnywhere(t *testing.T) {
	bubble(t, func(s *site) {
		const total = 600
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				at := int64(0)
				for at < total {
					r := s.subscribe(&at)
					stop := at + 1 + rand.Int64N(80)
					for at < min(stop, total) { // then the connection is cut
						messages, err := r.next(s.ctx)
						if err != nil {
							t.Error(err)
							return
						}
						for _, m := range messages {
							if m.id != at+1 {
								t.Errorf("seq %d follows %d", m.id, at)
								return
							}
							if at = m.id; at == stop {
								break
							}
						}
					}
				}
			})
		}
		wg.Go(func() { s.writeEvents(3, total/6) })
		wg.Wait()
	})
}

func TestStreamWithoutCursorBeginsNow(t *testing.T) {
	bubble(t, func(s *site) {
		s.writeEvents(1, 5)
		r := s.subscribe(nil)
		s.writeEvents(1, 1)
		if err := r.follow(10, 12); err != nil {
			t.Error(err)
		}
	})
}

func TestStreamIsFilteredByTopic(t *testing.T) {
	bubble(t, func(s *site) {
		some, none := s.subscribe(ptr(int64(0)), "project.*"), s.subscribe(ptr(int64(0)), "run.created")
		s.writeEvents(1, 3)
		var ids []int64
		for len(ids) < 3 {
			messages, err := some.next(s.ctx)
			s.no(err)
			for _, m := range messages {
				ids = append(ids, m.id)
				if m.topic != "project.updated" {
					t.Errorf("%s came through", m.topic)
				}
			}
		}
		if fmt.Sprint(ids) != "[2 4 6]" {
			t.Errorf("ids %v", ids)
		}
		ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
		defer cancel()
		if got, err := none.next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nothing fits, but %v came (%v)", got, err)
		}
	})
}

func TestStreamEndsWithTheEngine(t *testing.T) {
	bubble(t, func(s *site) {
		waiting, behind := s.subscribe(nil), s.subscribe(nil)
		ended := make(chan error, 1)
		go func() { _, err := waiting.next(s.ctx); ended <- err }()
		s.settle()
		s.writeEventsQuietly(behind)
		s.stop()
		if err := <-ended; err != nil { // the last event woke it
			t.Errorf("a waiting reader got %v", err)
		}
		if err := behind.follow(0, 2); err != nil {
			t.Errorf("what was journaled before the end is not given: %v", err)
		}
		for _, r := range []*reader{waiting, behind} {
			for range 2 {
				if _, err := r.next(context.Background()); !errors.Is(err, io.EOF) {
					t.Errorf("after the end: %v", err)
				}
			}
		}
	})
}

func (s *site) writeEventsQuietly(*reader) { s.writeEvents(1, 1); s.settle() }

func TestStalledReaderAffectsNobody(t *testing.T) {
	bubble(t, func(s *site) {
		s.subscribe(nil) // never reads
		busy := s.subscribe(nil)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := busy.follow(0, 2000); err != nil {
				t.Error(err)
			}
		})
		s.writeEvents(4, 250)
		wg.Wait()
	})
}

// A reader that is far behind reads the journal itself, then the ring.
func TestReaderFurtherBackThanTheRing(t *testing.T) {
	bubble(t, func(s *site) {
		slow := s.subscribe(nil)
		const total = 2*ringSize + 100
		for n := 0; n < total; n += 500 {
			err := s.Store.Write(s.ctx, func(tx *store.Tx) error {
				for range min(500, total-n) {
					tx.Emit(svc.TopicHostUpdated, map[string]any{})
				}
				return nil
			})
			s.no(err)
		}
		s.settle()
		if first := s.feed.ring[0].seq; first < 2 {
			t.Fatalf("the ring still begins at %d", first)
		}
		if err := slow.follow(0, total); err != nil {
			t.Error(err)
		}
	})
}

func TestPurgedAndFutureCursorsGetASnapshotFirst(t *testing.T) {
	bubble(t, func(s *site) {
		p := s.project()
		task := s.task(p)
		run := s.run(func(n *svc.NewRun) { n.TaskID = task.ID })
		w := s.newHost("h")
		s.pass(time.Second)
		_, err := s.Store.PurgeEvents(s.ctx, s.now())
		s.no(err)
		head, purged, err := s.Store.JournalEnds(s.ctx)
		if err != nil || head != purged || head != 4 {
			t.Fatalf("head %d, purged %d (%v)", head, purged, err)
		}
		for _, cursor := range []int64{0, purged - 1, head + 1, 1 << 60, -1} {
			r := s.subscribe(&cursor, "run.*") // the same with every filter
			messages, err := r.next(s.ctx)
			s.no(err)
			if len(messages) != 1 || messages[0].topic != "snapshot" || messages[0].id != head {
				t.Fatalf("cursor %d: %+v", cursor, messages)
			}
			var state struct {
				Projects  []svc.Project
				WorkItems []svc.WorkItem `json:"work_items"`
				Runs      []svc.Run
				Hosts     []svc.Host
			}
			s.no(json.Unmarshal([]byte(messages[0].data), &state))
			if len(state.Projects) != 1 || state.Projects[0].ID != p.ID || len(state.WorkItems) != 1 || state.WorkItems[0].ID != task.ID ||
				len(state.Runs) != 1 || state.Runs[0].ID != run.ID || len(state.Hosts) != 1 || state.Hosts[0].ID != w.host.ID {
				t.Errorf("the snapshot has %+v", state)
			}
		}
		exact := s.subscribe(&purged) // no later event was purged
		live := s.subscribe(ptr(int64(0)))
		_, err = live.next(s.ctx)
		s.no(err)
		s.writeEvents(1, 1)
		for _, r := range []*reader{exact, live} {
			if err := r.follow(4, 6); err != nil {
				t.Error(err)
			}
		}
	})
}

// A reader whose position is purged while it is idle detects that at its next read.
func TestPlacePurgedUnderAReader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		s := start(t, dir)
		s.writeEvents(1, 10)
		s.stop()
		s = start(t, dir) // the ring is empty: older events come from the journal
		r := s.subscribe(ptr(int64(5)))
		s.pass(time.Second)
		_, err := s.Store.PurgeEvents(s.ctx, s.now())
		s.no(err)
		messages, err := r.next(s.ctx)
		if err != nil || len(messages) != 1 || messages[0].topic != "snapshot" || messages[0].id != 20 {
			t.Fatalf("got %+v (%v), want a snapshot at 20", messages, err)
		}
		s.writeEvents(1, 1)
		if err := r.follow(20, 22); err != nil {
			t.Error(err)
		}
	})
}

func TestSeqGoesOnOverARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		at := int64(0)
		for round := range int64(3) {
			s := start(t, dir)
			r := s.subscribe(&at)
			s.writeEvents(2, 5)
			if err := r.follow(at, 20*(round+1)); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
			at = 20 * (round + 1)
			s.stop()
		}
	})
}

func TestRetentionOfNoDaysPurgesWhatIsOlderThanTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inBubble(t, func(t *testing.T) {
		for days, want := range map[int]int64{0: 0, 30: 20} {
			sub := fmt.Sprint(dir, "/", days)
			s := start(t, sub)
			s.writeEvents(2, 5)
			s.stop()
			clocktest.Pass(time.Hour)
			s = start(t, sub, func(c *Config) { c.EventsDays = days })
			s.settle()
			events, err := s.Store.EventsAfter(s.ctx, 0, 100)
			if err != nil || int64(len(events)) != want {
				t.Errorf("with %d days %d events are left (%v), want %d", days, len(events), err, want)
			}
			s.stop()
		}
	})
}

func TestAStreamOfOneRunHasItsEventsAlone(t *testing.T) {
	bubble(t, func(s *site) {
		start, _, err := s.Store.JournalEnds(s.ctx)
		s.no(err)
		one, other := s.run(), s.run()
		for _, r := range []svc.Run{other, one} {
			_, err = s.StopRun(s.ctx, r.ID)
			s.no(err)
		}
		s.settle()
		for _, from := range []string{"ring", "journal"} {
			if from == "journal" {
				s.feed.mu.Lock()
				s.feed.ring = s.feed.ring[len(s.feed.ring)-1:]
				s.feed.mu.Unlock()
			}
			sub, err := s.Subscribe(s.ctx, &start, svc.EventFilter{Topics: svc.Globs{"run.*"}, Subjects: svc.Subjects{RunID: one.ID}})
			s.no(err)
			var got []string
			for r := (&reader{s, sub}); len(got) < 2; {
				messages, err := r.next(s.ctx)
				s.no(err)
				for _, m := range messages {
					got = append(got, fmt.Sprint(m.topic, " ", strings.Contains(m.data, one.ID)))
				}
			}
			if want := "[run.created true run.stopped true]"; fmt.Sprint(got) != want {
				t.Errorf("from the %s: got %v, want %s", from, got, want)
			}
		}
	})
}

func TestAQuietStreamShowsThatItLivesWhenAskedTo(t *testing.T) {
	bubble(t, func(s *site) {
		sub, err := s.Subscribe(s.ctx, nil, svc.EventFilter{})
		s.no(err)
		sub.Heartbeat = 5 * time.Second
		for range 3 {
			began := time.Now()
			b, err := sub.Next(s.ctx)
			if s.no(err); string(b) != ":\n\n" || time.Since(began) != 5*time.Second {
				t.Errorf("after %v came %q, want a comment after 5s", time.Since(began), b)
			}
		}
		s.writeEvents(1, 1)
		if b, err := sub.Next(s.ctx); err != nil || !strings.HasPrefix(string(b), "id: 1\n") {
			t.Errorf("then came %q, %v", b, err)
		}
	})
}
