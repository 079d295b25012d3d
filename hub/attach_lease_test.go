package hub

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/internal/clocktest"
)

// A story is a list of steps: an action of a client, and then the frames to all clients, the journal entries and the
// frames to the worker.
type step struct {
	do      string // "a joins", "a leaves", "a types x", "a resizes", "a releases", "a sends …", "run ends"
	told    string
	journal string
	worker  string
}

var stories = map[string][]step{
	"the first client gets the lease, the next ones are told that it is held": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"b joins", "b:lease_held", "", "open 11/1 50x220"},
		{"c joins", "c:lease_held", "", "open 11/1 50x220"},
	},
	"every frame of one who does not hold it is answered and goes nowhere": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"b joins", "b:lease_held", "", "open 11/1 50x220"},
		{"b types x", "b:lease_held", "", ""},
		{"b resizes", "b:lease_held", "", ""},
		{"b releases", "b:lease_held", "", ""},
		{`b sends {"type":"dance"}`, "b:lease_held", "", ""},
		{"b sends not JSON", "b:lease_held", "", ""},
		{"a types y", "", "", "input y"},
	},
	"whoever waited longest gets it when the holder leaves": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"b joins", "b:lease_held", "", "open 11/1 50x220"},
		{"c joins", "c:lease_held", "", "open 11/1 50x220"},
		{"a leaves", "b:lease_acquired", "released/1 acquired/1", "close"},
		{"c types x", "c:lease_held", "", ""},
		{"b leaves", "c:lease_acquired", "released/1 acquired/1", "close"},
		{"c leaves", "", "released/1", "close"},
	},
	"one who waits and leaves is passed over": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"b joins", "b:lease_held", "", "open 11/1 50x220"},
		{"c joins", "c:lease_held", "", "open 11/1 50x220"},
		{"b leaves", "", "", "close"},
		{"a leaves", "c:lease_acquired", "released/1 acquired/1", "close"},
	},
	"a holder that releases waits behind the others": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"b joins", "b:lease_held", "", "open 11/1 50x220"},
		{"c joins", "c:lease_held", "", "open 11/1 50x220"},
		{"a releases", "b:lease_acquired", "released/1 acquired/1", ""},
		{"a types x", "a:lease_held", "", ""},
		{"b types y", "", "", "input y"},
		{"b leaves", "c:lease_acquired", "released/1 acquired/1", "close"},
		{"c releases", "a:lease_acquired", "released/1 acquired/1", ""},
	},
	"when no one waits, the next input gets it and is relayed": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"a releases", "", "released/1", ""},
		{"a releases", "", "", ""},
		{"a types x", "a:lease_acquired", "acquired/1", "input x"},
	},
	"so does the next resize": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"a releases", "", "released/1", ""},
		{"a resizes", "a:lease_acquired", "acquired/1", "resize 41x123"},
	},
	"a released lease goes to the next who comes": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"a releases", "", "released/1", ""},
		{"b joins", "b:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"a types x", "a:lease_held", "", ""},
	},
	"after everyone left, the next client gets it": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"a leaves", "", "released/1", "close"},
		{"b joins", "b:lease_acquired", "acquired/1", "open 11/1 50x220"},
	},
	"the size is the holder's and goes back before the lease goes on": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"a resizes", "", "", "resize 41x123"},
		{"b joins", "b:lease_held", "", "open 11/1 41x123"},
		{"a releases", "b:lease_acquired", "released/1 acquired/1", "resize 50x220"},
		{"b resizes", "", "", "resize 41x123"},
		{"b leaves", "a:lease_acquired", "released/1 acquired/1", "resize 50x220, close"},
		{"a leaves", "", "released/1", "close"},
	},
	"nonsense of the holder is told and harms nothing": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{`a sends {"type":"input"}`, "a:malformed_frame", "", ""},
		{`a sends {"type":"input","bytes":"***"}`, "a:malformed_frame", "", ""},
		{`a sends {"type":"resize","rows":"x","cols":-1}`, "a:malformed_frame", "", ""},
		{`a sends {"type":"resize","rows":0,"cols":80}`, "a:malformed_frame", "", ""},
		{`a sends {"type":"resize","rows":24,"cols":1001}`, "a:malformed_frame", "", ""},
		{`a sends {"type":"dance"}`, "a:malformed_frame", "", ""},
		{`a sends {}`, "a:malformed_frame", "", ""},
		{"a sends not JSON", "a:malformed_frame", "", ""},
		{"a types still", "", "", "input still"},
	},
	"whoever takes the lease has it at once, and the former holder watches on": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"a resizes", "", "", "resize 41x123"},
		{"b joins", "b:lease_held", "", "open 11/1 41x123"},
		{"b takes", "a:lease_taken b:lease_acquired", "released/1 acquired/1", ""},
		{"a types x", "a:lease_held", "", ""},
		{"b types y", "", "", "input y"},
		{"b takes", "", "", ""},
		{"a takes", "a:lease_acquired b:lease_taken", "released/1 acquired/1", ""},
		{"a leaves", "b:lease_acquired", "released/1 acquired/1", "resize 50x220, close"},
	},
	"taking a free lease acquires it": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"a releases", "", "released/1", ""},
		{"a takes", "a:lease_acquired", "acquired/1", ""},
	},
	"a viewer watches, and never gets the lease": {
		{"viewer1 joins", "", "", "open 11/1 50x220"},
		{"viewer1 types x", "viewer1:forbidden", "", ""},
		{"viewer1 resizes", "viewer1:forbidden", "", ""},
		{"viewer1 takes", "viewer1:forbidden", "", ""},
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"viewer1 takes", "viewer1:forbidden", "", ""},
		{"a leaves", "", "released/1", "close"},
		{"b joins", "b:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"run ends", "", "released/1", "close, close"},
	},
	"a holder that sends nothing for too long loses it to the first who waits": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"9 minutes pass", "", "", ""},
		{"9 minutes pass", "", "", ""}, // no client waits
		{"a types x", "", "", "input x"},
		{"b joins", "b:lease_held", "", "open 11/1 50x220"},
		{"c joins", "c:lease_held", "", "open 11/1 50x220"},
		{"9 minutes pass", "", "", ""},
		{"2 minutes pass", "a:lease_taken b:lease_acquired", "released/1 acquired/1", ""},
	},
	"the end of the run ends the lease, and no one gets it": {
		{"a joins", "a:lease_acquired", "acquired/1", "open 11/1 50x220"},
		{"b joins", "b:lease_held", "", "open 11/1 50x220"},
		{"run ends", "", "released/1", "close, close"},
	},
}

