package hub

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/internal/clocktest"
	"svc/internal/waittest"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func latest(t *testing.T, p *Panes, runID string) *PaneSnapshot {
	t.Helper()
	s, ok, err := p.Latest(runID)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Fatalf("run %s has no screen", runID)
	}
	return s
}

func next(t *testing.T, w *PaneWatch) *PaneSnapshot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Patience)
	defer cancel()
	s, err := w.Next(ctx)
	if err != nil {
		t.Fatalf("no next screen: %v", err)
	}
	return s
}

func watch(t *testing.T, p *Panes, runID string) *PaneWatch {
	t.Helper()
	w, err := p.Watch(runID)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestARunWithoutAScreenHasNone(t *testing.T) {
	t.Parallel()
	p := NewPanes(t.TempDir(), quiet())
	for _, id := range []string{svc.NewRunID(), "", "../../etc", strings.Repeat("x", 36)} {
		if _, ok, err := p.Latest(id); ok || err != nil {
			t.Errorf("Latest(%q) = %v, %v; want none", id, ok, err)
		}
	}
}

func TestAnUnchangedScreenWakesNobodyAndKeepsItsSeq(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, run := NewPanes(t.TempDir(), quiet()), svc.NewRunID()
		if !p.Put(run, 1, "", 1) {
			t.Error("an empty first screen must count as a change")
		}
		w := watch(t, p, run)
		defer w.Close()
		first := next(t, w)
		if p.Put(run, 1, "", 2) {
			t.Error("the same screen must not count as a change")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if s, err := w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next = %v, %v; want to wait", s, err)
		}
		p.Put(run, 1, "b", 3)
		if got := next(t, w); got.Capture != "b" || got.Seq <= first.Seq {
			t.Errorf("got %q with seq %d after seq %d", got.Capture, got.Seq, first.Seq)
		}
	})
}

func TestASlowViewerSkipsToTheNewestAndSharesItsBytes(t *testing.T) {
	t.Parallel()
	p, run := NewPanes(t.TempDir(), quiet()), svc.NewRunID()
	a, b := watch(t, p, run), watch(t, p, run)
	defer a.Close()
	defer b.Close()
	var last int64
	for i := range 100 {
		p.Put(run, 1, strings.Repeat("x", i), svc.Time(i))
		if s := latest(t, p, run); s.Seq <= last {
			t.Fatalf("seq %d after %d", s.Seq, last)
		} else {
			last = s.Seq
		}
	}
	sa, sb := next(t, a), next(t, b)
	if len(sa.Capture) != 99 || &sa.JSON()[0] != &sb.JSON()[0] {
		t.Errorf("viewers got %d and %d characters and not the same bytes", len(sa.Capture), len(sb.Capture))
	}
}

func TestTheFrameHasExactlyItsFields(t *testing.T) {
	t.Parallel()
	p, run := NewPanes(t.TempDir(), quiet()), svc.NewRunID()
	capture := "\x1b[31m<rot> & 日本語\x1b[0m\n"
	p.Put(run, 1, capture, 1700000000000)
	var got map[string]any
	if err := json.Unmarshal(latest(t, p, run).JSON(), &got); err != nil {
		t.Fatal(err)
	}
	seq, _ := got["seq"].(float64)
	if len(got) != 5 || got["type"] != "pane_snapshot" || got["run_id"] != run || got["capture"] != capture ||
		got["timestamp"] != "2023-11-14T22:13:20.000Z" || seq <= 0 {
		t.Errorf("got %v", got)
	}
}

// serve runs p until the end of the test or until stop is called.
func serve(t *testing.T, p *Panes) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = p.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(stop)
	return stop
}

func TestAChangingScreenIsWrittenAtShutdownAndNotBefore(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), svc.NewRunID()
	synctest.Test(t, func(t *testing.T) {
		p := NewPanes(dir, quiet())
		stop := serve(t, p)
		for i := range 3600 { // an hour with a screen every second
			p.Put(run, 1, strings.Repeat("y", i+1), svc.Time(i))
			clocktest.Pass(time.Second)
			synctest.Wait()
			if _, err := os.Stat(relayDir(dir).pane(run)); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("it is on disk after %d s (%v)", i, err)
			}
		}
		seq := latest(t, p, run).Seq
		stop()
		if got := latest(t, NewPanes(dir, quiet()), run); len(got.Capture) != 3600 || got.Seq != seq || got.Attempt != 1 || got.Final {
			t.Errorf("after a shutdown: %d characters, attempt %d, final %v, seq %d, want seq %d", len(got.Capture), got.Attempt, got.Final, got.Seq, seq)
		}
	})
}

