package rundir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"svc"
	"svc/process"
	"svc/rundir"
	"svc/wire"
)

func TestAttemptsListsTheFoldersOfAttemptsAlone(t *testing.T) {
	t.Parallel()
	d := open(t)
	run := "aaaaaaaa-1111-4111-8111-111111111111"
	for _, n := range []int{10, 2, 1} {
		if err := d.Attempt(run, n).Create(); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{run, run + ".0", run + ".01", run + ".x", "lost+found", run + ".1.bak"} {
		if err := os.MkdirAll(filepath.Join(string(d), "runs", other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(d.LogPath(run), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := d.Attempts()
	want := []rundir.Attempt{d.Attempt(run, 1), d.Attempt(run, 2), d.Attempt(run, 10)}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestTheRecordsOfAnAttemptAreReadAsWritten(t *testing.T) {
	t.Parallel()
	a := create(t, open(t), 3)
	dispatch := rundir.Dispatch{
		Run:        wire.RunDispatch{RunID: a.RunID, Attempt: 3, Prompt: "do it", Env: map[string]string{"A": "b"}},
		ReceivedAt: at, State: rundir.StateRunning, LogBase: 42,
		Session: &rundir.Session{Socket: "/run/x", PaneID: "%0", Pane: process.Self()},
	}
	child := process.ID{PID: 9, Start: 8}
	wrapper := rundir.Wrapper{Wrapper: process.Self(), Child: &child, At: at}
	exit := rundir.Exit{Code: 130, Reason: "hangup", At: at}
	if err := errors.Join(a.WriteDispatch(dispatch), a.WriteWrapper(wrapper), a.WriteExit(exit), a.WritePrompt("do it\n")); err != nil {
		t.Fatal(err)
	}
	gotDispatch, err1 := a.ReadDispatch()
	gotWrapper, err2 := a.ReadWrapper()
	gotExit, err3 := a.ReadExit()
	prompt, err4 := os.ReadFile(a.PromptPath())
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]any{{gotDispatch, dispatch}, {gotWrapper, wrapper}, {gotExit, exit}, {string(prompt), "do it\n"}} {
		if got, want := asJSON(t, pair[0]), asJSON(t, pair[1]); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if gotWrapper.Wrapper.PID != os.Getpid() || gotWrapper.Wrapper.Start == 0 {
		t.Errorf("this process is %+v", gotWrapper.Wrapper)
	}
}

func TestALaunchFileIsReadOnce(t *testing.T) {
	t.Parallel()
	a := create(t, open(t), 1)
	want := rundir.Launch{RunID: a.RunID, Attempt: 1, Argv: []string{"agent", "; rm -rf /"}, Env: []string{"KEY=secret"}, DataDir: string(a.Dir)}
	if err := a.WriteLaunch(want); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(a.LaunchPath())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	got, err := rundir.TakeLaunch(a.LaunchPath())
	if err != nil || asJSON(t, got) != asJSON(t, want) || got.AttemptFolder() != a {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := rundir.TakeLaunch(a.LaunchPath()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the second time: %v", err)
	}
}

func TestAnExitSaysWhatTheOrchestratorShallHear(t *testing.T) {
	t.Parallel()
	a := rundir.Dir("/x").Attempt(svc.NewRunID(), 4)
	ended, failed := a.Signal(rundir.Exit{Code: 2, Reason: "r", At: at}), a.Signal(rundir.Exit{Code: 127, Error: "no agent", At: at})
	if ended.Kind != svc.SignalFinished || ended.ExitCode != 2 || ended.Reason != "r" || ended.Attempt != 4 {
		t.Errorf("ended: %+v", ended)
	}
	if failed.Kind != svc.SignalFailed || failed.Error != "no agent" || failed.Source != svc.FromWrapper {
		t.Errorf("failed: %+v", failed)
	}
	if err := errors.Join(ended.Validate(), failed.Validate()); err != nil {
		t.Error(err)
	}
}

func TestOneWorkerPerDataDirectory(t *testing.T) {
	t.Parallel()
	d := open(t)
	if d.WorkerAlive() {
		t.Error("alive before any worker")
	}
	lock, err := d.HoldWorkerLock()
	if err != nil {
		t.Fatal(err)
	}
	if !d.WorkerAlive() {
		t.Error("not alive while it holds the lock")
	}
	if _, err := d.HoldWorkerLock(); !errors.Is(err, rundir.ErrWorkerRuns) {
		t.Errorf("a second worker: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if d.WorkerAlive() {
		t.Error("alive after the release")
	}
}

func TestAnAttemptOfAnEarlierVersionKeepsItsPlaces(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := d.Attempt(svc.NewRunID(), 1)
	if err := os.MkdirAll(filepath.Join(a.Path(), "spool"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.File("counter"), []byte("00000000000000000041"), 0o600); err != nil {
		t.Fatal(err)
	}
	told, ok := rundir.AttemptAt(a.Path()) // the path that an earlier session has
	if !ok || told != a {
		t.Fatalf("the attempt of %s: %+v, %v", a.Path(), told, ok)
	}
	e, err := told.Put(svc.Signal{RunID: a.RunID, Attempt: 1, Kind: svc.SignalProgress, Source: svc.FromHook, Message: "on", Timestamp: 1}, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(a.Path(), "spool"); filepath.Dir(e.Path) != want || e.Number != 42 {
		t.Errorf("number %d in %s; want 42 in %s", e.Number, e.Path, want)
	}
	if now, ok := rundir.AttemptAt(d.Attempt(a.RunID, 2).SessionPath()); !ok || now != d.Attempt(a.RunID, 2) {
		t.Errorf("a new attempt is not found by its session's folder: %+v, %v", now, ok)
	}
}
