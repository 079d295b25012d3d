package rundir_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"svc"
	"svc/rundir"
)

func TestSignalsWaitInTheOrderOfTheirEmission(t *testing.T) {
	t.Parallel()
	d := open(t)
	var want []string
	a := create(t, d, 2)
	pid := 7
	for _, s := range []svc.Signal{
		{Kind: svc.SignalStarted, Source: svc.FromWrapper, PID: &pid},
		{Kind: svc.SignalProgress, Source: svc.FromHook, Message: "half"},
		{Kind: svc.SignalCompleted, Source: svc.FromHook, Result: svc.ResultSuccess},
		{Kind: svc.SignalFinished, Source: svc.FromWrapper, ExitCode: 3},
	} {
		s.RunID, s.Attempt, s.Timestamp = a.RunID, a.Number, at
		want = append(want, asJSON(t, put(t, d, s).Frame))
	}
	late := svc.Signal{RunID: a.RunID, Attempt: 10, Kind: svc.SignalStarted, Source: svc.FromWrapper, Timestamp: at}
	want = append(want, asJSON(t, put(t, d, late).Frame))

	var got []string
	for _, e := range pending(t, d) {
		got = append(got, asJSON(t, e.Frame))
		if _, err := e.Frame.Parse(e.RunID()); err != nil {
			t.Errorf("%s: the orchestrator would refuse it: %v", e.Path, err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestADeliveredSignalIsGoneAndMayBeDeliveredByTwo(t *testing.T) {
	t.Parallel()
	d := open(t)
	e := put(t, d, progress(svc.NewRunID(), "hello"))
	if err := errors.Join(d.Done(e), d.Done(e)); err != nil {
		t.Error(err)
	}
	if left := pending(t, d); len(left) != 0 {
		t.Errorf("%d are left", len(left))
	}
}

func TestProgressOfManyProcessesIsNumberedUniquely(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	const processes = 6
	var running []*exec.Cmd
	for range processes {
		cmd := putterProcess(t, d, a.RunID)
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	got := pending(t, d)
	if len(got) != processes*putsPerProcess {
		t.Errorf("%d signals wait", len(got))
	}
	for i, e := range got {
		if got, want := *e.Frame.Seq, int64(i+1); got != want || e.Number != want {
			t.Fatalf("signal %d has seq %d and number %d", i, got, e.Number)
		}
	}
}

func TestADamagedSignalIsSetAsideAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	torn := put(t, d, progress(a.RunID, "torn"))
	good := put(t, d, progress(a.RunID, "good"))
	stray := filepath.Join(d.SpoolPath(), "README")
	whole, err := os.ReadFile(torn.Path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		err := errors.Join(os.WriteFile(torn.Path, whole[:n], 0o600), os.WriteFile(stray, []byte("hi"), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		entries, bad, err := d.Pending()
		if err != nil || len(entries) != 1 || entries[0].Path != good.Path || len(bad) != 2 {
			t.Fatalf("cut to %d: entries %v, bad %q, %v", n, entries, bad, err)
		}
	}
	if _, err := os.Stat(filepath.Join(d.SpoolPath(), "bad", filepath.Base(torn.Path))); err != nil {
		t.Error(err)
	}
}

func TestASignalUnderTheNameOfAnotherIsDamage(t *testing.T) {
	t.Parallel()
	d := open(t)
	e := put(t, d, progress(svc.NewRunID(), "x"))
	if err := os.Rename(e.Path, e.Path+"x"); err != nil {
		t.Fatal(err)
	}
	entries, bad, err := d.Pending()
	if len(entries) != 0 || len(bad) != 1 || err != nil {
		t.Errorf("got %v, %q, %v", entries, bad, err)
	}
}

func TestADamagedCounterGoesOnBeyondEveryNumber(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	first := put(t, d, progress(a.RunID, "one"))
	if err := os.WriteFile(a.SessionFile("counter"), []byte("000"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := put(t, d, progress(a.RunID, "two"))
	third := put(t, d, progress(a.RunID, "three"))
	if first.Number >= second.Number || second.Number+1 != third.Number || third.Number >= 1<<53 {
		t.Errorf("numbers %d, %d, %d", first.Number, second.Number, third.Number)
	}
}

func TestALateSignalOfAClearedAttemptIsStillTaken(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	if err := a.Remove(); err != nil {
		t.Fatal(err)
	}
	put(t, d, progress(a.RunID, "late"))
	if got := len(pending(t, d)); got != 1 {
		t.Errorf("%d are pending", got)
	}
}

func TestASignalOfNoAttemptIsRefused(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, s := range []svc.Signal{progress("../../etc", "x"), {RunID: svc.NewRunID(), Kind: svc.SignalStarted}} {
		if _, err := d.Put(s); err == nil {
			t.Errorf("%+v was taken", s)
		}
	}
}

func TestSweepRemovesWhatACrashLeftAndNothingElse(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	kept := put(t, d, progress(a.RunID, "x"))
	left := filepath.Join(d.SpoolPath(), ".tmp-1")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Sweep(time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Errorf("a young file was swept: %v", err)
	}
	writing, err := os.OpenFile(left, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(writing.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := d.Sweep(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Errorf("the file of a writer that lives was swept: %v", err)
	}
	if err := writing.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Sweep(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if got := pending(t, d); len(got) != 1 || got[0].Path != kept.Path {
		t.Errorf("pending %v", got)
	}
}

// TestASpoolThatBecomesALinkLeadsToNobodyElses replaces a session's spool by a link to a neighbour's, after an
// entry was read and before the next operation on it.
func TestASpoolThatBecomesALinkLeadsToNobodyElses(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(rundir.Dir, rundir.Entry) error{
		"delivered": rundir.Dir.Done, "refused": rundir.Dir.Reject,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			a, neighbour := create(t, d, 1), create(t, d, 1)
			e, err := a.Put(progress(a.RunID, "mine"), "token")
			if err != nil {
				t.Fatal(err)
			}
			theirs := filepath.Join(neighbour.SpoolPath(), filepath.Base(e.Path))
			if err := os.WriteFile(theirs, []byte("a neighbour's"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Rename(a.SpoolPath(), a.SpoolPath()+".moved"), os.Symlink(neighbour.SpoolPath(), a.SpoolPath())); err != nil {
				t.Fatal(err)
			}
			if err := do(d, e); err != nil {
				t.Error(err)
			}
			if b, err := os.ReadFile(theirs); err != nil || string(b) != "a neighbour's" {
				t.Errorf("the neighbour's file: %q, %v", b, err)
			}
		})
	}
}

func FuzzSpoolRecord(f *testing.F) {
	f.Add("11111111-1111-4111-8111-111111111111.1.00000000000000000001.progress", []byte("svc-record-1 "))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		d := open(t)
		good := put(t, d, progress(svc.NewRunID(), "good"))
		if name != filepath.Base(name) || os.WriteFile(filepath.Join(d.SpoolPath(), name), data, 0o600) != nil {
			t.Skip("the fuzzer chose what cannot be a file's name")
		}
		for range 2 {
			entries, _, err := d.Pending()
			if err != nil || !slices.ContainsFunc(entries, func(e rundir.Entry) bool { return e.Path == good.Path }) {
				t.Fatalf("the good signal was lost: %v", err)
			}
		}
	})
}

func TestAnIndexReadsASignalOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	first := put(t, d, progress(a.RunID, "first"))
	index := d.IndexSpool()
	paths := func() (paths []string) {
		entries, bad, err := index.Pending(nil)
		if err != nil || len(bad) != 0 {
			t.Fatalf("bad %q, %v", bad, err)
		}
		for _, e := range entries {
			paths = append(paths, e.Path)
		}
		return paths
	}
	if got := paths(); !slices.Equal(got, []string{first.Path}) {
		t.Fatalf("pending %q", got)
	}
	// A second reading would find this damage.
	if err := os.WriteFile(first.Path, []byte("not a record"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := put(t, d, progress(a.RunID, "second"))
	if got := paths(); !slices.Equal(got, []string{first.Path, second.Path}) {
		t.Errorf("pending %q, want both", got)
	}
	if err := d.Done(first); err != nil {
		t.Fatal(err)
	}
	if got := paths(); !slices.Equal(got, []string{second.Path}) {
		t.Errorf("pending %q, want what is left", got)
	}
}
