package worker

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/wire"
)

// TestWorkersThatAreKilledAgainAndAgainStartEachRunOnce kills a worker at arbitrary moments while runs are
// dispatched to it, and, like an orchestrator, repeats the dispatches that it did not acknowledge. In every
// case each run is started once, ends once, and its log is complete.
func TestWorkersThatAreKilledAgainAndAgainStartEachRunOnce(t *testing.T) {
	t.Parallel()
	rounds := 6
	if os.Getenv("SVC_TEST_LONG") != "" {
		rounds = 60
	}
	l := newLab(t)
	noise := rand.New(rand.NewSource(1))
	starts := string(l.dir) + "/starts"
	script := `echo $SVC_RUN_ID >> ` + starts + `; i=0; while test $i -lt 40; do i=$((i+1)); echo "line $i"; sleep 0.02; done; exit 11`
	var runs []string
	var cmd *exec.Cmd
	for range rounds {
		cmd = l.spawnWorker()
		for range 2 {
			runs = append(runs, svc.NewRunID())
		}
		l.pushUnacknowledged(runs, script)
		l.after(time.Duration(noise.Intn(400)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		l.o.cut()
	}
	l.start()
	l.pushUnacknowledged(runs, script)
	for _, run := range runs {
		if end := l.finished(run, 1); end.ExitCode != 11 {
			t.Errorf("run %s: finished = %+v, want exit code 11", run, end)
		}
		l.cleared(run, 1)
		record, err := os.ReadFile(l.dir.LogPath(run))
		if err != nil || !strings.Contains(string(record), "line 40") || l.o.log(run, 1) != string(record) {
			t.Errorf("run %s: relayed %d bytes of %d, %v", run, len(l.o.log(run, 1)), len(record), err)
		}
	}
	text, err := os.ReadFile(starts)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		if n := strings.Count(string(text), run); n != 1 {
			t.Errorf("run %s was started %d times", run, n)
		}
	}
	l.idle()
}

// pushUnacknowledged dispatches the runs that no worker has acknowledged.
func (l *lab) pushUnacknowledged(runs []string, script string) {
	l.t.Helper()
	acked := map[string]bool{}
	for _, a := range framesOf[*wire.RunDispatchAck](l.o) {
		acked[a.RunID] = a.Accepted
	}
	for _, run := range runs {
		if !acked[run] {
			l.dispatch(run, 1, script)
		}
	}
}

// after lets some time pass: the moment is arbitrary, not an event.
func (l *lab) after(d time.Duration) {
	l.t.Helper()
	select {
	case <-time.After(d):
	case <-l.t.Context().Done():
	}
}

func TestManyRunsAtOnceAreIndependent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	var runs []string
	for i := range 25 {
		run := svc.NewRunID()
		runs = append(runs, run)
		l.dispatch(run, 1, fmt.Sprintf(`i=0; while test $i -lt 200; do i=$((i+1)); echo "run %d line $i"; done; exit %d`, i, i))
	}
	for i, run := range runs {
		if end := l.finished(run, 1); end.ExitCode != i {
			t.Errorf("run %d: finished = %+v", i, end)
		}
		l.cleared(run, 1)
		record, err := os.ReadFile(l.dir.LogPath(run))
		want := fmt.Sprintf("run %d line 200", i)
		if err != nil || l.o.log(run, 1) != string(record) || !strings.Contains(string(record), want) {
			t.Errorf("run %d: relayed %d bytes of %d, %v", i, len(l.o.log(run, 1)), len(record), err)
		}
	}
	l.idle()
}
