package fault

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

func TestAStoppedRunIsEndedByTheLadderWithAllItLeavesBehind(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	w := s.worker(proctest.WorkerOptions{})
	r := s.run("trap '' INT TERM; setsid nohup sleep 777 >/dev/null 2>&1 & trap '' INT TERM; while :; do sleep 0.1; done")
	s.follower.AwaitRun(r.ID, svc.TopicRunStarted)
	s.lab.WantProcesses(1, "^sleep 777$")
	stopped, err := s.client.StopRun(t.Context(), r.ID)
	if err != nil || stopped.Status != svc.RunStopped {
		t.Fatalf("stop: %v, %s", err, stopped.Status)
	}
	// The worker is killed between two steps of the ladder. The restarted worker continues with the next step.
	proctest.Pause(500 * time.Millisecond)
	w.Kill()
	w.Launch()
	s.follower.AwaitRun(r.ID, svc.TopicRunFinished)
	got := s.get(r.ID)
	if got.Status != svc.RunStopped || got.SessionEndedAt == nil || got.ExitCode == nil || *got.ExitCode != 137 {
		t.Errorf("the run is %s, exit code %v, session ended %v", got.Status, got.ExitCode, got.SessionEndedAt)
	}
	s.lab.WantProcesses(0, "^sleep 777$")
	s.lab.WantProcesses(0, "exec run")
}

func TestAFailedRunIsRestartedAsItsNextAttempt(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	w := s.worker(proctest.WorkerOptions{})
	r := s.run("setsid nohup sleep 778 >/dev/null 2>&1 & echo attempt $SVC_ATTEMPT; [ $SVC_ATTEMPT = 2 ] && exit 0; exit 5",
		func(b *api.CreateRun) { b.RestartPolicy = api.Some(svc.RestartOnFailure) })
	s.follower.AwaitRun(r.ID, svc.TopicRunRequeued)
	w.Kill() // the second attempt is started by another worker process than the first
	w.Launch()
	s.follower.Await(waittest.Patience, "both attempts have ended", func([]proctest.Event) bool {
		return len(s.follower.Of(r.ID, svc.TopicRunFinished)) == 2
	})
	if got := s.get(r.ID); got.Status != svc.RunExited || got.Attempt != 2 {
		t.Errorf("the run is %s at attempt %d", got.Status, got.Attempt)
	}
	for i, start := range s.starts(r.ID) {
		if !strings.HasPrefix(start, fmt.Sprintf("host %d ", i+1)) {
			t.Errorf("starts: %q", s.starts(r.ID))
		}
	}
	if text := string(s.relayed(r.ID)); !strings.Contains(text, "attempt 1\r\n") || !strings.Contains(text, "attempt 2\r\n") {
		t.Errorf("the log: %q", text)
	}
	s.wantSameLog(w, r.ID)
	s.lab.WantProcesses(0, "^sleep 778$")
}

const manyLines = 100_000

// counted returns the output of "seq 1 n" on a terminal.
func counted(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%d\r\n", i+1)
	}
	return b.Bytes()
}

func TestEveryByteOfAFloodBeforeTheEndArrives(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	w := s.worker(proctest.WorkerOptions{})
	want := counted(manyLines)
	for range shortOrLong(3, 20) {
		r := s.run(fmt.Sprintf("exec seq 1 %d", manyLines))
		s.awaitEnd(r.ID)
		if got := s.relayed(r.ID); !bytes.Equal(got, want) {
			t.Errorf("the orchestrator has %d bytes of the log, want %d", len(got), len(want))
		}
		s.wantSameLog(w, r.ID)
	}
}

func TestEveryByteOfAFloodArrivesWhenWorkerAndOrchestratorDieInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	w := s.worker(proctest.WorkerOptions{})
	want := counted(manyLines)
	for range shortOrLong(2, 10) {
		r := s.run(fmt.Sprintf("seq 1 %d; sleep 0.5; seq %d %d", manyLines/2, manyLines/2+1, manyLines))
		s.follower.AwaitRun(r.ID, svc.TopicRunOutput)
		s.o.Kill()
		w.Kill()
		s.o.Start()
		w.Launch()
		s.awaitEnd(r.ID)
		if got := s.relayed(r.ID); !bytes.Equal(got, want) {
			t.Errorf("the orchestrator has %d bytes of the log, want %d", len(got), len(want))
		}
		s.wantSameLog(w, r.ID)
		s.wantOneLife(r.ID, 0)
	}
}
