// Package hub holds the live state: the workers' connections, the latest screens, the relayed logs and the attached
// terminals. None of it is in the database. It is lost with the process or stored in files, and workers send it
// again.
package hub

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// Hub is the live state of one orchestrator.
type Hub struct {
	Uplinks *Uplinks
	Panes   *Panes
	Relay   *Relay
	Attach  *Attachments
	// Checkpoints stores the relayed checkpoints of workspaces.
	Checkpoints *Checkpoints
	// Quota limits what Relay and Checkpoints store. Its limits are set before Run.
	Quota *Quota

	// OnLease and OnInput are called for changes of a lease and for input. They are set before Run; nil: not called.
	OnLease func(LeaseEvent)
	OnInput func(runID, by string)

	// OnWritten and OnRemoved are called with the path, below the hub's folder, of each file that was written or
	// deliberately removed. They are called after the change, often, and from any goroutine. They are set before Run;
	// nil: not called.
	OnWritten, OnRemoved func(path string)

	// LeaseIdle is how long a lease holder may be idle before a waiting client gets the lease; 0: no limit. It is set
	// before Run.
	LeaseIdle time.Duration
}

// New returns a hub that stores logs and last screens below dir.
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

// Run runs the hub's background work until ctx ends.
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
