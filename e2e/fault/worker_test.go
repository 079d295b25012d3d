package fault

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/internal/proctest"
)

func TestARunGoesOnWhileItsWorkerIsKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	w := s.worker(proctest.WorkerOptions{})
	script, want := steps(shortOrLong(30, 120), "0.2")
	r := s.run(script)
	s.follower.AwaitRun(r.ID, svc.TopicRunStarted)
	for range shortOrLong(10, 40) {
		proctest.Pause(time.Duration(rand.IntN(500)) * time.Millisecond)
		w.Kill()
		proctest.Pause(time.Duration(rand.IntN(200)) * time.Millisecond)
		w.Launch()
	}
	s.awaitEnd(r.ID)
	s.wantOneLife(r.ID, 0)
	if got := s.messages(r.ID); !slices.Equal(got, want) {
		t.Errorf("progress in the journal: %q", got)
	}
	pid := s.follower.AwaitRun(r.ID, svc.TopicRunStarted).Text("pid")
	if starts := s.starts(r.ID); len(starts) == 1 && !strings.HasSuffix(starts[0], " "+pid) {
		t.Errorf("the journal has process %s, started was %q", pid, starts)
	}
	s.wantSameLog(w, r.ID)
}

func TestATmuxServerThatIsKilledTakesOnlyItsOwnRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	w := s.worker(proctest.WorkerOptions{})
	victim, other := s.run("sleep 300"), s.run("sleep 4; exit 7")
	s.follower.AwaitRun(victim.ID, svc.TopicRunStarted)
	s.follower.AwaitRun(other.ID, svc.TopicRunStarted)
	killSession(t, s.lab, victim)
	ended := s.awaitEnd(victim.ID)
	if ended.Status != svc.RunFailed || ended.ExitCode == nil {
		t.Errorf("the run whose tmux was killed is %s, exit code %v", ended.Status, ended.ExitCode)
	}
	s.awaitEnd(other.ID)
	s.wantOneLife(other.ID, 7)
	s.wantSameLog(w, other.ID)
	s.lab.WantProcesses(0, "^sleep 300$")
}

func TestASessionThatVanishesWithAllItsProcessesIsLost(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	s.worker(proctest.WorkerOptions{})
	r := s.run("sleep 300")
	s.follower.AwaitRun(r.ID, svc.TopicRunStarted)
	for _, isPart := range []func(string) bool{
		func(c string) bool { return strings.Contains(c, "exec run") && !strings.HasPrefix(c, "tmux") }, // kill the wrapper first, because it would record the end
		func(c string) bool { return strings.Contains(c, "/"+r.ID[:8]) || strings.Contains(c, "sleep 300") },
	} {
		for _, p := range s.lab.Processes() {
			if isPart(p.Command) {
				kill(t, p)
			}
		}
	}
	e := s.follower.AwaitRun(r.ID, svc.TopicRunFinished)
	if e.Text("exit_code") != "-1" || e.Text("reason") != "session_lost" {
		t.Errorf("run.finished: %v", e.Payload)
	}
	if got := s.get(r.ID); got.Status != svc.RunFailed {
		t.Errorf("the run is %s", got.Status)
	}
}
