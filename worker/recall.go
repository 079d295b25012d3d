package worker

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"svc"
	"svc/rundir"
	"svc/wire"
)

// mostEnds bounds the ends in a tombstone, for a run that is restarted very often.
const mostEnds = 64

// readTombstone returns the highest attempt that is over; 0 means none.
func (w *Worker) readTombstone(runID string) (int, error) {
	t, err := w.dir.Tombstone(runID)
	return t.Attempt, err
}

// recordEnd adds the end of an attempt to the run's tombstone.
func (w *Worker) recordEnd(runID string, end rundir.Ended) error {
	t, err := w.dir.Tombstone(runID)
	damaged := errors.Is(err, rundir.ErrCorrupt)
	if err != nil && !damaged {
		return err
	}
	if damaged {
		t = rundir.Tombstone{}
	}
	if _, has := t.Of(end.Attempt); has {
		return nil
	}
	t.Relayed = end.Relayed && !damaged && (t.Attempt == 0 || t.Relayed)
	t.Attempt, t.At = max(t.Attempt, end.Attempt), svc.TimeOf(w.opts.Now())
	t.Ends = append(t.Ends, end)
	if len(t.Ends) > mostEnds {
		t.Ends = t.Ends[len(t.Ends)-mostEnds:]
	}
	return w.dir.WriteTombstone(runID, t)
}

// recall answers an orchestrator whose record of attempts differs from the inventory. The starts or ends of the
// attempts are reported again, an end after its log. Attempts that this host has no trace of are reported as
// unknown.
func (w *Worker) recall(l *link, f *wire.RunRecall) {
	w.tasks.Go(func() {
		var unknown []wire.LiveRun
		for _, run := range f.Runs {
			if w.ctx.Err() != nil {
				return
			}
			known, err := w.reportAgain(run.RunID, run.Attempt)
			if err != nil {
				w.log.Error("an attempt cannot be reported again now", "run_id", run.RunID, "attempt", run.Attempt, "error", err)
			} else if !known {
				unknown = append(unknown, run)
			}
		}
		if len(unknown) > 0 {
			w.log.Warn("the orchestrator asks for runs of which this host has no trace", "runs", len(unknown))
			l.out.push(laneControl, &wire.RunUnknown{Runs: unknown}, nil)
		}
	})
}

// reportAgain reports the end of an attempt once more, unless that is under way, or the start if its session
// lives. It returns false when there is no trace of the attempt.
func (w *Worker) reportAgain(runID string, attempt int) (known bool, err error) {
	if s := w.session(runID, attempt); s != nil {
		if !s.isReported() {
			return true, w.reportStarted(s.a)
		}
		// The session waits until the orchestrator has its log, or its folder is being removed.
		rec, err := s.a.ReadDispatch()
		if err == nil {
			return true, w.report(runID, attempt, rec.Word)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
		w.awaitDrop(s)
	}
	t, err := w.dir.Tombstone(runID)
	if err != nil || w.hasDamaged(w.dir.Attempt(runID, attempt)) {
		return true, err
	}
	pending, _, err := w.dir.Attempt(runID, attempt).Pending()
	if err != nil {
		return true, err
	}
	for _, e := range pending {
		if terminal(e) {
			return true, nil
		}
	}
	if t.Attempt < attempt {
		return false, nil
	}
	end, has := w.endOf(t, runID, attempt)
	if !has {
		return true, w.report(runID, attempt, nil) // it ended under a version that did not keep ends
	}
	return true, w.reopen(runID, end, true)
}

// reportStarted reports the start of a live attempt once more, from the wrapper's record.
func (w *Worker) reportStarted(a rundir.Attempt) error {
	rec, err := a.ReadWrapper()
	if errors.Is(err, fs.ErrNotExist) || err == nil && rec.Child == nil {
		return nil // not started yet: the wrapper will report it
	}
	if err != nil {
		return err
	}
	pending, _, err := a.Pending()
	if err != nil || slices.ContainsFunc(pending, func(e rundir.Entry) bool { return e.Kind() == svc.SignalStarted || terminal(e) }) {
		return err
	}
	_, err = w.dir.Put(svc.Signal{RunID: a.RunID, Attempt: a.Number, Kind: svc.SignalStarted, Source: svc.FromWrapper,
		PID: &rec.Child.PID, Timestamp: rec.At})
	w.spool.wakeUp()
	return err
}

// awaitDrop waits until a session whose folder is gone is removed from memory too.
func (w *Worker) awaitDrop(s *session) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for w.session(s.a.RunID, s.a.Number) == s {
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			return
		}
	}
}

