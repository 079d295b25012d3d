package fault

import (
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

func TestANewcomersFirstHourWithSvcUp(t *testing.T) {
	t.Parallel()
	lab := proctest.NewLab(t)
	up := proctest.NewUp(lab, "--demo")
	up.Start()
	s := &site{t: t, lab: lab, o: up, client: up.Client(), follower: up.Follow()}

	var first proctest.Event // --demo creates a project and starts a run
	s.follower.Await(waittest.Patience, "a demo run is started and reports", func([]proctest.Event) bool {
		reports := s.follower.Where(func(e proctest.Event) bool { return e.Topic == svc.TopicRunSignal })
		if len(reports) > 0 {
			first = reports[0]
		}
		return len(reports) > 0
	})
	if proctest.Long() { // the demo run is slow, so that a person can watch it
		if got := s.awaitEnd(first.Text("run_id")); got.Status != svc.RunExited || *got.ExitCode != 0 {
			t.Errorf("the demo run is %s", got.Status)
		}
	} else {
		s.stopDemo(first.Text("run_id"))
	}
	s.task = first.Text("task_id")

	quick := s.demo("--delay", "10ms")
	if got := s.awaitEnd(quick.ID); got.Status != svc.RunExited || *got.ExitCode != 0 || got.Result == nil {
		t.Errorf("a quick demo run is %s", got.Status)
	}
	failing := s.demo("--delay", "10ms", "--exit", "3")
	if got := s.awaitEnd(failing.ID); got.Status != svc.RunFailed || *got.ExitCode != 3 {
		t.Errorf("a run with exit code 3 is %s with %v", got.Status, got.ExitCode)
	}

	stopped := s.demo("--delay", "10ms", "--sleep", "10m")
	s.follower.AwaitRun(stopped.ID, svc.TopicRunStarted)
	s.stopDemo(stopped.ID)

	// Ctrl-C ends orchestrator and worker, and leaves sessions alive.
	alive := s.demo("--delay", "10ms", "--sleep", "10m")
	s.follower.AwaitRun(alive.ID, svc.TopicRunStarted)
	up.Signal(syscall.SIGINT)
	if err := up.Wait(waittest.Patience); err != nil {
		t.Errorf("svc up ended with %v", err)
	}
	lab.WantProcesses(0, " up --bind")
	lab.WantProcesses(0, "svc (serve|worker)")
	lab.WantProcesses(1, "^[^ ]*svc exec run ")
	up.Start()
	waittest.Eventually(t, "the session is found again and can be stopped", func() bool {
		got, err := s.client.StopRun(t.Context(), alive.ID)
		return err == nil && got.Attempt == 1
	})
	s.awaitEnd(alive.ID)
	lab.WantProcesses(0, "exec run")
}

// demo creates a run of the demo agent.
func (s *site) demo(args ...string) svc.Run {
	s.t.Helper()
	r, err := s.client.CreateRun(s.t.Context(), api.CreateRun{TaskID: s.task, Provider: "demo", Args: api.Some(args)})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// stopDemo stops a run of the demo agent. The agent must end at the first step of the ladder, Ctrl-C.
func (s *site) stopDemo(runID string) {
	s.t.Helper()
	if _, err := s.client.StopRun(s.t.Context(), runID); err != nil {
		s.t.Fatal(err)
	}
	asked := time.Now()
	got := s.awaitEnd(runID)
	if got.Status != svc.RunStopped || got.SessionEndedAt == nil {
		s.t.Errorf("a stopped run is %s, session ended %v", got.Status, got.SessionEndedAt)
	}
	if took := time.Since(asked); took > 9*time.Second { // allows for the second step, after 5 s: an agent that has just started may miss Ctrl-C
		s.t.Errorf("the demo agent took %v to end", took)
	}
}
