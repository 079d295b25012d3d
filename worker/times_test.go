package worker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/rundir"
	"svc/tmux"
	"svc/wire"
	"svc/wrapper"
)

// timesIn reads a file of times from the log's first byte on.
func timesIn(path string) []wire.LogTime {
	r := timesReader{path: path}
	times, _ := r.between(0, 1<<40)
	return times
}

func madeTimes(t *testing.T, base int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "times")
	if err := rundir.MakeTimes(path, base, tmux.DefaultCols, tmux.DefaultRows, time.UnixMilli(5000)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestThereNeedBeNoTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(madeTimes(t, 0), link); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("nothing of ours\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", filepath.Join(dir, "none"), link, broken} {
		log := filepath.Join(dir, "log")
		if err := wrapper.Sink(strings.NewReader("text"), log, 0, "", path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
		r := timesReader{path: path}
		if times, to := r.between(0, 4); len(times) > 0 || to != 4 {
			t.Errorf("%q has the times %v up to %d", path, times, to)
		}
	}
	if text, err := os.ReadFile(broken); err != nil || string(text) != "nothing of ours\n" {
		t.Errorf("the broken one is %q, %v", text, err)
	}
}

// TestALineOfTheOtherWriterCounts: the worker records the size of the terminal, and its line may be a moment
// late.
func TestALineOfTheOtherWriterCounts(t *testing.T) {
	t.Parallel()
	path := madeTimes(t, 0)
	r := timesReader{path: path}
	r.between(0, 200)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString("50 100 80 24\n60 300\n55 250 90 30\n70 400\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	got, _ := r.between(200, 400)
	want := []wire.LogTime{{Ms: 50, Offset: 200, Cols: 80, Rows: 24}, {Ms: 60, Offset: 300}, {Ms: 55, Offset: 300, Cols: 90, Rows: 30}}
	if !slices.Equal(got, want) {
		t.Errorf("times are %v, want %v", got, want)
	}
}

func (l *lab) timesOf(run string, attempt int) []wire.LogTime {
	l.o.mu.Lock()
	defer l.o.mu.Unlock()
	return slices.Clone(l.o.times[key{run, attempt}])
}

// TestARunIsRecordedOverARestartOfItsWorker: the second worker continues where the first was killed, resizes
// are in the recording, and a later attempt begins a recording of its own.
func TestARunIsRecordedOverARestartOfItsWorker(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first := l.spawnWorker()
	run := l.begin(`echo before; read line; echo "after $line"; read line`)
	l.wait("the first output", func() bool { return strings.Contains(l.o.log(run, 1), "before") })
	if err := first.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	l.start()
	l.foundAgain()
	l.o.send(&wire.AttachOpen{AttachID: "a", RunID: run, Attempt: 1, Rows: 30, Cols: 100})
	l.wait("the new size", func() bool { return slices.Contains(l.o.sizes("a"), paneSize{100, 30}) })
	l.o.send(&wire.Keys{RequestID: "k", RunID: run, Attempt: 1, Keys: []string{"yes", "Enter"}})
	l.wait("the second output", func() bool { return strings.Contains(l.o.log(run, 1), "after yes") })
	l.o.send(&wire.Keys{RequestID: "l", RunID: run, Attempt: 1, Keys: []string{"Enter"}})
	l.finished(run, 1)
	l.cleared(run, 1)

	times, log := l.timesOf(run, 1), l.o.log(run, 1)
	if len(times) < 3 || times[0].Cols != tmux.DefaultCols || times[0].At == 0 {
		t.Fatalf("times are %v", times)
	}
	resized := slices.IndexFunc(times, func(at wire.LogTime) bool { return at.Cols == 100 && at.Rows == 30 })
	if resized < 0 || times[resized].Offset > int64(strings.Index(log, "after")) || times[resized].Offset < int64(strings.Index(log, "before")) {
		t.Errorf("the new size is not where it came, between the two outputs: %v of %q", times, log)
	}
	if !slices.Equal(times, withBytes(timesIn(l.dir.TimesPath(run, 1)), int64(len(log)))) {
		t.Errorf("relayed were %v, noted %v", times, timesIn(l.dir.TimesPath(run, 1)))
	}

	l.dispatch(run, 2, "echo second")
	l.finished(run, 2)
	l.cleared(run, 2)
	if times := l.timesOf(run, 2); len(times) < 2 || times[0].Offset != 0 || times[0].At == 0 || times[1].Offset != 0 {
		t.Errorf("the second attempt has the times %v, want its own from its first byte on", times)
	}
	if got := l.timesOf(run, 1); !slices.Equal(got, times) {
		t.Errorf("the first attempt now has the times %v", got)
	}
}

// withBytes returns the times without those that are for no byte of a log of this length.
func withBytes(times []wire.LogTime, length int64) []wire.LogTime {
	return slices.DeleteFunc(times, func(at wire.LogTime) bool { return at.Offset >= length })
}

func TestTheTimesOfALogThatIsWantedAgainComeWithIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.start()
	run := svc.NewRunID()
	l.dispatch(run, 1, "echo hello")
	l.finished(run, 1)
	l.cleared(run, 1)
	times, log := l.timesOf(run, 1), l.o.log(run, 1)
	k := key{run, 1}
	l.o.set(func(o *orchestrator) {
		delete(o.logs, k)
		delete(o.times, k)
	})
	l.o.send(&wire.LogRead{RunID: run, Attempt: 1})
	l.wait("the log again", func() bool { return l.o.log(run, 1) == log })
	if got := l.timesOf(run, 1); len(times) == 0 || !slices.Equal(got, times) {
		t.Errorf("times are %v, want %v again", got, times)
	}
	l.wait("the attempt to be cleared away again", func() bool { return l.w.session(run, 1) == nil })
}

func TestAttemptsAreNotConfusedWithTimes(t *testing.T) {
	t.Parallel()
	dir, err := rundir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := svc.NewRunID()
	if err := rundir.MakeTimes(dir.TimesPath(run, 1), 0, tmux.DefaultCols, tmux.DefaultRows, time.Now()); err != nil {
		t.Fatal(err)
	}
	if found, err := dir.Attempts(); err != nil || len(found) > 0 {
		t.Errorf("attempts are %v, %v", found, err)
	}
}
