package worker

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"svc/process"
	"svc/rundir"
	"svc/tmux"
)

// adoptAll loads the attempts that an earlier worker left on disk and resumes each of them from its recorded
// state.
func (w *Worker) adoptAll(ctx context.Context) error {
	attempts, err := w.dir.Attempts()
	if err != nil {
		return err
	}
	var found []*session
	for _, a := range attempts { // by run, then by attempt
		rec, err := a.ReadDispatch()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			w.removeStaleDir(a)
			continue
		case err != nil:
			w.quarantine(a, err)
			continue
		}
		w.mu.Lock()
		s := newSession(w, a, w.newest(a.RunID))
		s.dispatched(&rec.Run, rec.TokenHash)
		w.sessions[key{a.RunID, a.Number}] = s
		w.mu.Unlock()
		s.rec = rec
		s.answer("") // it was acknowledged, or will be when the orchestrator sends it again
		if rec.StopReason != "" {
			s.order(rec.StopReason)
		}
		if s.before != nil {
			s.before.order(supersededBy(a.Number))
		}
		found = append(found, s)
	}
	for _, s := range found {
		w.tasks.Go(func() { s.lead(ctx) })
	}
	return nil
}

// removeStaleDir removes an attempt's folder that has no dispatch record: the dispatch was never acknowledged,
// or a late hook created the folder after the attempt was over. While signals wait in the folder, it stays
// until they are delivered.
func (w *Worker) removeStaleDir(a rundir.Attempt) {
	tells := w.holdsSignals(a)
	w.mu.Lock()
	if tells {
		w.late[key{a.RunID, a.Number}] = a
	} else {
		delete(w.late, key{a.RunID, a.Number})
	}
	w.mu.Unlock()
	if tells {
		return
	}
	if err := a.Remove(); err != nil {
		w.log.Warn("a folder without a dispatch cannot be removed", "error", err)
	}
}

// resume continues an attempt that an earlier worker had started or was about to start. It returns false when
// ctx ended first.
func (s *session) resume(ctx, parts context.Context) (ended bool) {
	s.recallView()
	found, err := s.verify(ctx)
	if s.rec.State == rundir.StateSpawning && ctx.Err() == nil {
		if err == nil {
			s.awaitClaim(ctx, claimLimit, found.Process.Alive)
		}
		if s.revoke() {
			return s.startAgain(ctx, parts)
		}
		if err != nil { // a wrapper took the permit: its terminal came up after verify, and may have ended again
			s.awaitTaker(ctx)
			found, err = s.verify(ctx)
		}
	}
	s.makeRelay()
	switch {
	case ctx.Err() != nil:
		return false
	case err == nil:
		s.found(found, s.rec.Session.Socket)
		s.log.Info("session found again", "pid", found.Process.PID, "dead", found.Dead)
		s.restoreSize(found)
		s.follow(parts)
		return s.watch(ctx) && s.end(ctx)
	}
	// The terminal is gone. A wrapper that still lives is waited for, because it records the end.
	s.followLog(parts)
	s.awaitWrapper(ctx)
	s.reapLeftovers(ctx)
	if ctx.Err() != nil {
		return false
	}
	s.restoreEnding()
	return s.concludeEnded(ctx)
}

// startAgain starts an attempt whose permit was revoked before a wrapper took it: nothing of it has run.
func (s *session) startAgain(ctx, parts context.Context) (ended bool) {
	s.log.Info("no session was started before; it is started now")
	s.closeTerminal(ctx)
	s.rec.State, s.rec.Session = rundir.StateAccepted, nil
	s.save()
	return s.begin(ctx, parts)
}

// verifyPause is the time between two queries to a tmux server that does not answer. verifyTries is the number
// of queries after which a session that is still spawning may be declared missing, if its permit can be
// revoked.
const (
	verifyPause = 2 * time.Second
	verifyTries = 3
)

