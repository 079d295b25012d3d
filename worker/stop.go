package worker

import (
	"svc"
	"svc/rundir"
	"svc/wire"
)

// stopRun takes the order to end an attempt's session.
func (w *Worker) stopRun(f *wire.RunStop) {
	if s := w.session(f.RunID, f.Attempt); s != nil && !s.isReported() {
		if s.order(stopReason(f.Reason)) {
			s.log.Info("stop ordered", "reason", f.Reason)
		}
		return
	}
	w.tasks.Go(func() { w.refuseStart(f.RunID, f.Attempt) })
}

// reasonSuperseded begins the reason of a stop because the run has gone on without the attempt, in
// the orchestrator's words and in ours.
const reasonSuperseded = "superseded"

func supersededBy(attempt int) string { return reasonSuperseded + " by attempt " + itoa(attempt) }

// stopReason is never empty: on disk, an empty reason means that no stop was asked for.
func stopReason(reason string) string {
	if reason == "" {
		return "stopped"
	}
	return reason
}

// refuseStart answers the order to end an attempt that this worker does not hold. An attempt that is
// over is reported again: whoever orders its end does not know. One that never came here will not begin here either, and the orchestrator is
// told that there is no session.
func (w *Worker) refuseStart(runID string, attempt int) {
	over, err := w.readTombstone(runID)
	if err != nil {
		w.log.Error("stop of an unknown attempt: its tombstone cannot be read", "run_id", runID, "error", err)
		return
	}
	if over >= attempt || w.session(runID, attempt) != nil {
		if _, err := w.tellAgain(runID, attempt); err != nil {
			w.log.Error("an end cannot be told again now", "run_id", runID, "attempt", attempt, "error", err)
		}
		return
	}
	word := svc.Signal{
		RunID: runID, Attempt: attempt, Kind: svc.SignalFinished, Source: svc.FromWrapper,
		ExitCode: -1, Reason: "stopped before start", Timestamp: svc.TimeOf(w.opts.Now()),
	}
	said := wire.FromSignal(word) // kept, should it have to be told again
	if err := w.recordEnd(runID, rundir.Ended{Attempt: attempt, Relayed: true, Signal: &said}); err != nil {
		w.log.Error("stop of an unknown attempt could not be recorded", "run_id", runID, "attempt", attempt, "error", err)
		return
	}
	if _, err = w.dir.Put(word); err != nil {
		w.log.Error("the end of an attempt that never began could not be spooled", "run_id", runID, "error", err)
		return
	}
	w.spool.wakeUp()
}
