package worker

import (
	"context"
	"fmt"
	"time"

	"svc"
	"svc/process"
	"svc/rundir"
	"svc/tmux"
)

// A host that cannot start runs because of a local fault looks idle, and an idle host is given the next run. So
// after a few such failures in a row the host refuses runs for a while and reports that in its heartbeats. Then
// it tries by itself to start a session, and takes runs again when that succeeds.

const (
	faultsAllowed = 2 // in a row, before the host cools down
	cooldownMost  = 10 * time.Minute
)

// trouble is why a host refuses runs. Its zero value means that it takes runs.
type trouble struct {
	faults int // in a row
	cause  string
	until  time.Time     // end of the cool-down; zero: runs are taken
	pause  time.Duration // the wait before the last probe; 0: a run was started since
}

// nextPause returns the time until the next probe: first at the beginning, then twice as long each time, until
// a run is started. A successful probe does not reset it, because the probe may not cover what keeps runs from
// starting.
func (t *trouble) nextPause(first time.Duration) time.Duration {
	t.pause = min(max(2*t.pause, first), cooldownMost)
	return t.pause
}

// hostFailed counts a run that could not be started because of a fault of this host.
func (w *Worker) hostFailed(fault *hostFault) {
	w.mu.Lock()
	w.trouble.faults++
	w.trouble.cause = fault.Error()
	begins := w.trouble.faults >= faultsAllowed && w.trouble.until.IsZero()
	var pause time.Duration
	if begins {
		pause = w.trouble.nextPause(w.opts.Cooldown)
		w.trouble.until = w.opts.Now().Add(pause)
	}
	w.mu.Unlock()
	if begins {
		w.log.Error("this host cannot start runs and takes none for now", "error", fault, "retry_in", pause)
		w.sendHeartbeat()
		w.tasks.Go(func() { w.coolDown(w.ctx, pause) })
	}
}

// hostWorks records that a session was started.
func (w *Worker) hostWorks() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble.faults, w.trouble.pause = 0, 0
}

// refusing returns why runs are refused now; empty: they are taken.
func (w *Worker) refusing() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trouble.until.IsZero() {
		return w.lowDisk()
	}
	return "the host takes no runs for now: " + w.trouble.cause
}

// heartbeatRefusal returns the refusal that heartbeats report; nil: runs are taken.
func (w *Worker) heartbeatRefusal() *svc.HostRefusal {
	w.mu.Lock()
	defer w.mu.Unlock()
	if low := w.lowDisk(); low != "" && w.trouble.until.IsZero() {
		until := w.opts.Now().Add(w.opts.Config.Worker.HeartbeatInterval)
		return &svc.HostRefusal{Code: svc.RefusalDiskLow, Message: low, Until: svc.TimeOf(until)}
	}
	if w.trouble.until.IsZero() {
		return nil
	}
	return &svc.HostRefusal{Code: svc.RefusalCoolingDown, Message: w.trouble.cause, Until: svc.TimeOf(w.trouble.until)}
}

// sendHeartbeat sends a heartbeat at once, so that the orchestrator gets the current refusal.
func (w *Worker) sendHeartbeat() {
	if l := w.uplink(); l != nil && l.greeted.Load() {
		l.beatNow()
	}
}

// coolDown waits, tries to start a session, and repeats that with longer waits until a start succeeds.
func (w *Worker) coolDown(ctx context.Context, pause time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		err := w.tryHost(ctx)
		if ctx.Err() != nil {
			return
		}
		w.mu.Lock()
		if err == nil {
			w.trouble = trouble{pause: w.trouble.pause}
		} else {
			pause = w.trouble.nextPause(w.opts.Cooldown)
			w.trouble.cause = err.Error()
			w.trouble.until = w.opts.Now().Add(pause)
		}
		w.mu.Unlock()
		w.sendHeartbeat()
		if err == nil {
			w.log.Info("this host can start runs again")
			return
		}
		w.log.Warn("this host still cannot start runs", "error", err, "retry_in", pause)
	}
}

// tryHost tests what a start needs on this host: records on disk, a folder for sockets, bubblewrap where
// sessions are contained, a tmux session.
func (w *Worker) tryHost(ctx context.Context) error {
	record := w.dir.ProbePath()
	if err := rundir.WriteRecord(record, w.bootID); err != nil {
		return err
	}
	if err := rundir.RemoveRecord(record); err != nil {
		return err
	}
	if err := w.ensureSockets(); err != nil {
		return err
	}
	if _, err := w.canContain(ctx); err != nil {
		return err
	}
	if err := w.endTrial(ctx); err != nil {
		return err
	}
	_, err := w.trialServer().Start(ctx, tmux.Spec{Name: "probe", Argv: []string{"/bin/sh", "-c", ":"}, Dir: "/"})
	if err != nil {
		return err
	}
	return w.endTrial(ctx)
}

// trialServer returns the tmux server of the trial session, which only tests whether sessions can be started.
func (w *Worker) trialServer() tmux.Server {
	return tmux.Server{Socket: w.socketOf("probe000"), Bin: w.opts.TmuxBin}
}

// endTrial ends the trial session, also one that an earlier worker left: while it runs, no other trial can be
// started.
func (w *Worker) endTrial(ctx context.Context) error {
	if err := w.trialServer().Kill(ctx, process.ID{}); err != nil {
		return fmt.Errorf("end the trial session: %w", err)
	}
	return nil
}
