package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"svc"
	"svc/atomicfile"
	"svc/safetext"
)

const (
	paneIdle   = 60 * time.Second // a screen that was not used for this time is written to disk and removed from memory
	paneMemory = 64 << 20         // bytes of screens in memory; above it, the least recently used ones are removed
	paneRetry  = time.Second      // wait before retrying a screen that could not be written
)

// PaneSnapshot is one screen of a run. It is immutable, so any number of viewers can share it.
type PaneSnapshot struct {
	Seq       int64 // grows with each change, also across restarts
	RunID     string
	Attempt   int  // 0: stored by a version that did not record it
	Final     bool // the screen at the end of the attempt's session
	Capture   string
	Timestamp svc.Time // the worker's clock

	encode sync.Once
	json   []byte
}

// paneJSON is the message of the pane socket.
type paneJSON struct {
	Type      string   `json:"type"`
	Seq       int64    `json:"seq"`
	RunID     string   `json:"run_id"`
	Capture   string   `json:"capture"`
	Timestamp svc.Time `json:"timestamp"`
}

// paneFile is the content of the file of a screen.
type paneFile struct {
	paneJSON
	Attempt int  `json:"attempt,omitempty"`
	Final   bool `json:"final,omitempty"`
}

func (s *PaneSnapshot) frame() paneJSON {
	return paneJSON{Type: "pane_snapshot", Seq: s.Seq, RunID: s.RunID, Capture: s.Capture, Timestamp: s.Timestamp}
}

// JSON returns the message of the pane socket. It is encoded once and shared, so the caller must not change it.
func (s *PaneSnapshot) JSON() []byte {
	s.encode.Do(func() { s.json = paneBytes(s.frame()) })
	return s.json
}

func isPaneFile(name string) bool { return strings.HasPrefix(name, "pane.json") }

func paneBytes(v any) []byte {
	b, err := svc.JSON(v)
	if err != nil {
		panic("svc/hub: a snapshot of plain fields did not encode: " + err.Error())
	}
	return b
}

// readPane reads the stored screen; nil when there is none.
func (d relayDir) readPane(runID string) (*PaneSnapshot, error) {
	b, err := os.ReadFile(d.pane(runID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the screen of run %s: %w", runID, err)
	}
	var f paneFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("read the screen of run %s: %w", runID, err)
	}
	return &PaneSnapshot{Seq: f.Seq, RunID: runID, Attempt: f.Attempt, Final: f.Final, Capture: string(safetext.Colours(f.Capture)), Timestamp: f.Timestamp}, nil
}

// writePane replaces the file atomically, so that a reader, and the next start after a crash, finds the old screen or
// the new one. With sync the new one also survives a power failure.
func (d relayDir) writePane(s *PaneSnapshot, sync bool) error {
	path := d.pane(s.RunID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(paneBytes(paneFile{s.frame(), s.Attempt, s.Final}))
	if err == nil && sync {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil || !sync {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

// Run writes screens that have not changed for some time, and screens that do not fit in memory, until ctx ends. Then
// it writes the remaining ones and returns.
func (p *Panes) Run(ctx context.Context) error {
	tick := time.NewTicker(paneIdle / 2)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.rest()
		case <-p.full:
			if !p.makeRoom() {
				select {
				case <-time.After(paneRetry):
					wakeUp(p.full)
				case <-ctx.Done():
				}
			}
		case <-ctx.Done():
			for _, pn := range p.all() {
				p.report(pn, p.write(pn, false))
			}
			return nil
		}
	}
}

// all lists the panes in memory, the least recently used first.
func (p *Panes) all() []*pane {
	p.mu.Lock()
	defer p.mu.Unlock()
	used := make(map[*pane]time.Time, len(p.runs))
	for _, pn := range p.runs {
		pn.mu.Lock()
		used[pn] = pn.used
		pn.mu.Unlock()
	}
	return slices.SortedFunc(maps.Keys(used), func(a, b *pane) int { return used[a].Compare(used[b]) })
}

// rest writes the screens that were not used for some time, and frees their memory.
func (p *Panes) rest() {
	for _, pn := range p.all() {
		pn.mu.Lock()
		idle := time.Since(pn.used) >= paneIdle
		pn.mu.Unlock()
		if idle {
			p.report(pn, p.write(pn, false))
			p.forget(pn, paneIdle)
		}
	}
}

// makeRoom writes screens and frees their memory until the others fit. It returns false when one could not be
// written.
func (p *Panes) makeRoom() bool {
	written := true
	for _, pn := range p.all() {
		p.mu.Lock()
		fits, watched := p.bytes <= paneMemory*3/4, pn.users > 0
		p.mu.Unlock()
		if fits {
			break
		}
		if watched {
			continue // it stays in memory: its viewers share one copy
		}
		err := p.write(pn, false)
		p.report(pn, err)
		p.forget(pn, 0)
		written = written && err == nil
	}
	return written
}

// write writes the latest screen to the file, if the file is older.
func (p *Panes) write(pn *pane, sync bool) error {
	pn.writing.Lock()
	defer pn.writing.Unlock()
	pn.mu.Lock()
	s, dirty := pn.latest, pn.dirty
	pn.dirty = false
	pn.mu.Unlock()
	if s == nil || !dirty && !sync {
		return nil
	}
	err := p.dir.writePane(s, sync)
	p.files.wrote(p.dir.pane(s.RunID))
	if err != nil {
		pn.mu.Lock()
		pn.dirty = true // the next write tries again
		pn.mu.Unlock()
	}
	return err
}

// report logs the first of several consecutive failures, and their end.
func (p *Panes) report(pn *pane, err error) {
	pn.mu.Lock()
	was := pn.failing
	pn.failing = err != nil
	pn.mu.Unlock()
	switch {
	case err != nil && !was:
		p.log.Error("the screen of a run cannot be stored; it will be tried again", "run_id", pn.runID, "error", err)
	case err == nil && was:
		p.log.Info("the screen of a run can be stored again", "run_id", pn.runID)
	}
}

// OlderFile returns the function that decides from the contents of two copies of one of the hub's files which is
// older, for use as a mirror's Order. File times are not used for screens, because a screen may be written long after
// it was captured. It returns nil when the contents do not show their age.
func OlderFile(file string) func(a, b []byte) bool {
	if !isPaneFile(path.Base(file)) {
		return nil
	}
	return olderPane
}

// olderPane reports whether the stored screen a is older than b. A file that cannot be read is older than any other.
func olderPane(a, b []byte) bool {
	var one, other paneFile
	if json.Unmarshal(b, &other) != nil {
		return false
	}
	if json.Unmarshal(a, &one) != nil {
		return true
	}
	switch {
	case one.Attempt != other.Attempt:
		return one.Attempt < other.Attempt
	case one.Final != other.Final:
		return other.Final
	default:
		return one.Timestamp < other.Timestamp // both times are from the clock of one host
	}
}
