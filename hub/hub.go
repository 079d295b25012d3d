// Package hub holds what is live: the workers' connections, the latest screens,
// the relayed logs and the terminals that someone is attached to. None of it is
// in the database: it is lost with the process or kept in files, and workers
// bring it again.
package hub

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// Hub is everything live of one orchestrator.
type Hub struct {
	Uplinks *Uplinks
	Panes   *Panes
	Relay   *Relay
	Attach  *Attachments
	// Checkpoints are the relayed checkpoints of workspaces.
	Checkpoints *Checkpoints
	// Quota bounds what Relay and Checkpoints keep. Its bounds are set before Run.
	Quota *Quota

	// OnLease and OnInput are told of changed leases and of input. They are set
	// before Run; nil: nobody wants to know.
	OnLease func(LeaseEvent)
	OnInput func(runID, by string)

	// OnWritten and OnRemoved are told, by its path below the hub's folder, of each file that was written and that was removed on
	// purpose, after the deed, often, and from any goroutine. They are set before Run; nil: nobody wants to know.
	OnWritten, OnRemoved func(path string)

	// LeaseIdle is how long a holder of a keyboard may send nothing before someone
	// who waits gets it; 0: for ever. It is set before Run.
	LeaseIdle time.Duration
}

// New makes a hub that keeps logs and last screens under dir.
func New(dir string, log *slog.Logger) *Hub {
	quota := newQuota(dir)
	h := &Hub{Uplinks: NewUplinks(), Panes: NewPanes(dir, log), Relay: newRelayIn(dir, quota, log),
		Checkpoints: newCheckpoints(filepath.Join(dir, CheckpointsFolder), quota), Quota: quota}
	files := &fileReports{dir: dir,
		written: func(path string) {
			if h.OnWritten != nil {
				h.OnWritten(path)
			}
		},
		removed: func(path string) {
			if h.OnRemoved != nil {
				h.OnRemoved(path)
			}
		}}
	h.Panes.files, h.Relay.files, h.Checkpoints.files = files, files, files
	h.Attach = NewAttachments(AttachConfig{
		Link: func(hostID string) (Link, bool) {
			l, ok := h.Uplinks.Of(hostID)
			return l, ok
		},
		OnLease: func(e LeaseEvent) {
			if h.OnLease != nil {
				h.OnLease(e)
			}
		},
		OnInput: func(runID, by string) {
			if h.OnInput != nil {
				h.OnInput(runID, by)
			}
		},
		LeaseIdle: func() time.Duration { return h.LeaseIdle },
		Log:       log,
	})
	return h
}

// Run keeps the hub's own work going until ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.Panes.Run(ctx) })
	g.Go(func() error { return h.Attach.Run(ctx) })
	g.Go(func() error {
		<-ctx.Done()
		h.Relay.Close()
		return nil
	})
	return g.Wait()
}
