package hub

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/internal/clocktest"
)

// asks joins as a person who wants the list of watchers.
func (s *stage) asks(name string) *person {
	s.t.Helper()
	return s.joinAs(name, runA, Person{Name: name, Watches: strings.HasPrefix(name, "viewer"), Lists: true})
}

func (s *stage) listOf(name string) ([]watcher, int) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.hub.list(s.people[name].a)
}

// later returns all frames after a pause, so that a delayed list is included.
func (s *stage) later() string {
	s.t.Helper()
	clocktest.Pass(2 * frameEvery) // inside the bubble
	return s.said()
}

func TestWhoAsksIsToldWhoIsThereAndWhenThatChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		for i, st := range []struct {
			do   func()
			told string
		}{
			{func() { s.asks("ann") }, "ann:watchers(ann*!) ann:lease_acquired"},
			{func() { s.join("bob", runA) }, "ann:watchers(ann*!,bob) bob:lease_held"},
			{func() { s.asks("viewer1") }, "ann:watchers(ann*!,bob,viewer1) viewer1:watchers(ann*,bob,viewer1!)"},
			{func() { s.act("bob takes") }, "ann:lease_taken ann:watchers(ann!,bob*,viewer1) bob:lease_acquired viewer1:watchers(ann,bob*,viewer1!)"},
			{func() { s.act("bob takes") }, ""},
			{func() { s.act("bob types x") }, ""},
			{func() { s.join("carl", runB) }, "carl:lease_acquired"},
			{func() { s.act("bob leaves") }, "ann:lease_acquired ann:watchers(ann*!,viewer1) viewer1:watchers(ann*,viewer1!)"},
			{func() { s.act("ann releases") }, "ann:watchers(ann!,viewer1) viewer1:watchers(ann,viewer1!)"},
			{func() { s.act("ann leaves") }, "viewer1:watchers(viewer1!)"},
			{func() { s.act("run ends") }, ""},
		} {
			st.do()
			if told := sorted(s.later()); told != sorted(st.told) {
				t.Errorf("%d. told %q, want %q", i+1, told, st.told)
			}
		}
	})
}

// sorted ignores the order of a person's list and lease frames.
func sorted(said string) string {
	words := strings.Fields(said)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// A client that shows the list first must not wait for a frame that may not be sent: a viewer gets no frame about the
// lease.
func TestTheFirstFrameForWhoAsksIsTheList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("ann", runA)
		s.said()
		s.asks("bob")
		if got := s.said(); got != "bob:watchers(ann*,bob!) bob:lease_held" {
			t.Errorf("told %q", got)
		}
	})
}

func TestWhoSeesTheScreenIsListedOnceAfterThoseWhoAreAttached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		dora := s.hub.Look(runA, "dora")
		again := s.hub.Look(runA, "dora")
		own := s.hub.Look(runA, "ann") // ann attaches while her page shows the screen
		elsewhere := s.hub.Look(runB, "eve")
		s.asks("ann")
		if got, want := s.later(), "ann:watchers(ann*!,~dora) ann:lease_acquired"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		for i, st := range []struct {
			do   func()
			told string
		}{
			{dora, ""}, // she has another window
			{dora, ""}, // a second call is ignored
			{again, "ann:watchers(ann*!)"},
			{own, ""},
			{elsewhere, ""},
		} {
			st.do()
			if told := s.later(); told != st.told {
				t.Errorf("%d. told %q, want %q", i+1, told, st.told)
			}
		}
		if len(s.hub.viewers) != 0 {
			t.Errorf("left behind: %v", s.hub.viewers)
		}
	})
}

func TestALongListIsCutAndKeepsTheHolderAndWhoAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		for i := range mostWatchers + 10 {
			s.join(fmt.Sprintf("p%02d", i), runA)
		}
		leave := s.hub.Look(runA, "dora")
		defer leave()
		s.act(fmt.Sprintf("p%02d takes", mostWatchers+5))
		s.asks("ann")
		s.later()
		list, more := s.listOf("ann")
		if len(list) != mostWatchers || more != 12 {
			t.Fatalf("%d are listed and %d more counted", len(list), more)
		}
		got := listed(list, 0)
		want := []string{}
		for i := range mostWatchers - 2 {
			want = append(want, fmt.Sprintf("p%02d", i))
		}
		want = append(want, fmt.Sprintf("p%02d*", mostWatchers+5), "ann!")
		if got != strings.Join(want, ",") {
			t.Errorf("listed are %s", got)
		}
	})
}

func TestAListHasWhenEachCame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		first := svc.TimeOf(time.Now())
		s.join("ann", runA)
		clocktest.Pass(time.Minute)
		s.asks("bob")
		s.act("bob takes")
		list, _ := s.listOf("bob")
		if list[0].Since != first || list[1].Since != svc.TimeOf(time.Now()) {
			t.Errorf("they came at %v and %v", list[0].Since, list[1].Since)
		}
	})
}

// A client cannot make others receive a frame for each time that it joins and leaves.
func TestChangesThatComeTogetherAreOneList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.asks("ann")
		s.later()
		for i := range 100 {
			s.join(fmt.Sprintf("p%d", i), runA)
			s.leaves(fmt.Sprintf("p%d", i))
		}
		s.join("bob", runA)
		told := strings.Fields(s.later())
		lists := 0
		for _, f := range told {
			if strings.HasPrefix(f, "ann:watchers") {
				lists++
			}
		}
		if last := told[len(told)-1]; lists > 2 || !strings.Contains(strings.Join(told, " "), "ann:watchers(ann*!,bob)") {
			t.Errorf("%d lists, the last word is %s", lists, last)
		}
	})
}

func TestAClientThatDoesNotReadGetsTheNewestListAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		slow, err := s.hub.Join(Target{RunID: runA, Attempt: 1, HostID: hostA}, Person{Name: "slow", Lists: true})
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Leave()
		for _, name := range []string{"a", "b", "c"} {
			s.join(name, runA)
			clocktest.Pass(time.Second)
		}
		var got []string
		for range 2 {
			b, err := slow.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, parseShown(b).text)
		}
		if text := strings.Join(got, " "); text != "watchers(slow*!,a,b,c) lease_acquired" {
			t.Errorf("got %q", text)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if b, err := slow.Next(ctx); err == nil {
			t.Errorf("then %s", b)
		}
	})
}

func TestListsAreMadeWhilePeopleComeAndGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.asks("ann")
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				a, err := s.hub.Join(Target{RunID: runA, Attempt: 1, HostID: hostA}, Person{Name: fmt.Sprintf("p%d", i), Lists: true})
				if err != nil {
					t.Error(err)
					return
				}
				leave := s.hub.Look(runA, "dora")
				_, _ = a.Next(t.Context())
				_ = a.Handle([]byte(`{"type":"take_lease"}`))
				leave()
				a.Leave()
			})
		}
		wg.Wait()
		if got := s.later(); !strings.Contains(got, "ann:watchers(ann") {
			t.Errorf("told %q", got)
		}
		s.leaves("ann")
		if len(s.hub.all) != 0 || len(s.hub.runs) != 0 || len(s.hub.viewers) != 0 {
			t.Errorf("left behind: %d clients, %d runs, %d who look", len(s.hub.all), len(s.hub.runs), len(s.hub.viewers))
		}
	})
}