func TestTheLease(t *testing.T) {
	t.Parallel()
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				for i, st := range story {
					s.act(st.do)
					told, journal := s.said(), s.journal()
					if told != st.told || journal != st.journal {
						t.Errorf("%d. %s: told %q, journal %q; want %q and %q", i+1, st.do, told, journal, st.told, st.journal)
					}
					if worker := strings.Join(s.link().take(), ", "); worker != st.worker {
						t.Errorf("%d. %s: the worker got %q; want %q", i+1, st.do, worker, st.worker)
					}
				}
			})
		})
	}
}

func (s *stage) act(do string) {
	s.t.Helper()
	who, what, _ := strings.Cut(do, " ")
	var err error
	switch {
	case do == "run ends":
		s.hub.RunEnded(runA, 1)
		synctest.Wait()
	case what == "joins":
		s.join(who, runA)
	case what == "leaves":
		s.leaves(who)
	case what == "resizes":
		err = s.sends(who, resize)
	case what == "minutes pass":
		minutes, err := strconv.Atoi(who)
		if err != nil {
			s.t.Fatal(err)
		}
		clocktest.Pass(time.Duration(minutes) * time.Minute) // inside the bubble
		synctest.Wait()
	case what == "takes":
		err = s.sends(who, `{"type":"take_lease"}`)
	case what == "releases":
		err = s.sends(who, release)
	case strings.HasPrefix(what, "types "):
		err = s.sends(who, input(strings.TrimPrefix(what, "types ")))
	case strings.HasPrefix(what, "sends "):
		err = s.sends(who, strings.TrimPrefix(what, "sends "))
	default:
		s.t.Fatalf("no such step: %q", do)
	}
	if err != nil {
		s.t.Errorf("%s: %v", do, err)
	}
}

