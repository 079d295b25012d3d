package worker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc"
	"svc/tmux"
	"svc/wire"
)

func TestASessionWhoseRecordIsDamagedIsLeftAloneAndReported(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	pidFile := string(l.dir) + "/pid"
	run := l.begin(`echo $$ >> ` + pidFile + `; read line; exit 5`)
	pid := l.pidIn(pidFile)
	l.stop()
	a := l.dir.Attempt(run, 1)
	text, err := os.ReadFile(a.File("dispatch"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.File("dispatch"), text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	l.start()
	want := wire.Orphan{SessionName: svc.SessionName(run), RunID: run, Attempt: 1, Action: "none"}
	l.wait("the report", func() bool {
		orphans := framesOf[*wire.Orphan](l.o)
		return len(orphans) == 1 && *orphans[0] == want
	})
	l.wait("the attempt in the inventory", func() bool {
		beats := framesOf[*wire.Heartbeat](l.o)
		return slices.Contains(*beats[len(beats)-1].Runs, wire.LiveRun{RunID: run, Attempt: 1})
	})
	acks := l.o.count("run_dispatch_ack")
	l.dispatch(run, 1, `echo $$ >> `+pidFile)
	l.wait("the answer", func() bool { return l.o.count("run_dispatch_ack") > acks })
	all := framesOf[*wire.RunDispatchAck](l.o)
	if ack := all[len(all)-1]; !ack.Accepted {
		t.Errorf("the attempt was refused: %+v; another host would start it too", ack)
	}
	if got := l.pidIn(pidFile); got != pid || !alive(pid) {
		t.Fatalf("pid %d, alive %v; want %d to go on alone", got, alive(pid), pid)
	}
	server := tmux.Server{Socket: filepath.Join(l.runtime, run[:8])}
	if err := server.SendKeys(t.Context(), "%0", tmux.Enter); err != nil {
		t.Fatal(err)
	}
	if end := l.finished(run, 1); end.ExitCode != 5 {
		t.Errorf("finished = %+v, want the wrapper's record", end)
	}
	l.wait("the folder to be set aside", func() bool {
		_, err := os.Stat(filepath.Join(string(l.dir), "quarantine", run+".1", "dispatch"))
		return err == nil && !a.Exists()
	})
	l.wait("the attempt to leave the inventory", func() bool {
		beats := framesOf[*wire.Heartbeat](l.o)
		return len(*beats[len(beats)-1].Runs) == 0
	})
	if strings.Contains(l.logs.String(), "panic") {
		t.Error("the worker panicked")
	}
	l.idle()
}
