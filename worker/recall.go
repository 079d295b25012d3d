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

// mostEnds bounds what a tombstone keeps of a run that is restarted over and over.
const mostEnds = 64

// readTombstone is the highest attempt that is over; 0 means none.
func (w *Worker) readTombstone(runID string) (int, error) {
	t, err := w.dir.Tombstone(runID)
	return t.Attempt, err
}

// recordEnd writes the tombstone of an attempt.
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

// recall answers an orchestrator whose record of attempts differs from the inventory. It is told again
// that they started or how they ended, with their logs before; what nobody here knows of is said to be
// unknown.
func (w *Worker) recall(l *link, f *wire.RunRecall) {
	w.tasks.Go(func() {
		var unknown []wire.LiveRun
		for _, run := range f.Runs {
			if w.ctx.Err() != nil {
				return
			}
			known, err := w.tellAgain(run.RunID, run.Attempt)
			if err != nil {
				w.log.Error("an attempt cannot be reported again now", "run_id", run.RunID, "attempt", run.Attempt, "error", err)
			} else if !known {
				unknown = append(unknown, run)
			}
		}
		if len(unknown) > 0 {
			w.log.Warn("the orchestrator asks for runs that this host knows nothing of", "runs", len(unknown))
			l.out.push(laneControl, &wire.RunUnknown{Runs: unknown}, nil)
		}
	})
}

// tellAgain sees to it that the end of an attempt is reported once more, unless it is under way, or the
// start of one whose session lives. It is false when there is no trace of the attempt.
func (w *Worker) tellAgain(runID string, attempt int) (known bool, err error) {
	if s := w.session(runID, attempt); s != nil {
		if !s.isReported() {
			return true, w.tellStarted(s.a)
		}
		// It waits for its log to be taken, or is just being cleared away.
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
		return true, w.report(runID, attempt, nil) // it ended before its end was kept
	}
	return true, w.reopen(runID, end, true)
}

// tellStarted reports the start of a living attempt once more, from the wrapper's own record of it.
func (w *Worker) tellStarted(a rundir.Attempt) error {
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

// awaitDrop waits until a session whose folder is gone is forgotten too.
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

// endOf is how an attempt ended. Of the only attempt of a tombstone from before ends were kept, the log is
// the whole file.
func (w *Worker) endOf(t rundir.Tombstone, runID string, attempt int) (rundir.Ended, bool) {
	if end, has := t.Of(attempt); has {
		return end, true
	}
	if attempt == 1 && t.Attempt == 1 {
		return rundir.Ended{Attempt: 1, LogEnd: fileSize(w.dir.LogPath(runID))}, true
	}
	return rundir.Ended{}, false
}

// report spools the end of an attempt once more. Without the signal it was reported with, only that it is
// over is known.
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

// reopen makes a session of an attempt that is over and was cleared away: it is relayed and reported like
// one that has just ended, and cleared away again.
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

// readLog answers an orchestrator that wants a log that it does not have, or not all of it.
func (w *Worker) readLog(l *link, f *wire.LogRead) {
	w.tasks.Go(func() {
		if s := w.session(f.RunID, f.Attempt); s != nil {
			if s.a.Exists() {
				if r := s.logRelay(); r != nil {
					r.again()
				}
				return
			}
			w.awaitDrop(s) // it is just being cleared away
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
