package hub

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"svc"
	"svc/safetext"
)

// Panes holds the latest screen of each run. Screens live in memory while they
// change or are watched, and in one file per run beside its logs, never in the
// database.
//
// A screen that changes is not written: its worker sends it again to an
// orchestrator that comes back. What is written is a screen at rest, the screens
// that memory has no room for, and at a shutdown all of them; and at once, for
// good, the screen at the end of a session ([Panes.PutFinal], [Panes.Keep]).
type Panes struct {
	dir   relayDir
	files *fileReports // nil: nobody is told
	log   *slog.Logger

	full chan struct{} // holds a token when memory has no room

	mu    sync.Mutex // guards runs, bytes and the users of each pane
	runs  map[string]*pane
	bytes int // of all screens in memory
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
	return &Panes{dir: relayDir(dir), log: log, full: make(chan struct{}, 1), runs: map[string]*pane{}}
}

// Put takes a screen that a worker sent and says whether it differs from the
// one before. Watchers are woken only then. A screen that comes after the final
// one of its attempt is older than that and not taken.
func (p *Panes) Put(runID string, attempt int, capture string, at svc.Time) bool {
	if p.dir.check(runID) != nil {
		return false
	}
	pn := p.acquire(runID)
	defer p.release(pn)
	return p.take(pn, &PaneSnapshot{RunID: runID, Attempt: attempt, Capture: capture, Timestamp: at})
}

// PutFinal takes the screen at the end of an attempt's session. When it returns
// nil, the screen is on disk.
func (p *Panes) PutFinal(runID string, attempt int, capture string, at svc.Time) error {
	if err := p.dir.check(runID); err != nil {
		return err
	}
	pn := p.acquire(runID)
	p.take(pn, &PaneSnapshot{RunID: runID, Attempt: attempt, Final: true, Capture: capture, Timestamp: at})
	p.release(pn)
	return p.Keep(runID)
}

// take keeps a screen as text with its colours: whatever else a worker put in is for no
// terminal and no page.
func (p *Panes) take(pn *pane, s *PaneSnapshot) (changed bool) {
	s.Capture = string(safetext.Colours(s.Capture))
	pn.mu.Lock()
	last := pn.latest
	switch {
	case last != nil && last.Final && last.Attempt >= s.Attempt,
		last != nil && last.Capture == s.Capture && last.Attempt == s.Attempt && !s.Final:
		pn.mu.Unlock()
		return false
	}
	changed = last == nil || last.Capture != s.Capture
	s.Seq = nextSeq(last)
	if !changed {
		s.Seq = last.Seq // who has seen it need not see it again
	}
	grown := len(s.Capture)
	if last != nil {
		grown -= len(last.Capture)
	}
	pn.latest, pn.dirty = s, true
	if changed && pn.changed != nil {
		close(pn.changed)
		pn.changed = nil
	}
	pn.mu.Unlock()
	p.grow(grown)
	return changed
}

// grow counts what memory holds, and asks for room when it is too much.
func (p *Panes) grow(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bytes += n; p.bytes > paneMemory {
		poke(p.full)
	}
}

// nextSeq is above the last one and not below the clock in milliseconds: so it
// grows even over a kill that lost what was not written.
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
		if s != nil {
			p.grow(len(s.Capture))
		}
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

// Keep writes the last screen of an ended session to disk at once and releases
// its memory. A screen that comes later is taken like any other.
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
		if pn.latest != nil {
			p.bytes -= len(pn.latest.Capture)
		}
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
	return p.dir.purge(before, busy, isPaneFile, p.files)
}
