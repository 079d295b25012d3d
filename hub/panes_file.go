package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"svc"
)

const (
	paneWriteEvery = time.Second      // the longest a screen is newer than its file
	paneIdle       = 60 * time.Second // a screen that nobody touched so long leaves memory
)

// PaneSnapshot is one screen of a run. It does not change once it exists, so
// any number of viewers share one.
type PaneSnapshot struct {
	Seq       int64 // grows with each change, also over restarts
	RunID     string
	Capture   string
	Timestamp svc.Time // the worker's clock

	encode sync.Once
	json   []byte
}

// paneJSON is the frame of the pane socket, and the content of the file.
type paneJSON struct {
	Type      string   `json:"type"`
	Seq       int64    `json:"seq"`
	RunID     string   `json:"run_id"`
	Capture   string   `json:"capture"`
	Timestamp svc.Time `json:"timestamp"`
}

// JSON is the frame of the pane socket. It is encoded once and shared: do not
// change it.
func (s *PaneSnapshot) JSON() []byte {
	s.encode.Do(func() {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		frame := paneJSON{Type: "pane_snapshot", Seq: s.Seq, RunID: s.RunID, Capture: s.Capture, Timestamp: s.Timestamp}
		if err := e.Encode(frame); err != nil {
			panic("svc/hub: a snapshot of plain fields did not encode: " + err.Error())
		}
		s.json = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	})
	return s.json
}

func isPaneFile(name string) bool { return strings.HasPrefix(name, "pane.json") }

// readPane reads what was kept; nil when nothing was.
func (d relayDir) readPane(runID string) (*PaneSnapshot, error) {
	b, err := os.ReadFile(d.pane(runID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the screen of run %s: %w", runID, err)
	}
	var f paneJSON
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("read the screen of run %s: %w", runID, err)
	}
	return &PaneSnapshot{Seq: f.Seq, RunID: runID, Capture: f.Capture, Timestamp: f.Timestamp}, nil
}

// writePane replaces the file in one step, so that a reader and a crash find
// the old screen or the new one. With sync it also survives a loss of power.
func (d relayDir) writePane(s *PaneSnapshot, sync bool) error {
	path := d.pane(s.RunID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(s.JSON())
	if err == nil && sync {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Run writes changed screens to their files, each run's at most once a second,
// until ctx ends; then it writes what is left and returns.
func (p *Panes) Run(ctx context.Context) error {
	tick := time.NewTicker(paneWriteEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.flush()
		case <-ctx.Done():
			p.flush()
			return nil
		}
	}
}

func (p *Panes) flush() {
	p.mu.Lock()
	all := make([]*pane, 0, len(p.runs))
	for _, pn := range p.runs {
		all = append(all, pn)
	}
	p.mu.Unlock()
	for _, pn := range all {
		p.report(pn, p.write(pn, false))
		p.forget(pn, paneIdle)
	}
}

// write brings the file up to the latest screen.
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
	if err != nil {
		pn.mu.Lock()
		pn.dirty = true // tried again at the next tick
		pn.mu.Unlock()
	}
	return err
}

// report tells the first of a row of failures, and its end.
func (p *Panes) report(pn *pane, err error) {
	pn.mu.Lock()
	was := pn.failing
	pn.failing = err != nil
	pn.mu.Unlock()
	switch {
	case err != nil && !was:
		p.log.Error("the screen of a run cannot be kept; it is tried again every second", "run_id", pn.runID, "error", err)
	case err == nil && was:
		p.log.Info("the screen of a run is kept again", "run_id", pn.runID)
	}
}
