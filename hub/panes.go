package hub

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"svc"
)

// Panes holds the latest screen of each run. Screens live in memory while they
// change or are watched, and in one file per run beside its logs, never in the
// database.
//
// The file follows the screen by at most a second, so a killed orchestrator
// loses no more than that; the last screen of a session is written at once by
// [Panes.Keep].
type Panes struct {
	dir relayDir
	log *slog.Logger

	mu   sync.Mutex // guards runs and the users of each pane
	runs map[string]*pane
}

// pane is one run's screen in memory.
type pane struct {
	runID string
	users int // callers that work with it now; guarded by Panes.mu

	load    sync.Once
	writing sync.Mutex // one write of the file at a time

	mu      sync.Mutex // guards what follows; never held over I/O
	latest  *PaneSnapshot
	changed chan struct{} // closed at the next change; nil while nobody waits
	dirty   bool          // newer than the file
	failing bool          // the last write of the file went wrong, and was told
	used    time.Time
}

// NewPanes keeps screens below dir, which is made when the first one is
// written. Run must be running for files to be written.
func NewPanes(dir string, log *slog.Logger) *Panes {
	return &Panes{dir: relayDir(dir), log: log, runs: map[string]*pane{}}
}

// Put takes a screen that a worker sent and says whether it differs from the
// one before. Watchers are woken only then.
func (p *Panes) Put(runID, capture string, at svc.Time) bool {
	if p.dir.check(runID) != nil {
		return false
	}
	pn := p.acquire(runID)
	defer p.release(pn)
	pn.mu.Lock()
	defer pn.mu.Unlock()
	last := pn.latest
	if last != nil && last.Capture == capture {
		return false
	}
	pn.latest = &PaneSnapshot{Seq: nextSeq(last), RunID: runID, Capture: capture, Timestamp: at}
	pn.dirty = true
	if pn.changed != nil {
		close(pn.changed)
		pn.changed = nil
	}
	return true
}

// nextSeq is above the last one and not below the clock in milliseconds: so it
// grows even over a kill that lost the last second of the file.
func nextSeq(last *PaneSnapshot) int64 {
	now := time.Now().UnixMilli()
	if last != nil {
		return max(now, last.Seq+1)
	}
	return now
}

// Latest is the newest screen of a run, false when it never had one.
func (p *Panes) Latest(runID string) (*PaneSnapshot, bool, error) {
	if p.dir.check(runID) != nil {
		return nil, false, nil
	}
	p.mu.Lock()
	pn := p.runs[runID]
	if pn != nil {
		pn.users++
	}
	p.mu.Unlock()
	if pn == nil {
		s, err := p.dir.readPane(runID)
		return s, s != nil, err
	}
	defer p.release(pn)
	p.loaded(pn)
	s, _ := pn.now()
	return s, s != nil, nil
}

// Watch follows a run's screen. The run need not have one yet. Close must be
// called.
func (p *Panes) Watch(runID string) (*PaneWatch, error) {
	if err := p.dir.check(runID); err != nil {
		return nil, err
	}
	return &PaneWatch{panes: p, pane: p.acquire(runID)}, nil
}

// PaneWatch is one viewer of a run's screen. It is for one goroutine.
type PaneWatch struct {
	panes *Panes
	pane  *pane
	seen  int64
}

// Next is the newest screen that this viewer has not seen: the cached one at
// once, then one on each change. A slow viewer skips to the newest.
func (w *PaneWatch) Next(ctx context.Context) (*PaneSnapshot, error) {
	for {
		s, changed := w.pane.now()
		if s != nil && s.Seq > w.seen {
			w.seen = s.Seq
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close ends the watch.
func (w *PaneWatch) Close() { w.panes.release(w.pane) }

// now is the latest screen and a channel that is closed at the next change.
func (pn *pane) now() (*PaneSnapshot, <-chan struct{}) {
	pn.mu.Lock()
	defer pn.mu.Unlock()
	if pn.changed == nil {
		pn.changed = make(chan struct{})
	}
	return pn.latest, pn.changed
}

func (p *Panes) acquire(runID string) *pane {
	p.mu.Lock()
	pn := p.runs[runID]
	if pn == nil {
		pn = &pane{runID: runID}
		p.runs[runID] = pn
	}
	pn.users++
	p.mu.Unlock()
	p.loaded(pn)
	return pn
}

// loaded brings in what an earlier process wrote. A file that cannot be read
// is told and replaced: a new screen is worth more than the old one.
func (p *Panes) loaded(pn *pane) {
	pn.load.Do(func() {
		s, err := p.dir.readPane(pn.runID)
		if err != nil {
			p.log.Warn("the kept screen of a run is lost", "run_id", pn.runID, "error", err)
		}
		pn.mu.Lock()
		pn.latest = s
		pn.mu.Unlock()
	})
}

func (p *Panes) release(pn *pane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pn.users--
	pn.mu.Lock()
	pn.used = time.Now()
	pn.mu.Unlock()
}

// Keep writes the last screen of an ended session to disk at once and lets go
// of it in memory. A screen that comes later is taken like any other.
func (p *Panes) Keep(runID string) error {
	p.mu.Lock()
	pn := p.runs[runID]
	if pn == nil {
		p.mu.Unlock()
		return nil // its file is current
	}
	pn.users++
	p.mu.Unlock()
	err := p.write(pn, true)
	p.release(pn)
	if err != nil {
		return fmt.Errorf("keep the screen of run %s: %w", runID, err)
	}
	p.forget(pn, 0)
	return nil
}

// forget drops a pane from memory that nobody uses, that its file holds and
// that nobody has used for the time.
func (p *Panes) forget(pn *pane, idle time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pn.mu.Lock()
	defer pn.mu.Unlock()
	if pn.users == 0 && !pn.dirty && time.Since(pn.used) >= idle && p.runs[pn.runID] == pn {
		delete(p.runs, pn.runID)
	}
}

// Purge removes the kept screens last written before the time, of runs that
// are neither live nor in memory, and returns how many.
func (p *Panes) Purge(before time.Time, live func(runID string) bool) (int, error) {
	busy := func(runID string) bool {
		p.mu.Lock()
		_, inMemory := p.runs[runID]
		p.mu.Unlock()
		return inMemory || live(runID)
	}
	return p.dir.purge(before, busy, isPaneFile)
}
