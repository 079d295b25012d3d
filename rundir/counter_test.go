package rundir_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"svc"
	"svc/internal/waittest"
	"svc/rundir"
)

// stopInTheMiddle holds every lock that a reporting process takes, like a process that was suspended.
func stopInTheMiddle(t *testing.T, a rundir.Attempt) (resume func()) {
	t.Helper()
	var held []*os.File
	for _, path := range []string{a.SessionPath(), a.SessionFile("counter")} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, f)
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, f := range held {
			_ = f.Close()
		}
	}
}

func TestNumbersGrowThroughAContendedLock(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	var numbers []int64
	report := func(message string) {
		t.Helper()
		numbers = append(numbers, *put(t, d, progress(a.RunID, message)).Frame.Seq)
	}
	report("before")
	resume := stopInTheMiddle(t, a)
	report("while another process is stopped")
	resume()
	report("after")
	report("needs you")
	for i := 1; i < len(numbers); i++ {
		if numbers[i] <= numbers[i-1] {
			t.Fatalf("numbers %v: a later progress is stale", numbers)
		}
	}
}

func TestALostCounterGoesOnBeyondEveryNumber(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	ahead := time.Now().Add(240 * time.Hour).UnixMicro() // the clock was ahead and was corrected
	if err := os.WriteFile(a.SessionFile("counter"), fmt.Appendf(nil, "%020d", ahead), 0o600); err != nil {
		t.Fatal(err)
	}
	last := put(t, d, progress(a.RunID, "one")).Number
	for _, loss := range []func() error{
		func() error { return os.Remove(a.SessionFile("counter")) },
		func() error { return os.WriteFile(a.SessionFile("counter"), nil, 0o600) },
		func() error { return os.WriteFile(a.SessionFile("counter"), []byte("99999999999999999999999"), 0o600) },
		func() error { return os.RemoveAll(a.Path()) },
	} {
		if err := loss(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			e := put(t, d, progress(a.RunID, "more"))
			if e.Number <= last || e.Number >= 1<<53 {
				t.Fatalf("number %d follows %d", e.Number, last)
			}
			last = e.Number
		}
	}
}

func TestACounterOfAnEarlierVersionGoesOn(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	if err := os.WriteFile(a.SessionFile("counter"), []byte("00000000000000000041"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want := int64(42); want < 45; want++ {
		if got := put(t, d, progress(a.RunID, "x")).Number; got != want {
			t.Errorf("number %d, want %d", got, want)
		}
	}
}

// TestNumbersOfProcessesThatAreKilledAndStoppedOnlyGrow lets many processes report concurrently, and kills or
// suspends some at arbitrary moments. The signals of one process, or of one after another, must have unique
// numbers in the order of their emission.
func TestNumbersOfProcessesThatAreKilledAndStoppedOnlyGrow(t *testing.T) {
	t.Parallel()
	d := open(t)
	a := create(t, d, 1)
	floor := int64(0)
	for round := range 4 {
		var running []*exec.Cmd
		for range 6 {
			running = append(running, putterProcess(t, d, a.RunID))
		}
		waittest.Eventually(t, "the first signal of the round", func() bool { return newest(t, d) > floor })
		stopped := running[round%len(running)]
		_ = stopped.Process.Signal(syscall.SIGSTOP) // it may have ended
		_ = running[(round+1)%len(running)].Process.Kill()
		e := put(t, d, progress(a.RunID, "parent")) // it waits for the suspended process at most orderPatience
		_ = stopped.Process.Signal(syscall.SIGCONT)
		for _, cmd := range running {
			_ = cmd.Wait() // one was killed
		}
		if e.Number <= floor {
			t.Fatalf("number %d after all before were at %d", e.Number, floor)
		}
		floor = newest(t, d)
	}
	seen, last := map[int64]bool{}, map[string]int64{}
	for _, e := range pending(t, d) {
		message := e.Frame.Payload
		if seen[*e.Frame.Seq] {
			t.Errorf("number %d was given twice", *e.Frame.Seq)
		}
		seen[*e.Frame.Seq] = true
		who, count := senderOf(t, string(message))
		if int64(count) <= last[who] && who != "parent" {
			t.Errorf("signal %d of %s comes after its signal %d", count, who, last[who])
		}
		last[who] = int64(count)
	}
	if put(t, d, progress(a.RunID, "last")).Number <= floor {
		t.Error("the numbers have gone back")
	}
	// A killed process leaves at most unfinished files.
	files, _ := filepath.Glob(filepath.Join(d.SpoolPath(), "bad", "*"))
	if len(files) > 0 {
		t.Errorf("damaged signals: %q", files)
	}
}

func newest(t *testing.T, d rundir.Dir) (number int64) {
	t.Helper()
	for _, e := range pending(t, d) {
		number = max(number, e.Number)
	}
	return number
}

// senderOf parses "from PID, COUNT".
func senderOf(t *testing.T, payload string) (who string, count int) {
	t.Helper()
	_, rest, ours := strings.Cut(payload, "from ")
	if !ours {
		return "parent", 0
	}
	if _, err := fmt.Sscanf(rest, "%s %d", &who, &count); err != nil {
		t.Fatalf("payload %q: %v", payload, err)
	}
	return who, count
}

func TestTheEndHasItsPlaceOnAFullDiskBehindManySignals(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	d, err := rundir.Open(disk)
	if err != nil {
		t.Fatal(err)
	}
	a := create(t, d, 1)
	// The next number needs a block of its own.
	if err := os.Truncate(a.SessionFile("counter"), 4096); err != nil {
		t.Fatal(err)
	}
	last := int64(4096 - 20)
	fill(t, disk)
	if _, err := d.Put(progress(a.RunID, "half")); !errors.Is(err, rundir.ErrNoSpace) {
		t.Errorf("progress on a full disk: %v", err)
	}
	if e := put(t, d, a.Signal(rundir.Exit{Code: 1, At: at})); e.Number <= last {
		t.Errorf("the end has number %d, after %d", e.Number, last)
	}
	if _, err := os.Stat(a.File("reserve.finished")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the reserve was not used: %v", err)
	}
	if got := pending(t, d); len(got) != 1 || got[0].Kind() != svc.SignalFinished {
		t.Errorf("pending %v", got)
	}
}
