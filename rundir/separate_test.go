package rundir_test

import (
	"os"
	"path/filepath"
	"testing"

	"svc"
	"svc/rundir"
)

func TestAWorkerMovesToAFolderOfItsOwnAndItsSessionsFindTheirs(t *testing.T) {
	t.Parallel()
	d := open(t)
	shared := string(d)
	own := filepath.Join(shared, "worker")
	before := create(t, d, 1)
	if err := before.WriteDispatch(rundir.Dispatch{State: rundir.StateRunning}); err != nil {
		t.Fatal(err)
	}
	waiting := put(t, d, progress(before.RunID, "before"))
	for name, text := range map[string]string{"instance_id": "id", "token": "secret", "runs/" + before.RunID + ".log": "output"} {
		if err := os.WriteFile(filepath.Join(shared, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for range 2 { // the second call changes nothing
		moved, err := rundir.Separate(shared, own)
		if err != nil {
			t.Fatal(err)
		}
		if got := pending(t, moved); len(got) != 1 || got[0].Number != waiting.Number {
			t.Errorf("what waits: %+v", got)
		}
		if rec, err := moved.Attempt(before.RunID, 1).ReadDispatch(); err != nil || rec.State != rundir.StateRunning {
			t.Errorf("dispatch: %+v, %v", rec, err)
		}
	}
	// The running session has the path of the former folder, and the worker finds the session's records.
	if err := before.WriteExit(rundir.Exit{Code: 7}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Put(svc.Signal{RunID: before.RunID, Attempt: 1, Kind: svc.SignalFinished, Source: svc.FromWrapper, ExitCode: 7}); err != nil {
		t.Fatal(err)
	}
	moved := rundir.Dir(own)
	if exit, err := moved.Attempt(before.RunID, 1).ReadExit(); err != nil || exit.Code != 7 {
		t.Errorf("exit: %+v, %v", exit, err)
	}
	if got := pending(t, moved); len(got) != 2 {
		t.Errorf("what waits: %+v", got)
	}
	for _, name := range []string{"instance_id", "runs/" + before.RunID + ".log"} {
		if _, err := os.Stat(filepath.Join(own, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(filepath.Join(shared, "token")); err != nil {
		t.Errorf("what is the orchestrator's moved: %v", err)
	}

	// When no attempt is left, the links from the shared folder to the worker's are removed.
	if err := moved.Attempt(before.RunID, 1).Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := rundir.Separate(shared, own); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"runs", "spool"} {
		if _, err := os.Lstat(filepath.Join(shared, name)); err == nil {
			t.Errorf("%s is still in the shared folder", name)
		}
	}
}

func TestAMoveThatWasInterruptedIsFinished(t *testing.T) {
	t.Parallel()
	d := open(t)
	shared, own := string(d), filepath.Join(string(d), "worker")
	before := create(t, d, 1)
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("worker/runs", filepath.Join(own, "runs")); err != nil { // interrupted right before the exchange
		t.Fatal(err)
	}
	moved, err := rundir.Separate(shared, own)
	if err != nil {
		t.Fatal(err)
	}
	if !moved.Attempt(before.RunID, 1).Exists() || !before.Exists() {
		t.Error("the attempt is not found from both sides")
	}
}
