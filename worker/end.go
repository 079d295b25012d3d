package worker

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"svc"
	"svc/process"
	"svc/rundir"
	"svc/tmux"
	"svc/wire"
)

// closeLimit bounds each step of closing a session, in time in which this worker runs.
const closeLimit = 10 * time.Second

// reasonLost is the reason of an end that was neither recorded nor caused by a stop. reasonTerminalGone is the
// reason of the stop that the worker orders itself when a session's terminal is gone.
const (
	reasonLost         = "session_lost"
	reasonTerminalGone = "its terminal is gone"
)

// end closes a session whose wrapper has ended: it records the last screen, waits for the log's writer, closes
// the terminal and puts the report of the end into the spool. It returns false when ctx ended first.
func (s *session) end(ctx context.Context) bool {
	p := s.where()
	s.setPlace(place{server: p.server, host: p.host, pane: p.pane, process: p.process})
	s.w.detachSession(s, "the session has ended")
	s.reapLeftovers(ctx) // first: what leftovers still write to the terminal belongs to the log
	s.awaitPane(ctx, p)
	var writers []process.ID
	if alive, err := p.host.Alive(); err == nil && alive {
		writers = process.Children(p.host.PID) // the wrapper, tmux's only other child, has ended
	}
	s.drain(ctx, p.host, writers)
	s.keepScreen(ctx, p)
	if ctx.Err() != nil {
		return false
	}
	if err := s.close(ctx, p, writers); err != nil {
		s.log.Error("the session's terminal cannot be closed", "error", err)
	}
	s.finishLog(s.logLength())
	return s.concludeEnded(ctx)
}

// awaitPane waits until tmux has read all remaining output of the wrapper's terminal, which it shows by marking
// the pane dead. It returns at once when tmux itself has ended.
func (s *session) awaitPane(ctx context.Context, p place) {
	ctx, cancel := patient(ctx, closeLimit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		found, err := p.server.Inspect(ctx, p.host)
		if errors.Is(err, tmux.ErrNoServer) || err == nil && found.Dead {
			return
		}
		select {
		case <-ctx.Done():
			s.log.Warn("the terminal does not report that its program has ended", "error", err)
			return
		case <-tick.C:
		}
	}
}

// close closes the terminal and waits for the process that writes its log.
func (s *session) close(ctx context.Context, p place, writers []process.ID) error {
	ctx, cancel := patient(ctx, closeLimit)
	defer cancel()
	err := p.server.Kill(ctx, p.host)
	if err == nil {
		s.awaitWriters(ctx, writers)
	}
	return err
}

func (s *session) finishLog(end int64) {
	if err := s.a.WriteLogEnd(end); err != nil {
		s.log.Warn("the log's length could not be recorded", "error", err)
	}
	if r := s.logRelay(); r != nil {
		r.finish(end)
	}
}

// recordedEnd returns the end that the wrapper recorded. It is called after the wrapper has ended, so that no
// record can follow. A record that cannot be read now is read again until the result is certain. It returns
// false when ctx ended first.
func (s *session) recordedEnd(ctx context.Context) (svc.Signal, bool) {
	for {
		exit, err := s.a.ReadExit()
		switch {
		case err == nil:
			s.log.Info("session ended", "exit_code", exit.Code, "reason", exit.Reason)
			return s.a.Signal(exit), true
		case errors.Is(err, os.ErrNotExist), errors.Is(err, rundir.ErrCorrupt):
			s.log.Warn("session has ended without a report", "error", err)
			return s.unrecorded(), true
		}
		s.log.Error("the wrapper's record of the end cannot be read", "error", err, "retry_in", retrySpool)
		select {
		case <-ctx.Done():
			return svc.Signal{}, false
		case <-time.After(retrySpool):
		}
	}
}

// unrecorded returns the end of a session whose wrapper recorded none: it was stopped by this worker, was never
// started, or was lost.
func (s *session) unrecorded() svc.Signal {
	stopped := s.rec.StopReason != "" && s.rec.StopReason != reasonTerminalGone
	switch {
	case s.rec.Killed && stopped:
		return svc.Signal{Kind: svc.SignalFinished, ExitCode: exitKilled, Reason: "killed by the stop"}
	case s.revoke() && stopped:
		return svc.Signal{Kind: svc.SignalFinished, ExitCode: -1, Reason: "stopped before start"}
	case s.revoke():
		return svc.Signal{Kind: svc.SignalFailed, Error: s.spawnError(errors.New("its session ended before the provider was started")).Error()}
	case stopped:
		return svc.Signal{Kind: svc.SignalFinished, ExitCode: -1, Reason: "stopped"}
	}
	return svc.Signal{Kind: svc.SignalFinished, ExitCode: -1, Reason: reasonLost}
}

