package worker

import (
	"svc"
	"svc/wire"
)

// stopRun takes the order to end an attempt's session.
func (w *Worker) stopRun(_ *link, f *wire.RunStop) {
	w.log.Info("stop ordered", "run_id", f.RunID, "attempt", f.Attempt, "reason", f.Reason)
	if s := w.session(f.RunID, f.Attempt); s != nil {
		s.order(stopReason(f.Reason), f.Reason == reasonSuperseded)
		return
	}
	w.tasks.Go(func() { w.refuseStart(f.RunID, f.Attempt) })
}

// reasonSuperseded is the orchestrator's word for an attempt whose run has gone on without it.
const reasonSuperseded = "superseded"

// stopReason is never empty: on disk, an empty reason means that no stop was asked for.
func stopReason(reason string) string {
	if reason == "" {
		return "stopped"
	}
	return reason
}

// refuseStart answers the order to end an attempt that this worker does not hold. An attempt that is
// over was reported. One that never came here will not begin here either, and the orchestrator is
// told that there is no session.
func (w *Worker) refuseStart(runID string, attempt int) {
	over, err := w.readTombstone(runID)
	if err != nil {
		w.log.Error("stop of an unknown attempt: its tombstone cannot be read", "run_id", runID, "error", err)
		return
	}
	if over >= attempt {
		return
	}
	if err := w.bury(runID, attempt); err != nil {
		w.log.Error("stop of an unknown attempt could not be recorded", "run_id", runID, "attempt", attempt, "error", err)
		return
	}
	_, err = w.dir.Put(svc.Signal{
		RunID: runID, Attempt: attempt, Kind: svc.SignalFinished, Source: svc.FromWrapper,
		ExitCode: -1, Reason: "stopped before start", Timestamp: svc.TimeOf(w.opts.Now()),
	})
	if err != nil {
		w.log.Error("the end of an attempt that never began could not be spooled", "run_id", runID, "error", err)
		return
	}
	w.spool.stir()
}