func TestTheHolderIsVisibleFromTheGrantToTheRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		if _, held := s.hub.Holder(runA); held {
			t.Error("held by no one")
		}
		s.join("a", runA)
		if lease, held := s.hub.Holder(runA); !held || lease.AttachedAt == 0 || lease.Holder != "a" {
			t.Errorf("Holder = %v, %v", lease, held)
		}
		if _, held := s.hub.Holder(runB); held {
			t.Error("another run's lease is held")
		}
		s.join("b", runB)
		if got := s.said(); got != "a:lease_acquired b:lease_acquired" {
			t.Errorf("each run has its own lease: %q", got)
		}
		if err := s.sends("a", release); err != nil {
			t.Error(err)
		}
		if _, held := s.hub.Holder(runA); held {
			t.Error("held after the release")
		}
		s.leaves("b")
		if _, held := s.hub.Holder(runB); held {
			t.Error("held after the holder left")
		}
	})
}

func TestLeasesAreToldWithNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		for _, do := range []string{"ann joins", "bob joins", "bob takes", "bob leaves", "ann leaves"} {
			s.act(do)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		want := []string{"+ann by ann", "-ann by bob", "+bob by bob", "-bob by bob", "+ann by ann", "-ann by ann"}
		if !slices.Equal(s.holders, want) {
			t.Errorf("told %q, want %q", s.holders, want)
		}
	})
}

func TestManyWhoComeAtOnceGiveOneHolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		joined := make([]*Attachment, 50)
		var wg sync.WaitGroup
		for i := range joined {
			wg.Go(func() {
				joined[i], _ = s.hub.Join(Target{RunID: runA, Attempt: 1, HostID: hostA}, ann)
			})
		}
		wg.Wait()
		holders := 0
		for _, a := range joined {
			b, err := a.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if parseShown(b).typ == "lease_acquired" {
				holders++
			}
		}
		synctest.Wait()
		if got := s.journal(); holders != 1 || got != "acquired/1" {
			t.Errorf("%d holders, journal %q", holders, got)
		}
		for _, a := range joined {
			wg.Go(a.Leave)
		}
		wg.Wait()
		synctest.Wait()
		events := strings.Fields(s.journal())
		for i, e := range append([]string{"acquired/1"}, events...) {
			if want := []string{"acquired/1", "released/1"}[i%2]; e != want {
				t.Fatalf("event %d is %s: %v", i, e, events)
			}
		}
		if len(s.hub.all) != 0 || len(s.hub.runs) != 0 || len(s.hub.relays) != 0 {
			t.Errorf("left behind: %d clients, %d runs, %d relays", len(s.hub.all), len(s.hub.runs), len(s.hub.relays))
		}
	})
}

func TestTooMuchNonsenseEndsTheClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("a", runA)
		for range 3 {
			for i := range maxMistakes - 1 {
				if err := s.sends("a", "{}"); err != nil {
					t.Fatalf("mistake %d: %v", i+1, err)
				}
			}
			if err := s.sends("a", input("x")); err != nil {
				t.Fatal(err)
			}
		}
		for range maxMistakes - 1 {
			_ = s.sends("a", "{}")
		}
		if err := s.sends("a", "{}"); err != ErrMalformed {
			t.Errorf("got %v", err)
		}
	})
}

func TestInputIsToldOncePerBurstAndLookingOnIsNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.join("a", runA)
		s.join("b", runA)
		_ = s.sends("a", resize)
		_ = s.sends("b", input("x"))
		if len(s.typed) != 0 {
			t.Errorf("told %v though no one typed", s.typed)
		}
		want := []string{}
		for i := range 50 {
			text := fmt.Sprintf("%d\r\x03\xff", i)
			want = append(want, "input "+text)
			_ = s.people["a"].a.Handle([]byte(input(text)))
		}
		synctest.Wait()
		if n := len(s.typed); n < 1 || n > 50 || s.typed[0] != runA {
			t.Errorf("told %v", s.typed)
		}
		got := slices.DeleteFunc(s.link().take(), func(f string) bool { return !strings.HasPrefix(f, "input") })
		if !slices.Equal(got, want) {
			t.Errorf("the worker got %q", got)
		}
	})
}
