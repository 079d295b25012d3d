package fault

import (
	"slices"
	"testing"
	"time"

	"svc"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

func TestSignalsAndLogsSurviveABadNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		weather proctest.Weather
		cut     bool // open connections are reset as well
		away    bool // the host goes offline during the fault
	}{
		{"cut", proctest.Weather{Refuse: true}, true, true},
		{"stalled", proctest.Weather{Stall: true}, false, true},
		{"half open", proctest.Weather{Swallow: true}, false, true},
		{"delayed", proctest.Weather{Delay: 200 * time.Millisecond}, false, false},
		{"sliced", proctest.Weather{Slice: 5, Delay: time.Millisecond}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, proctest.ServeOptions{OfflineAfter: "3s"})
			proxy := proctest.NewProxy(s.o)
			w := s.worker(proctest.WorkerOptions{Server: proxy.URL})
			script, want := steps(shortOrLong(12, 60), "0.5")
			r := s.run(script + "exit 6")
			s.follower.AwaitRun(r.ID, svc.TopicRunStarted)
			proxy.Set(c.weather)
			if c.cut {
				proxy.Cut()
			}
			proctest.Pause(shortOrLong(5*time.Second, 2*time.Minute))
			proxy.Set(proctest.Weather{})
			s.awaitEnd(r.ID)
			s.wantOneLife(r.ID, 6)
			if got := s.messages(r.ID); !slices.Equal(got, want) {
				t.Errorf("progress in the journal: %q", got)
			}
			s.wantSameLog(w, r.ID)
			times := 0
			if c.away {
				times = 1
			}
			s.follower.Await(waittest.Patience, "the host is back", func([]proctest.Event) bool {
				return len(s.follower.Of(w.HostID, svc.TopicWorkerRegistered)) > times
			})
			offline := len(s.follower.Of(w.HostID, svc.TopicWorkerOffline))
			online := len(s.follower.Of(w.HostID, svc.TopicWorkerRegistered))
			if offline != times || online != times+1 {
				t.Errorf("the host went offline %d times and came online %d times", offline, online)
			}
		})
	}
}
