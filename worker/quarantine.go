package worker

import (
	"context"
	"errors"
	"slices"

	"svc"
	"svc/process"
	"svc/rundir"
	"svc/tmux"
	"svc/wire"
)

// A damaged attempt is one whose dispatch record cannot be read: its command and the start of its log are
// unknown, but its session may be running. The session is left alone, stays in the inventory and is reported
// once; its wrapper reports the end. When it is over, its folder is set aside for an operator.

// quarantine registers a damaged attempt, which the worker does not lead.
func (w *Worker) quarantine(a rundir.Attempt, cause error) {
	w.log.Error("an attempt's record cannot be read; its session, if any, is left alone",
		"run_id", a.RunID, "attempt", a.Number, "path", a.Path(), "error", cause)
	w.mu.Lock()
	w.damaged[key{a.RunID, a.Number}] = a
	w.mu.Unlock()
	w.reportOrphan(wire.Orphan{SessionName: svc.SessionName(a.RunID), RunID: a.RunID, Attempt: a.Number, Action: "none"})
}

// isDamaged reports whether an attempt is in quarantine. The caller holds the lock.
func (w *Worker) isDamaged(k key) bool {
	_, damaged := w.damaged[k]
	return damaged
}

func (w *Worker) hasDamaged(a rundir.Attempt) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.isDamaged(key{a.RunID, a.Number})
}

// settleDamaged releases the damaged attempts that are over.
func (w *Worker) settleDamaged(ctx context.Context) {
	w.mu.Lock()
	all := make([]rundir.Attempt, 0, len(w.damaged))
	for _, a := range w.damaged {
		all = append(all, a)
	}
	w.mu.Unlock()
	for _, a := range all {
		if w.damagedOver(ctx, a) {
			w.releaseDamaged(ctx, a)
		}
	}
}

// damagedOver reports whether nothing of the attempt runs any more. It returns false when that cannot be found
// out.
func (w *Worker) damagedOver(ctx context.Context, a rundir.Attempt) bool {
	if record, err := a.ReadWrapper(); err == nil {
		alive, err := record.Wrapper.Alive()
		return err == nil && !alive
	}
	found, err := tmux.Server{Socket: w.socketOf(a.RunID), Bin: w.opts.TmuxBin}.Inspect(ctx, process.ID{})
	return errors.Is(err, tmux.ErrNoServer) || err == nil && found.Dead
}

// holdsSignals reports whether undelivered signals of a session wait in its attempt's folder.
func (w *Worker) holdsSignals(a rundir.Attempt) bool {
	waiting, _, err := a.Pending()
	return err != nil || slices.ContainsFunc(waiting, func(e rundir.Entry) bool { return !w.dir.OwnWord(e) })
}

// releaseDamaged puts the report of the end into the spool and sets the folder aside.
func (w *Worker) releaseDamaged(ctx context.Context, a rundir.Attempt) {
	log := w.log.With("run_id", a.RunID, "attempt", a.Number)
	w.mu.Lock()
	newer := w.newest(a.RunID)
	w.mu.Unlock()
	if newer == nil { // otherwise the newer attempt has the socket now
		if err := (tmux.Server{Socket: w.socketOf(a.RunID), Bin: w.opts.TmuxBin}).Kill(ctx, process.ID{}); err != nil {
			log.Warn("the terminal of a damaged attempt cannot be closed", "error", err)
			return
		}
	}
	word := svc.Signal{Kind: svc.SignalFinished, ExitCode: -1, Reason: reasonLost, Timestamp: svc.TimeOf(w.opts.Now())}
	if exit, err := a.ReadExit(); err == nil {
		word = a.Signal(exit)
	}
	word.RunID, word.Attempt, word.Source = a.RunID, a.Number, svc.FromWrapper
	if _, err := w.dir.Put(word); err != nil { // the orchestrator treats a repeated report as a duplicate
		log.Error("the end of a damaged attempt could not be spooled", "error", err)
		return
	}
	if w.holdsSignals(a) { // they are delivered first
		w.spool.wakeUp()
		return
	}
	if err := w.recordEnd(a.RunID, rundir.Ended{Attempt: a.Number}); err != nil {
		log.Error("the end of a damaged attempt could not be recorded", "error", err)
		return
	}
	to, err := a.SetAside()
	if err != nil {
		log.Error("the folder of a damaged attempt cannot be set aside", "error", err)
		return
	}
	log.Warn("a damaged attempt is over; its folder was set aside", "path", to)
	w.mu.Lock()
	delete(w.damaged, key{a.RunID, a.Number})
	w.mu.Unlock()
	w.spool.wakeUp()
}
