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
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
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
		if !p.Put(run, "", 1) {
			t.Error("an empty first screen must count as a change")
		}
		w := watch(t, p, run)
		defer w.Close()
		first := next(t, w)
		if p.Put(run, "", 2) {
			t.Error("the same screen must not count as a change")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if s, err := w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next = %v, %v; want to wait", s, err)
		}
		p.Put(run, "b", 3)
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
		p.Put(run, strings.Repeat("x", i), svc.Time(i))
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
	p.Put(run, capture, 1700000000000)
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

func TestAKilledServerLosesAtMostASecondAndNeverTakesSeqBack(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), svc.NewRunID()
	var lastSeq int64
	synctest.Test(t, func(t *testing.T) {
		p := NewPanes(dir, quiet())
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = p.Run(ctx) })
		p.Put(run, "old enough", 1)
		time.Sleep(paneWriteEvery)
		synctest.Wait()
		p.Put(run, "too new", 2)
		lastSeq = latest(t, p, run).Seq

		killed := NewPanes(dir, quiet()) // what a process would find that starts now
		if got := latest(t, killed, run); got.Capture != "old enough" || got.Timestamp != 1 {
			t.Errorf("after a kill: %q", got.Capture)
		}
		time.Sleep(time.Millisecond)
		killed.Put(run, "again", 3)
		if got := latest(t, killed, run); got.Seq <= lastSeq {
			t.Errorf("seq %d after a kill, %d was seen before", got.Seq, lastSeq)
		}

		cancel()
		wg.Wait()
		if got := latest(t, NewPanes(dir, quiet()), run); got.Capture != "too new" || got.Seq != lastSeq {
			t.Errorf("after a shutdown: %q with seq %d, want seq %d", got.Capture, got.Seq, lastSeq)
		}
	})
}

func TestAChangingScreenIsWrittenOnceASecond(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), svc.NewRunID()
	synctest.Test(t, func(t *testing.T) {
		p := NewPanes(dir, quiet())
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = p.Run(ctx) })
		writes, seen := 0, ""
		for i := range 3000 { // three seconds, a screen every millisecond
			p.Put(run, strings.Repeat("y", i+1), svc.Time(i))
			time.Sleep(time.Millisecond)
			synctest.Wait()
			b, _ := os.ReadFile(relayDir(dir).pane(run))
			if string(b) != seen {
				writes, seen = writes+1, string(b)
			}
		}
		cancel()
		wg.Wait()
		if writes != 3 {
			t.Errorf("%d writes in three seconds", writes)
		}
	})
}

func TestKeepWritesAtOnceAndLeavesMemory(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), svc.NewRunID()
	p := NewPanes(dir, quiet())
	p.Put(run, "final", 1)
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
	p.Put(run, "after the end", 2) // a late screen still counts
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
		p.Put(run, "idle", 1)
		time.Sleep(paneIdle + 2*paneWriteEvery)
		synctest.Wait()
		p.mu.Lock()
		n := len(p.runs)
		p.mu.Unlock()
		if n != 0 || latest(t, p, run).Capture != "idle" || p.Put(run, "idle", 2) {
			t.Errorf("%d runs in memory", n)
		}
		cancel()
		wg.Wait()
	})
}

func TestAScreenThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), svc.NewRunID()
	if err := os.WriteFile(filepath.Join(dir, run), nil, 0o600); err != nil { // where its folder must be
		t.Fatal(err)
	}
	p := NewPanes(dir, quiet())
	p.Put(run, "stubborn", 1)
	if err := p.Keep(run); err == nil {
		t.Error("no error")
	}
	p.flush()
	if err := os.Remove(filepath.Join(dir, run)); err != nil {
		t.Fatal(err)
	}
	p.flush()
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
	p.Put(run, "new", 1)
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
		p.Put(run, "x", 1)
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
