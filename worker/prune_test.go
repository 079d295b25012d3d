package worker

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/config"
	"svc/internal/textbuffer"
	"svc/rundir"
)

func TestOnlyOldLogsThatTheOrchestratorHasArePruned(t *testing.T) {
	t.Parallel()
	dir, err := rundir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	old := now.AddDate(0, 0, -100)
	w := &Worker{dir: dir, log: quietLogger(&textbuffer.Buffer{}), opts: Options{Now: func() time.Time { return old }}}
	over := func(logAt time.Time, relayed ...bool) string {
		run := svc.NewRunID()
		if err := os.WriteFile(dir.LogPath(run), []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir.LogPath(run), logAt, logAt); err != nil {
			t.Fatal(err)
		}
		for i, r := range relayed {
			for _, path := range []string{dir.TimesPath(run, i+1), dir.ScreenPath(run, i+1)} {
				if err := os.WriteFile(path, []byte("12"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.recordEnd(run, rundir.Ended{Attempt: i + 1, Relayed: r}); err != nil {
				t.Fatal(err)
			}
		}
		return run
	}
	gone := over(old, true, true)
	kept := map[string]string{
		"its first attempt was not relayed":    over(old, false, true),
		"it was not relayed":                   over(old, true, false),
		"its log grew of late":                 over(now, true),
		"it is not over":                       over(old),
		"something of it waits to be told":     over(old, true),
		"another attempt of it has just begun": over(old, true),
	}
	if _, err := dir.Put(svc.Signal{RunID: kept["something of it waits to be told"], Attempt: 1, Kind: svc.SignalFinished, Source: svc.FromWrapper}); err != nil {
		t.Fatal(err)
	}
	if err := dir.Attempt(kept["another attempt of it has just begun"], 2).Create(); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		got, err := Prune(t.Context(), dir, now.AddDate(0, 0, -90), dry)
		if want := (Pruned{Runs: 1, Bytes: 5 + 2*(2+2), Unconfirmed: 4}); err != nil || got != want {
			t.Errorf("dry %v: %+v, %v; want %+v", dry, got, err, want)
		}
		for _, path := range []string{dir.LogPath(gone), dir.TimesPath(gone, 1), dir.TimesPath(gone, 2), dir.ScreenPath(gone, 1), dir.ScreenPath(gone, 2)} {
			if _, err := os.Stat(path); (err == nil) != dry {
				t.Errorf("dry %v: %s: %v", dry, path, err)
			}
		}
	}
	if over, err := w.readTombstone(gone); over != 0 || err != nil {
		t.Errorf("its tombstone says %d, %v", over, err)
	}
	for why, run := range kept {
		if _, err := os.Stat(dir.LogPath(run)); err != nil {
			t.Errorf("%s, but its log is gone: %v", why, err)
		}
	}
}

func TestATombstoneOfAnEarlierVersionCounts(t *testing.T) {
	t.Parallel()
	dir, err := rundir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{dir: dir, log: quietLogger(&textbuffer.Buffer{}), opts: Options{Now: time.Now}}
	run := svc.NewRunID()
	earlier := strings.TrimSuffix(dir.LogPath(run), ".log") + ".done" // the earlier path, beside the log
	if err := rundir.WriteRecord(earlier, rundir.Tombstone{Attempt: 2}); err != nil {
		t.Fatal(err)
	}
	if over, err := w.readTombstone(run); over != 2 || err != nil {
		t.Errorf("over %d, %v; want 2", over, err)
	}
	if err := w.recordEnd(run, rundir.Ended{Attempt: 3, Relayed: true}); err != nil {
		t.Fatal(err)
	}
	got, err := dir.Tombstone(run)
	if err != nil || got.Attempt != 3 || got.Relayed {
		t.Errorf("%+v, %v; want attempt 3, not known to be relayed", got, err)
	}
	if _, err := os.Stat(earlier); !os.IsNotExist(err) {
		t.Errorf("the old one is still there: %v", err)
	}
}

func TestAWorkerPrunesByItselfWhatIsOlderThanItsSettingSays(t *testing.T) {
	t.Parallel()
	dir, err := rundir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	w := &Worker{dir: dir, ctx: t.Context(), log: quietLogger(&textbuffer.Buffer{}), opts: Options{Config: &config.Config{}}}
	ended := func(days int) string {
		at := now.AddDate(0, 0, -days)
		w.opts.Now = func() time.Time { return at }
		run := svc.NewRunID()
		err := errors.Join(os.WriteFile(dir.LogPath(run), []byte("12345"), 0o600), os.Chtimes(dir.LogPath(run), at, at),
			w.recordEnd(run, rundir.Ended{Attempt: 1, Relayed: true}))
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	old, young := ended(8), ended(6)
	w.opts.Now = func() time.Time { return now }
	for _, each := range []struct {
		days int
		left []string
	}{{0, []string{old, young}}, {7, []string{young}}} {
		w.opts.Config.Worker.LogDays = each.days
		w.prune()
		left, err := dir.Tombstones()
		slices.Sort(left)
		slices.Sort(each.left)
		if err != nil || !slices.Equal(left, each.left) {
			t.Errorf("log_days %d leaves %v, %v; want %v", each.days, left, err, each.left)
		}
	}
}
