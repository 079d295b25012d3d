package worker

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"svc/leftover"
)

// reapLeftovers ends the processes that are left of a session whose wrapper has ended. The wrapper has done
// that itself, unless it was killed or is of an earlier version. It returns when no process of the attempt
// lives.
func (s *session) reapLeftovers(ctx context.Context) {
	if !s.w.opts.Config.Worker.Reap {
		return
	}
	ended, err := s.a.ReadLeftovers()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("the wrapper's record of leftovers cannot be read", "error", err)
	}
	for _, p := range ended {
		s.log.Warn("a process outlived its session and was ended", "pid", p.PID, "command", p.Command, "signal", p.Signal)
	}
	search := leftover.Search{
		RunID: s.a.RunID, Attempt: s.a.Number, Leader: s.leader, Known: s.tree, Keep: s.rec.KeepAlive,
	}
	left, err := search.End(ctx, s.w.opts.Config.Worker.StopGrace[1], func(p leftover.Process, sig syscall.Signal) {
		s.log.Warn("a process outlived its session and is ended", "pid", p.PID, "command", p.Command, "signal", sig)
	})
	if err != nil && ctx.Err() == nil {
		s.log.Warn("the leftovers of the session cannot be found", "error", err)
	}
	if ctx.Err() != nil {
		return
	}
	for _, p := range left {
		s.log.Error("a process outlived its session and cannot be ended", "pid", p.PID, "command", p.Command)
	}
}

// noteTree stores the processes below a living wrapper: if the wrapper is killed, nothing else may connect them
// with their session.
func (s *session) noteTree(t leftover.Table) {
	p := s.where().process
	if t.Lives(p) {
		s.leader, s.tree = p, t.Descendants(p.PID)
	}
}

// processTable is one scan of all processes for all sessions.
type processTable struct {
	mu    sync.Mutex // guards the fields below
	table leftover.Table
	at    time.Time
}

// processes returns the list of all processes. A list is shared by all sessions for half a liveness interval.
func (w *Worker) processes() leftover.Table {
	p := &w.scanned
	p.mu.Lock()
	table, age := p.table, time.Since(p.at)
	p.mu.Unlock()
	if table != nil && age < w.opts.Liveness/2 {
		return table
	}
	table, err := leftover.Scan()
	if err != nil {
		w.log.Warn("processes cannot be listed", "error", err)
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.table, p.at = table, time.Now()
	return table
}
