package worker

import (
	"svc"
	"svc/rundir"
	"svc/wire"
)

// stopRun handles a request to end an attempt's session.
func (w *Worker) stopRun(f *wire.RunStop) {
	if s := w.session(f.RunID, f.Attempt); s != nil && !s.isReported() {
		if s.order(stopReason(f.Reason)) {
			s.log.Info("stop ordered", "reason", f.Reason)
		}
		return
	}
	w.tasks.Go(func() { w.refuseStart(f.RunID, f.Attempt) })
}

// reasonSuperseded begins the reason of a stop of an attempt that a later one replaces, both in the
// orchestrator's requests and in the worker's own.
const reasonSuperseded = "superseded"

func supersededBy(attempt int) string { return reasonSuperseded + " by attempt " + itoa(attempt) }

// stopReason returns a reason that is never empty: in the record, an empty reason means that no stop was
// requested.
func stopReason(reason string) string {
	if reason == "" {
		return "stopped"
	}
	return reason
}

// refuseStart handles a request to end an attempt that this worker does not hold. The end of an attempt that is
// over is reported again, since the orchestrator does not have it. An attempt that never arrived is recorded as
// over, so that it cannot start later, and its end is reported.
func (w *Worker) refuseStart(runID string, attempt int) {
	over, err := w.readTombstone(runID)
	if err != nil {
		w.log.Error("stop of an unknown attempt: its tombstone cannot be read", "run_id", runID, "error", err)
		return
	}
	if over >= attempt || w.session(runID, attempt) != nil {
		if _, err := w.reportAgain(runID, attempt); err != nil {
			w.log.Error("an end cannot be reported again now", "run_id", runID, "attempt", attempt, "error", err)
		}
		return
	}
	word := svc.Signal{
		RunID: runID, Attempt: attempt, Kind: svc.SignalFinished, Source: svc.FromWrapper,
		ExitCode: -1, Reason: "stopped before start", Timestamp: svc.TimeOf(w.opts.Now()),
	}
	said := wire.FromSignal(word) // stored, so that it can be reported again
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
