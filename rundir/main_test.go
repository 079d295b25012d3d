package rundir_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc"
	"svc/rundir"
)

// TestMain lets the test binary act as a process that reports progress, for the tests that need several
// processes.
func TestMain(m *testing.M) {
	if dir := os.Getenv("RUNDIR_TEST_PUT"); dir != "" {
		os.Exit(putMany(dir, os.Getenv("RUNDIR_TEST_RUN")))
	}
	goleak.VerifyTestMain(m)
}

const putsPerProcess = 25

func putMany(dir, runID string) int {
	for i := range putsPerProcess {
		message := fmt.Sprintf("from %d %d", os.Getpid(), i+1)
		if _, err := rundir.Dir(dir).Put(progress(runID, message)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

func putterProcess(t *testing.T, dir rundir.Dir, runID string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "RUNDIR_TEST_PUT="+string(dir), "RUNDIR_TEST_RUN="+runID)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func open(t *testing.T) rundir.Dir {
	t.Helper()
	d, err := rundir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func create(t *testing.T, d rundir.Dir, number int) rundir.Attempt {
	t.Helper()
	a := d.Attempt(svc.NewRunID(), number)
	if err := a.Create(); err != nil {
		t.Fatal(err)
	}
	return a
}

var at = svc.TimeOf(time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC))

func progress(runID, message string) svc.Signal {
	return svc.Signal{
		RunID: runID, Attempt: 1, Kind: svc.SignalProgress, Source: svc.FromHook,
		Message: message, Timestamp: at,
	}
}

func put(t *testing.T, d rundir.Dir, s svc.Signal) rundir.Entry {
	t.Helper()
	e, err := d.Put(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func pending(t *testing.T, d rundir.Dir) []rundir.Entry {
	t.Helper()
	entries, bad, err := d.Pending()
	if err != nil || len(bad) > 0 {
		t.Fatalf("pending: %v, bad %q", err, bad)
	}
	return entries
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
