package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"svc"
	"svc/rundir"
	"svc/workspace"
)

// Pruned is the result of removing a host's old runs.
type Pruned struct {
	Runs  int   `json:"runs"`  // runs whose logs and tombstones were removed, or would be
	Bytes int64 `json:"bytes"` // bytes of their logs, recordings and last screens
	// Unconfirmed counts the runs that are old enough but stay, because the orchestrator has not confirmed that
	// it has their logs.
	Unconfirmed int `json:"unconfirmed"`
	Mirrors     int `json:"mirrors"` // copies of repositories that no working copy needs
}

// Add adds the result of another folder.
func (p *Pruned) Add(other Pruned) {
	p.Runs, p.Bytes, p.Unconfirmed, p.Mirrors = p.Runs+other.Runs, p.Bytes+other.Bytes, p.Unconfirmed+other.Unconfirmed, p.Mirrors+other.Mirrors
}

// Prune removes the logs and tombstones of runs that were over before a time, and the mirrors of repositories
// that no working copy has needed since. A run is removed only if the orchestrator has acknowledged its whole
// log and nothing of it is left to report. With dry it removes nothing and only counts. It may be called while
// a worker runs.
func Prune(ctx context.Context, dir rundir.Dir, before time.Time, dry bool) (p Pruned, err error) {
	if p.Mirrors, err = (workspace.Host{Dir: string(dir)}).PruneMirrors(ctx, before, dry); err != nil {
		return p, fmt.Errorf("prune: %w", err)
	}
	if !dry {
		if err := dir.PruneConversations(before); err != nil {
			return p, fmt.Errorf("prune: %w", err)
		}
	}
	runs, err := dir.Tombstones()
	if err != nil {
		return p, fmt.Errorf("prune: %w", err)
	}
	for _, run := range runs {
		if err := p.take(dir, run, before, dry); err != nil {
			return p, fmt.Errorf("prune run %s: %w", run, err)
		}
	}
	return p, nil
}

// take removes the files of one run if it is old enough and confirmed, and counts it.
func (p *Pruned) take(dir rundir.Dir, runID string, before time.Time, dry bool) error {
	t, err := dir.Tombstone(runID)
	if errors.Is(err, rundir.ErrCorrupt) {
		p.Unconfirmed++
		return nil
	}
	if err != nil {
		return err
	}
	log, err := os.Stat(dir.LogPath(runID))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if t.At == 0 || t.At >= svc.TimeOf(before) || err == nil && !log.ModTime().Before(before) {
		return nil
	}
	if !t.Relayed || holdsAttempt(dir, runID, t.Attempt) {
		p.Unconfirmed++
		return nil
	}
	p.Runs++
	if err == nil {
		p.Bytes += log.Size()
	}
	var paths []string
	for number := 1; number <= t.Attempt; number++ {
		for _, path := range []string{dir.TimesPath(runID, number), dir.ScreenPath(runID, number)} {
			p.Bytes += fileSize(path)
			paths = append(paths, path)
		}
	}
	if dry {
		return nil
	}
	// The tombstone is removed last: a tombstone without a log is tried again, but a log without a tombstone
	// would stay for ever.
	for _, path := range append(paths, dir.LogPath(runID), dir.TombstonePath(runID)) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// holdsAttempt reports whether an attempt of the run has a folder or undelivered signals; that includes the
// attempt after the last ended one, which may have begun.
func holdsAttempt(dir rundir.Dir, runID string, last int) bool {
	for number := 1; number <= last+1; number++ {
		a := dir.Attempt(runID, number)
		if a.Exists() {
			return true
		}
		if waiting, _, err := a.Pending(); err != nil || len(waiting) > 0 {
			return true
		}
	}
	return false
}

// pruneEvery is how often a worker prunes.
const pruneEvery = 24 * time.Hour

// prune removes what is older than [worker] log_days.
func (w *Worker) prune() {
	days := w.opts.Config.Worker.LogDays
	if days <= 0 {
		return
	}
	p, err := Prune(w.ctx, w.dir, w.opts.Now().AddDate(0, 0, -days), false)
	if err != nil {
		w.log.Warn("old logs could not be removed", "error", err)
	}
	if p.Runs > 0 || p.Unconfirmed > 0 || p.Mirrors > 0 {
		w.log.Info("old logs were removed", "runs", p.Runs, "mirrors", p.Mirrors, "bytes", p.Bytes, "kept_unconfirmed", p.Unconfirmed)
	}
}