// verify finds the session by its socket and checks that it is the recorded one: session name, tmux server,
// wrapper. It repeats the query until the result is certain, since an error of tmux proves nothing. The
// returned error is tmux.ErrNoServer when there is no such session, or the error of ctx.
func (s *session) verify(ctx context.Context) (tmux.Session, error) {
	record := s.rec.Session
	server := s.tmux(record.Socket)
	known := record.Server
	for try := 1; ; try++ {
		found, err := server.Inspect(ctx, known)
		switch {
		case err == nil && s.same(found):
			if found.Process.Start == 0 {
				found.Process = s.onRecord(found.Process) // it has ended, so its start time cannot be read any more
			}
			return found, nil
		case err == nil:
			s.log.Warn("another session uses this session's socket; it is left alone", "socket", record.Socket, "session_name", found.Name)
			return tmux.Session{}, tmux.ErrNoServer
		case errors.Is(err, tmux.ErrNoServer):
			return tmux.Session{}, err
		case errors.Is(err, tmux.ErrSocketLost):
			err = s.restoreSocket(ctx, place{server: server, host: known})
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("the session cannot be queried; its state is unknown", "error", err, "retry_in", verifyPause)
		}
		// A tmux that was interrupted while it started or ended never answers. If no wrapper has taken the
		// permit, and none can after it is revoked, there is no session to ask for.
		if s.rec.State == rundir.StateSpawning && try >= verifyTries && s.revoke() {
			return tmux.Session{}, tmux.ErrNoServer
		}
		select {
		case <-ctx.Done():
			return tmux.Session{}, ctx.Err()
		case <-time.After(verifyPause):
		}
	}
}

// same reports whether the session that was found is the recorded one. When the worker died while the session
// was being made, its processes are not recorded. Then its name on its own socket is enough, unless another
// process than the one in the pane has recorded itself as the attempt's wrapper.
func (s *session) same(found tmux.Session) bool {
	if found.Name != s.rec.Run.SessionName && found.Name != sessionNameOf(s.a) {
		return false
	}
	record := s.rec.Session
	if record.Server.PID == 0 {
		wrapper, err := s.a.ReadWrapper()
		return err != nil || wrapper.Wrapper.PID == found.Process.PID
	}
	if record.Server != found.Server {
		return false
	}
	if record.Pane.PID == 0 { // an earlier version did not record the pane's process
		return true
	}
	if record.Pane.PID != found.Process.PID {
		return false
	}
	return record.Pane.Start == 0 || found.Process.Start == 0 || record.Pane.Start == found.Process.Start
}

// onRecord returns the identity of the wrapper in a pane whose process has ended: as the worker or the wrapper
// recorded it, otherwise as tmux still reports it.
func (s *session) onRecord(ended process.ID) process.ID {
	if pane := s.rec.Session.Pane; pane.PID == ended.PID {
		return pane
	}
	if wrapper, err := s.a.ReadWrapper(); err == nil && wrapper.Wrapper.PID == ended.PID {
		return wrapper.Wrapper
	}
	return ended
}

// closeTerminal ends a tmux server that came up after its permit was revoked: its wrapper has nothing to run.
func (s *session) closeTerminal(ctx context.Context) {
	if err := s.tmux(s.rec.Session.Socket).Kill(ctx, process.ID{}); err != nil {
		s.log.Warn("a terminal without a session cannot be closed", "error", err)
	}
}

// awaitWrapper waits for a wrapper whose terminal is gone. The wrapper ends its provider with SIGHUP, records
// the end and exits. A wrapper that does not exit is ended like any session that is stopped.
func (s *session) awaitWrapper(ctx context.Context) {
	wrapper := s.rec.Session.Pane
	if record, err := s.a.ReadWrapper(); err == nil {
		wrapper = record.Wrapper
	} else if taker, err := s.taker(); err == nil && wrapper.PID == 0 {
		wrapper = taker
	}
	if alive, err := wrapper.Alive(); err == nil && !alive {
		return
	}
	s.log.Info("the session's terminal is gone, its wrapper lives; waiting for it", "pid", wrapper.PID)
	s.setPlace(place{server: s.tmux(s.rec.Session.Socket), pane: s.rec.Session.PaneID, process: wrapper})
	s.order(reasonTerminalGone)
	s.watch(ctx)
}

// restoreEnding restores the log's final length: the recorded one, otherwise the current size of the file. It
// also loads the recorded last screen.
func (s *session) restoreEnding() {
	if end, err := s.a.ReadLogEnd(); err == nil {
		s.logRelay().finish(end)
	} else {
		s.finishLog(s.logLength())
	}
	s.recallScreen()
}

// recall resumes an attempt that had ended but whose folder was not removed yet.
func (s *session) recall(parts context.Context) {
	if s.rec.Session != nil || s.rec.LogBegun {
		s.makeRelay()
		s.restoreEnding()
		s.followLog(parts)
	}
	s.mu.Lock()
	s.concluded = true
	s.mu.Unlock()
	for {
		waits, err := s.spooled()
		if err == nil && !waits {
			s.endReported()
		}
		if err == nil {
			return
		}
		s.log.Error("the spool cannot be read; it is unknown whether the end was reported", "error", err, "retry_in", retrySpool)
		select {
		case <-parts.Done():
			return
		case <-time.After(retrySpool):
		}
	}
}
