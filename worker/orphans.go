package worker

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"svc"
	"svc/process"
	"svc/rundir"
	"svc/tmux"
	"svc/wire"
)

func sessionNameOf(a rundir.Attempt) string { return svc.SessionName(a.RunID) }

// reconcile periodically compares the disk with the worker's memory. It is the fallback for every event that
// was missed.
func (w *Worker) reconcile(ctx context.Context) {
	tick := time.NewTicker(w.opts.Reconcile)
	defer tick.Stop()
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	daily := time.NewTicker(pruneEvery)
	defer daily.Stop()
	if err := w.endTrial(ctx); err != nil {
		w.log.Warn("the trial session of an earlier worker cannot be ended", "error", err)
	}
	w.prune()
	for {
		w.reportUnknownSessions(ctx)
		w.settleDamaged(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-sweep.C:
			w.sweep()
		case <-daily.C:
			w.removeStaleDirs()
			w.prune()
		}
	}
}

// reportUnknownSessions reports, once each, the sessions in the sockets' folder that have no record, and leaves
// them running.
func (w *Worker) reportUnknownSessions(ctx context.Context) {
	if err := w.ensureSockets(); err != nil {
		w.log.Warn("the folder for sockets cannot be made", "error", err)
		return
	}
	dir := filepath.Dir(w.socketOf("00000000"))
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.log.Warn("the sockets cannot be listed", "error", err)
		return
	}
	for _, e := range entries {
		socket := filepath.Join(dir, e.Name())
		if e.Type()&os.ModeSocket == 0 || w.isKnownSocket(socket) {
			continue
		}
		found, err := tmux.Server{Socket: socket, Bin: w.opts.TmuxBin}.Inspect(ctx, process.ID{})
		if errors.Is(err, tmux.ErrNoServer) && socketName.MatchString(e.Name()) && !w.isKnownSocket(socket) {
			w.removeDeadSocket(socket)
		}
		if err != nil || !strings.HasPrefix(found.Name, "svc-") || w.isKnownSocket(socket) {
			continue // a dead socket, or a server that cannot be queried: there is no proof of a session
		}
		w.mu.Lock()
		w.strange[socket] = true
		w.mu.Unlock()
		w.log.Warn("a session without a record is left alone", "session_name", found.Name, "socket", socket)
		w.reportOrphan(wire.Orphan{SessionName: found.Name, Action: "none"})
	}
}

// socketName matches the names of svc's sockets: the first 8 characters of a run's id.
var socketName = regexp.MustCompile(`^[0-9a-f]{8}$`)

// removeDeadSocket removes a socket without a listener, which a killed tmux has left.
func (w *Worker) removeDeadSocket(socket string) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.log.Warn("a dead socket cannot be removed", "socket", socket, "error", err)
		return
	}
	w.log.Info("a dead socket was removed", "socket", socket)
}

// sweepEvery is how often unfinished files are removed. sweepAge is the age from which a file counts as
// unfinished.
const (
	sweepEvery = 10 * time.Minute
	sweepAge   = time.Minute
)

// sweep removes unfinished files whose writers have died.
func (w *Worker) sweep() {
	if err := w.dir.Sweep(w.opts.Now().Add(-sweepAge)); err != nil {
		w.log.Warn("unfinished files cannot be removed", "error", err)
	}
}

// isKnownSocket reports whether a socket belongs to a session of this worker or was reported already.
func (w *Worker) isKnownSocket(socket string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.strange[socket] {
		return true
	}
	name := filepath.Base(socket)
	for k := range w.sessions {
		if k.runID[:8] == name {
			return true
		}
	}
	for k := range w.damaged {
		if k.runID[:8] == name {
			return true
		}
	}
	return false
}

// removeStaleDirs removes the folders that late hooks created for attempts that are over. It lists every run
// that this host ever had, which takes long, so it runs seldom; clearLate does the same for each signal that
// the spooler delivers.
func (w *Worker) removeStaleDirs() {
	attempts, err := w.dir.Attempts()
	if err != nil {
		w.log.Warn("the attempts cannot be listed", "error", err)
		return
	}
	for _, a := range attempts {
		w.clearLate(a)
	}
}

// clearLate removes the folder that a late hook created for an attempt that is over.
func (w *Worker) clearLate(a rundir.Attempt) {
	if w.session(a.RunID, a.Number) != nil || w.hasDamaged(a) || !a.Exists() {
		return
	}
	if over, err := w.readTombstone(a.RunID); err == nil && over >= a.Number {
		w.removeStaleDir(a)
	}
}

// reportOrphan reports a session that should not exist, now or on the next connection.
func (w *Worker) reportOrphan(o wire.Orphan) {
	w.mu.Lock()
	w.orphans = append(w.orphans, o)
	l := w.link
	w.mu.Unlock()
	if l != nil {
		w.reportOrphans(l)
	}
}

// reportOrphans sends the reports that were not sent yet. A report that is lost with its connection is not
// repeated: it is only journaled, and nothing depends on it.
func (w *Worker) reportOrphans(l *link) {
	if !l.can(wire.CapOrphans) || !l.greeted.Load() {
		return
	}
	w.mu.Lock()
	orphans := w.orphans
	w.orphans = nil
	w.mu.Unlock()
	for _, o := range orphans {
		l.out.push(laneControl, &o, nil)
	}
}
