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

// Panes holds the latest screen of each run. Screens are in memory while they change or are watched, and in one file
// per run beside its logs, never in the database.
//
// A screen that keeps changing is not written to disk: after a restart of the orchestrator its worker sends it again.
// Written are: a screen that has not changed for some time, screens that do not fit in memory, and at a shutdown all
// screens. The screen at the end of a session is written and synced at once ([Panes.PutFinal], [Panes.Keep]).
type Panes struct {
	dir   relayDir
	files *fileReports // nil: changes are not reported
	log   *slog.Logger

	full chan struct{} // holds a token when memory must be freed

	mu    sync.Mutex // guards runs, bytes and the users of each pane
	runs  map[string]*pane
	bytes int // of all screens in memory
}

// pane is one run's screen in memory.
type pane struct {
	runID string
	users int // callers that use it now; guarded by Panes.mu

	load    sync.Once
	writing sync.Mutex // serializes the writes of the file

	mu      sync.Mutex // guards the fields below; never held over I/O
	latest  *PaneSnapshot
	changed chan struct{} // closed at the next change; nil while no watcher waits
	dirty   bool          // newer than the file
	failing bool          // the last write of the file failed, and the failure was logged
	used    time.Time
}

// NewPanes returns Panes that store screens below dir, which is created with the first file. Files are written only
// while Run is running.
func NewPanes(dir string, log *slog.Logger) *Panes {
	return &Panes{dir: relayDir(dir), log: log, full: make(chan struct{}, 1), runs: map[string]*pane{}}
}

// Put stores a screen from a worker and reports whether it differs from the one before. Only then are watchers woken.
// A screen that is received after the final screen of its attempt is older than that and is ignored.
func (p *Panes) Put(runID string, attempt int, capture string, at svc.Time) bool {
	if p.dir.check(runID) != nil {
		return false
	}
	pn := p.acquire(runID)
	defer p.release(pn)
	return p.take(pn, &PaneSnapshot{RunID: runID, Attempt: attempt, Capture: capture, Timestamp: at})
}

// PutFinal stores the screen at the end of an attempt's session. When it returns nil, the screen is on disk.
func (p *Panes) PutFinal(runID string, attempt int, capture string, at svc.Time) error {
	if err := p.dir.check(runID); err != nil {
		return err
	}
	pn := p.acquire(runID)
	p.take(pn, &PaneSnapshot{RunID: runID, Attempt: attempt, Final: true, Capture: capture, Timestamp: at})
	p.release(pn)
	return p.Keep(runID)
}

// take stores a screen reduced to text and colours: any other sequence from a worker must not reach a terminal or the
// page.
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
		s.Seq = last.Seq // a watcher that has seen it need not get it again
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

// grow adds n to the size of the screens in memory, and requests that memory is freed when there are too many.
func (p *Panes) grow(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bytes += n; p.bytes > paneMemory {
		wakeUp(p.full)
	}
}

// nextSeq returns a number above the last one and not below the clock in milliseconds. So it also grows across a
// crash that lost screens which were not written.
func nextSeq(last *PaneSnapshot) int64 {
	now := time.Now().UnixMilli()
	if last != nil {
		return max(now, last.Seq+1)
	}
	return now
}

// Latest returns the newest screen of a run; false when there is none.
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

// Watch returns a watch of a run's screen. The run need not have a screen yet. The caller must call Close.
func (p *Panes) Watch(runID string) (*PaneWatch, error) {
	if err := p.dir.check(runID); err != nil {
		return nil, err
	}
	return &PaneWatch{panes: p, pane: p.acquire(runID)}, nil
}

// PaneWatch is one viewer of a run's screen. It must be used by one goroutine only.
type PaneWatch struct {
	panes *Panes
	pane  *pane
	seen  int64
}

// Next returns the newest screen that this viewer has not got: the stored one at once, then one after each change. A
// slow viewer gets only the newest one.
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

// now returns the latest screen and a channel that is closed at the next change.
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

// loaded reads the file that an earlier process wrote, once. A file that cannot be read is logged and later replaced
// by a new screen.
func (p *Panes) loaded(pn *pane) {
	pn.load.Do(func() {
		s, err := p.dir.readPane(pn.runID)
		if err != nil {
			p.log.Warn("the stored screen of a run cannot be read", "run_id", pn.runID, "error", err)
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

// Keep writes the last screen of an ended session to disk at once and frees its memory. A screen that is received
// later is stored as usual.
func (p *Panes) Keep(runID string) error {
	p.mu.Lock()
	pn := p.runs[runID]
	if pn == nil {
		p.mu.Unlock()
		return nil // not in memory, so its file is current
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

// forget removes a pane from memory when it is written to its file and was not in use for the time idle.
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

// Purge removes the stored screens that were last written before the given time, except those of runs that are live
// or in memory. It returns how many it removed.
func (p *Panes) Purge(before time.Time, live func(runID string) bool) (int, error) {
	busy := func(runID string) bool {
		p.mu.Lock()
		_, inMemory := p.runs[runID]
		p.mu.Unlock()
		return inMemory || live(runID)
	}
	return p.dir.purge(before, busy, isPaneFile, p.files)
}
