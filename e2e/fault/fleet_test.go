package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/internal/proctest"
)

func TestRunsStartReportAndEndWhileTheOrchestratorIsKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{Config: "[runs]\nack_timeout = \"1s\"\n"})
	workers := []*proctest.Worker{
		s.worker(proctest.WorkerOptions{Name: "one"}),
		s.worker(proctest.WorkerOptions{Name: "two"}),
	}
	count := shortOrLong(20, 50)
	script, want := steps(4, "0.3")
	ids := map[string]int{} // the exit code that each run must end with
	for i := range count {
		r := s.run(fmt.Sprintf("%s exit %d", script, i%3))
		ids[r.ID] = i % 3
	}
	ended := func() int {
		return len(s.follower.Where(func(e proctest.Event) bool { return e.Topic == svc.TopicRunFinished }))
	}
	kills := 0
	for deadline := time.Now().Add(3 * time.Minute); ended() < count; kills++ {
		if time.Now().After(deadline) {
			t.Fatalf("after %d kills %d of %d runs have ended", kills, ended(), count)
		}
		proctest.Pause(time.Duration(200+rand.IntN(1200)) * time.Millisecond)
		if kills >= shortOrLong(8, 40) {
			continue // no more faults: the remaining runs can end
		}
		s.o.Kill()
		proctest.Pause(time.Duration(rand.IntN(400)) * time.Millisecond)
		s.o.Start()
	}
	for id, code := range ids {
		s.wantOneLife(id, code)
		if got := s.messages(id); !slices.Equal(got, want) {
			t.Errorf("run %s: progress in the journal: %q", id, got)
		}
		w := workers[0]
		if *s.get(id).HostID == workers[1].HostID {
			w = workers[1]
		}
		s.wantSameLog(w, id)
	}
	s.lab.WantProcesses(0, "exec run")
}

func TestEverythingThatEndedDuringAnOutageIsToldAfterItInOrderAndWithoutAStorm(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	proxy := proctest.NewProxy(s.o)
	w := s.worker(proctest.WorkerOptions{Server: proxy.URL})
	count := shortOrLong(15, 50)
	script, want := steps(3, "1")
	var ids []string
	for i := range count {
		ids = append(ids, s.run(fmt.Sprintf("sleep 1; %s exit %d", script, i%2)).ID)
	}
	for _, id := range ids {
		s.follower.AwaitRun(id, svc.TopicRunStarted)
	}
	s.o.Kill()
	down := time.Now()
	proctest.Pause(shortOrLong(8*time.Second, 10*time.Minute))
	s.lab.WantProcesses(0, "exec run") // all have ended meanwhile
	outage := time.Since(down)
	// Each signal is sent once by its hook. Otherwise only the worker connects, with an increasing back-off.
	tries, complaints := proxy.OpenedSince(down), strings.Count(w.Log(), "signals wait in the spool")
	if most := 3*count + 30 + int(outage/(5*time.Second)); tries > most {
		t.Errorf("%d connections were tried in an outage of %v, more than %d", tries, outage, most)
	}
	if most := 10 + count/2 + int(outage/(10*time.Second)); complaints > most {
		t.Errorf("the worker logged %d times that signals wait, more than %d", complaints, most)
	}
	s.o.Start()
	back := time.Now()
	for i, id := range ids {
		s.awaitEnd(id)
		s.wantOneLife(id, i%2)
		if got := s.messages(id); !slices.Equal(got, want) {
			t.Errorf("run %s: progress in the journal: %q", id, got)
		}
		s.wantSameLog(w, id)
	}
	t.Logf("outage %v, %d connections tried in it; everything was reported %v after it", outage, tries, time.Since(back))
	if events := s.follower.Of(w.HostID, svc.TopicWorkerOffline); len(events) > 0 {
		t.Errorf("the orchestrator's own outage made the host offline: %v", events)
	}
}
