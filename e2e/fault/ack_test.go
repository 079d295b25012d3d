package fault

import (
	"strings"
	"testing"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// startUnacknowledged starts a run on a host whose frames to the orchestrator are lost, so that the dispatch is not
// acknowledged.
func startUnacknowledged(t *testing.T, s *site, policy svc.RestartPolicy) (svc.Run, *proctest.Proxy, *proctest.Worker) {
	t.Helper()
	proxy := proctest.NewProxy(s.o)
	w := s.worker(proctest.WorkerOptions{Name: "one", Server: proxy.URL})
	proxy.Set(proctest.Weather{SwallowUp: true})
	r := s.run("sleep 6; exit 3", func(b *api.CreateRun) { b.RestartPolicy = api.Some(policy) })
	s.follower.AwaitRun(r.ID, svc.TopicRunSpawning)
	waittest.Eventually(t, "the run is started", func() bool { return len(s.starts(r.ID)) > 0 })
	return r, proxy, w
}

func TestALostAcknowledgementGivesTheAttemptToNobodyElse(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{OfflineAfter: "3s", Config: "[runs]\nack_timeout = \"500ms\"\n"})
	r, proxy, w := startUnacknowledged(t, s, svc.RestartNever)
	s.worker(proctest.WorkerOptions{Name: "two"})
	w.AwaitStatus(svc.HostOffline)
	if got := s.get(r.ID); got.Status != svc.RunSpawning || *got.HostID != w.HostID {
		t.Errorf("while the host is away the run is %s on host %v", got.Status, got.HostID)
	}
	proxy.Set(proctest.Weather{})
	s.awaitEnd(r.ID)
	s.wantOneLife(r.ID, 3)
	if starts := s.starts(r.ID); !strings.HasPrefix(starts[0], "one 1 ") {
		t.Errorf("started: %q", starts)
	}
	s.wantSameLog(w, r.ID)
}

func TestAnAttemptThatWasNeverHeardOfIsReplacedByTheNextWhenThePolicySaysSo(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{OfflineAfter: "3s", Config: "[runs]\nack_timeout = \"500ms\"\n"})
	r, proxy, w := startUnacknowledged(t, s, svc.RestartOnFailure)
	two := s.worker(proctest.WorkerOptions{Name: "two"})
	s.follower.AwaitRun(r.ID, svc.TopicRunRequeued)
	waittest.Eventually(t, "the second attempt is started", func() bool { return len(s.starts(r.ID)) > 1 })
	if got := s.get(r.ID); got.Attempt != 2 || *got.HostID != two.HostID {
		t.Errorf("the run is at attempt %d on host %v", got.Attempt, *got.HostID)
	}
	proxy.Set(proctest.Weather{})
	w.AwaitStatus(svc.HostOnline)
	s.lab.WantProcesses(0, "one/runs/"+r.ID) // the worker has ended the session of the first attempt
	if _, err := s.client.StopRun(t.Context(), r.ID); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, start := range s.starts(r.ID) {
		attempt := strings.Fields(start)[1]
		if seen[attempt] {
			t.Errorf("attempt %s was started twice: %q", attempt, s.starts(r.ID))
		}
		seen[attempt] = true
	}
}