func TestAKilledServerNeverTakesSeqBack(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), svc.NewRunID()
	synctest.Test(t, func(t *testing.T) {
		p := NewPanes(dir, quiet())
		p.Put(run, 1, "lost", 1)
		lost := latest(t, p, run)
		clocktest.Pass(time.Millisecond)
		killed := NewPanes(dir, quiet()) // the state that a process would read after a crash
		killed.Put(run, 1, "again", 2)
		if got := latest(t, killed, run); got.Seq <= lost.Seq {
			t.Errorf("seq %d after a kill, %d was seen before", got.Seq, lost.Seq)
		}
	})
}

func TestMemoryForScreensIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := NewPanes(dir, quiet())
		defer serve(t, p)()
		screen := strings.Repeat("x", 1<<20)
		runs := make([]string, 100)
		for i := range runs {
			runs[i] = svc.NewRunID()
			p.Put(runs[i], 1, screen, 1)
			clocktest.Pass(time.Millisecond)
			synctest.Wait()
			p.mu.Lock()
			held, n := p.bytes, len(p.runs)
			p.mu.Unlock()
			if held > paneMemory || held != n<<20 {
				t.Fatalf("%d bytes of %d screens are in memory", held, n)
			}
		}
		for _, run := range runs {
			if len(latest(t, p, run).Capture) != len(screen) {
				t.Errorf("the screen of %s is not whole", run)
			}
		}
	})
}

// The screen at the end of a session is on disk when PutFinal returns, even if it did not change. An older screen
// does not replace it.
func TestAFinalScreenIsOnDiskAndStays(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), svc.NewRunID()
	p := NewPanes(dir, quiet())
	p.Put(run, 1, "the end", 1)
	w := watch(t, p, run)
	defer w.Close()
	seen := next(t, w)
	check := func(p *Panes, what string) {
		t.Helper()
		if got := latest(t, p, run); got.Capture != "the end" || !got.Final || got.Attempt != 1 || got.Timestamp != 2 || got.Seq != seen.Seq {
			t.Errorf("%s: %q of attempt %d at %d, final %v, seq %d", what, got.Capture, got.Attempt, got.Timestamp, got.Final, got.Seq)
		}
	}
	if err := p.PutFinal(run, 1, "the end", 2); err != nil {
		t.Fatal(err)
	}
	check(p, "here")
	check(NewPanes(dir, quiet()), "after a kill")
	for _, p := range []*Panes{p, NewPanes(dir, quiet())} {
		if p.Put(run, 1, "late", 3) {
			t.Error("a late screen was taken")
		}
		check(p, "after a late screen")
	}
	if !p.Put(run, 2, "the end", 4) && latest(t, p, run).Final {
		t.Error("the next attempt's screen counts as final")
	}
}

func TestKeepWritesAtOnceAndLeavesMemory(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), svc.NewRunID()
	p := NewPanes(dir, quiet())
	p.Put(run, 1, "final", 1)
	if err := p.Keep(run); err != nil {
		t.Fatal(err)
	}
	if len(p.runs) != 0 {
		t.Errorf("%d runs in memory", len(p.runs))
	}
	info, err := os.Stat(relayDir(dir).pane(run))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	kept := latest(t, p, run)
	w := watch(t, p, run)
	if got := next(t, w); got.Capture != "final" || got.Seq != kept.Seq {
		t.Errorf("watched %q with seq %d", got.Capture, got.Seq)
	}
	p.Put(run, 1, "after the end", 2) // a late screen is still stored
	if got := next(t, w); got.Capture != "after the end" || got.Seq <= kept.Seq {
		t.Errorf("then %q", got.Capture)
	}
	if err := p.Keep(run); err != nil || len(p.runs) != 1 {
		t.Errorf("kept: %v, %d in memory; a watched run stays", err, len(p.runs))
	}
	w.Close()
	if err := p.Keep(svc.NewRunID()); err != nil {
		t.Errorf("a run without a screen: %v", err)
	}
}

func TestAnIdleScreenLeavesMemoryAndIsFoundAgain(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), svc.NewRunID()
	synctest.Test(t, func(t *testing.T) {
		p := NewPanes(dir, quiet())
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = p.Run(ctx) })
		p.Put(run, 1, "idle", 1)
		clocktest.Pass(2 * paneIdle)
		synctest.Wait()
		p.mu.Lock()
		n := len(p.runs)
		p.mu.Unlock()
		if n != 0 || latest(t, p, run).Capture != "idle" || p.Put(run, 1, "idle", 2) {
			t.Errorf("%d runs in memory", n)
		}
		cancel()
		wg.Wait()
	})
}

func TestAScreenThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), svc.NewRunID()
	if err := os.WriteFile(filepath.Join(dir, run), nil, 0o600); err != nil { // at the path of its folder
		t.Fatal(err)
	}
	p := NewPanes(dir, quiet())
	p.Put(run, 1, "stubborn", 1)
	if err := p.Keep(run); err == nil {
		t.Error("no error")
	}
	if p.bytes == 0 {
		t.Error("it left memory")
	}
	if err := os.Remove(filepath.Join(dir, run)); err != nil {
		t.Fatal(err)
	}
	if err := p.Keep(run); err != nil {
		t.Error(err)
	}
	if got := latest(t, NewPanes(dir, quiet()), run); got.Capture != "stubborn" {
		t.Errorf("got %q", got.Capture)
	}
}

func TestADamagedFileIsReplaced(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), svc.NewRunID()
	if err := os.Mkdir(filepath.Join(dir, run), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(relayDir(dir).pane(run), []byte(`{"seq":`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := NewPanes(dir, quiet())
	if _, _, err := p.Latest(run); err == nil {
		t.Error("no error for a damaged file")
	}
	p.Put(run, 1, "new", 1)
	if err := p.Keep(run); err != nil || latest(t, p, run).Capture != "new" {
		t.Errorf("kept: %v", err)
	}
}

func TestPurgeTakesOldScreensOfRunsThatAreOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := NewPanes(dir, quiet())
	old, young, live, inUse := svc.NewRunID(), svc.NewRunID(), svc.NewRunID(), svc.NewRunID()
	for _, run := range []string{old, young, live, inUse} {
		p.Put(run, 1, "x", 1)
		if err := p.Keep(run); err != nil {
			t.Fatal(err)
		}
	}
	w := watch(t, p, inUse)
	defer w.Close()
	long := time.Now().Add(-48 * time.Hour)
	for _, run := range []string{old, live, inUse} {
		if err := os.Chtimes(relayDir(dir).pane(run), long, long); err != nil {
			t.Fatal(err)
		}
	}
	n, err := p.Purge(time.Now().Add(-24*time.Hour), func(runID string) bool { return runID == live })
	if n != 1 || err != nil {
		t.Errorf("purged %d, %v", n, err)
	}
	if _, err := os.Stat(relayDir(dir).run(old)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the purged run: %v", err)
	}
	for _, run := range []string{young, live, inUse} {
		latest(t, p, run)
	}
}

// A deposed leader writes its screens at the end of its term, which may be after its successor got the last screen of
// a run.
func TestTheScreensOfADeposedLeaderAreTheOlder(t *testing.T) {
	t.Parallel()
	run, ctx := svc.NewID(), t.Context()
	file := run + "/pane.json"
	dirs := [2]string{t.TempDir(), t.TempDir()}
	deposed, successor := NewPanes(dirs[0], quiet()), NewPanes(dirs[1], quiet())
	content := func(i int) []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dirs[i], file))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	older := OlderFile(file)
	if older == nil {
		t.Fatal("screens are told apart by the times of their files")
	}
	check := func(what string, first, second []byte, want bool) {
		t.Helper()
		if got := older(first, second); got != want {
			t.Errorf("%s: older is %v", what, got)
		}
	}

	deposed.Put(run, 1, "an earlier screen", 1000)
	if err := successor.PutFinal(run, 1, "the last screen", 900); err != nil { // with an earlier time, because the clock was set back
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := deposed.Run(ended); err != nil {
		t.Fatal(err)
	}
	check("a screen before the last", content(0), content(1), true)
	check("the last screen after one before", content(1), content(0), false)
	check("the same", content(1), content(1), false)
	check("a broken file", []byte("{"), content(0), true)
	check("what is to replace a broken file", content(0), []byte("{"), false)

	last := content(1)
	successor.Put(run, 2, "of the next attempt", 800)
	if err := successor.Keep(run); err != nil {
		t.Fatal(err)
	}
	check("the last screen of the attempt before", last, content(1), true)
	early := content(1)
	successor.Put(run, 2, "a later one", 850)
	if err := successor.Keep(run); err != nil {
		t.Fatal(err)
	}
	check("a screen that was taken earlier", early, content(1), true)
	check("a screen that was taken later", content(1), early, false)
	if OlderFile(run+"/1.log") != nil {
		t.Error("a log says how old it is")
	}
}