// endOf returns how an attempt ended. A tombstone of an earlier version has no ends; for its only attempt, the
// log is the whole file.
func (w *Worker) endOf(t rundir.Tombstone, runID string, attempt int) (rundir.Ended, bool) {
	if end, has := t.Of(attempt); has {
		return end, true
	}
	if attempt == 1 && t.Attempt == 1 {
		return rundir.Ended{Attempt: 1, LogEnd: fileSize(w.dir.LogPath(runID))}, true
	}
	return rundir.Ended{}, false
}

// report puts the end of an attempt into the spool once more. Without the original signal only the fact that it
// is over is known, so it reports a lost session.
func (w *Worker) report(runID string, attempt int, word *wire.Signal) error {
	lost := svc.Signal{RunID: runID, Attempt: attempt, Kind: svc.SignalFinished, Source: svc.FromWrapper,
		ExitCode: -1, Reason: reasonLost, Timestamp: svc.TimeOf(w.opts.Now())}
	if word != nil {
		said, err := word.Parse(runID)
		if err != nil {
			return err
		}
		lost = said
	}
	_, err := w.dir.Put(lost)
	w.spool.wakeUp()
	return err
}

// reopen makes a session for an attempt that is over and whose folder was removed: it is relayed and, with
// tell, reported like one that has just ended, and then removed again.
func (w *Worker) reopen(runID string, end rundir.Ended, tell bool) error {
	a := w.dir.Attempt(runID, end.Attempt)
	w.mu.Lock()
	if err := w.ctx.Err(); err != nil || w.sessions[key{runID, end.Attempt}] != nil {
		w.mu.Unlock()
		return err
	}
	s := newSession(w, a, nil)
	s.rec = rundir.Dispatch{
		Run:   wire.RunDispatch{RunID: runID, SessionName: svc.SessionName(runID), Attempt: end.Attempt},
		State: rundir.StateEnded, LogBase: end.LogBase, LogBegun: true, Word: end.Signal,
	}
	s.answer("")
	w.sessions[key{runID, end.Attempt}] = s
	w.mu.Unlock()
	err := a.Create()
	if err == nil {
		err = a.WriteLogEnd(end.LogEnd)
	}
	if err == nil {
		err = a.WriteDispatch(s.rec)
	}
	if err == nil && tell {
		err = w.report(runID, end.Attempt, end.Signal)
	}
	if err != nil {
		w.drop(s)
		return errors.Join(err, a.Remove())
	}
	w.tasks.Go(func() { s.lead(w.ctx) })
	return nil
}

// readLog answers an orchestrator that requests a log because it does not have all of it.
func (w *Worker) readLog(l *link, f *wire.LogRead) {
	w.tasks.Go(func() {
		if s := w.session(f.RunID, f.Attempt); s != nil {
			if s.a.Exists() {
				if r := s.logRelay(); r != nil {
					r.again()
				}
				return
			}
			w.awaitDrop(s) // its folder is being removed
		}
		t, err := w.dir.Tombstone(f.RunID)
		end, has := w.endOf(t, f.RunID, f.Attempt)
		if err == nil && has && fileSize(w.dir.LogPath(f.RunID)) >= end.LogBase+end.LogEnd {
			err = w.reopen(f.RunID, end, false)
			if err == nil {
				return
			}
		}
		if err != nil {
			w.log.Error("a log cannot be relayed again", "run_id", f.RunID, "attempt", f.Attempt, "error", err)
		}
		l.out.push(laneControl, &wire.LogGone{RunID: f.RunID, Attempt: f.Attempt}, nil)
	})
}