// exitKilled is the exit code of a process that SIGKILL has ended, as shells report it.
const exitKilled = 128 + 9

// retrySpool is the pause between tries to read or write, on a failing disk, the signal that must not be lost.
const retrySpool = 5 * time.Second

// conclude puts the report of the end into the spool, once, and records that it is there.
func (s *session) conclude(ctx context.Context, word svc.Signal) {
	word.RunID, word.Attempt, word.Source = s.a.RunID, s.a.Number, svc.FromWrapper
	if word.Timestamp == 0 {
		word.Timestamp = svc.TimeOf(s.w.opts.Now())
	}
	s.mu.Lock()
	s.concluded = true
	s.mu.Unlock()
	for {
		err := s.spoolOnce(word)
		if err == nil {
			break
		}
		s.log.Error("the end could not be spooled", "error", err, "retry_in", retrySpool)
		select {
		case <-ctx.Done():
			return
		case <-time.After(retrySpool):
		}
	}
	said := wire.FromSignal(word)
	s.rec.State, s.rec.Word = rundir.StateEnded, &said
	s.rec.Forget()
	s.save()
	s.w.spool.wakeUp()
}

// concludeEnded concludes a session that ran. It returns false when ctx ended first.
func (s *session) concludeEnded(ctx context.Context) bool {
	word, known := s.recordedEnd(ctx)
	if !known {
		return false
	}
	s.leaveWorkspace(ctx)
	s.conclude(ctx, word)
	return ctx.Err() == nil
}

// spoolOnce puts the report of the end into the spool unless it was delivered or is in the spool already.
func (s *session) spoolOnce(word svc.Signal) error {
	if s.isReported() {
		return nil
	}
	waits, err := s.spooled()
	if err == nil && !waits {
		_, err = s.w.dir.Put(word)
	}
	return err
}

// spooled reports whether a report of the end is in the spool already.
func (s *session) spooled() (bool, error) {
	entries, _, err := s.a.Pending()
	return slices.ContainsFunc(entries, terminal), err
}

// announceOrphan reports to the orchestrator a session that was stopped because of another attempt.
func (s *session) announceOrphan() {
	if strings.HasPrefix(s.rec.StopReason, reasonSuperseded) {
		s.w.reportOrphan(wire.Orphan{
			SessionName: svc.SessionName(s.a.RunID), RunID: s.a.RunID, Attempt: s.a.Number, Action: "stopped",
		})
	}
}

// giveUpLog applies to an orchestrator without the log_end capability, which cannot confirm that it has the
// whole log. If it answers but takes none of the log for this long, the attempt's folder is removed. The log
// itself stays on this host. An orchestrator with log_end is waited for without a limit.
const giveUpLog = 10 * time.Minute

// awaitDelivery waits until the orchestrator has everything of the attempt: the end, the log, the last screen,
// the signals.
func (s *session) awaitDelivery(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.resendFinal()
		if s.isReported() && s.logTaken() && s.finalTaken() && !s.w.holdsSignals(s.a) {
			return
		}
	}
}

// logTaken reports whether the attempt need not be kept for its log any longer.
func (s *session) logTaken() bool {
	r, l := s.logRelay(), s.w.uplink()
	if r == nil || r.caught() {
		return true
	}
	return l != nil && !l.can(wire.CapLogEnd) && r.stuck(l, giveUpLog)
}

// clearEvery is the pause between tries to record an attempt's end before its folder is removed.
const clearEvery = time.Second

// clear removes the attempt's folder. The log, the last screen and the tombstone stay. The tombstone is written
// first: until that succeeds, for example on a full disk, the folder stays.
func (s *session) clear(ctx context.Context) {
	r := s.logRelay()
	end := rundir.Ended{Attempt: s.a.Number, LogBase: s.rec.LogBase, LogEnd: r.length(), Signal: s.rec.Word, Relayed: r == nil || r.caught()}
	tick := time.NewTicker(clearEvery)
	defer tick.Stop()
	for told := false; ; told = true {
		err := s.w.recordEnd(s.a.RunID, end)
		if err == nil {
			break
		}
		if !told {
			s.log.Error("the attempt's folder stays until its end can be recorded", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	if err := errors.Join(s.a.KeepScreen(), s.a.Remove()); err != nil {
		s.log.Error("the attempt's folder cannot be removed", "error", err)
	}
	s.w.drop(s)
	s.log.Debug("attempt is cleared away")
}
