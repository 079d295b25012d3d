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

// adoptAll finds the attempts of an earlier worker and goes on with each where that one stopped.
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
		s.answer("") // it was, or is when it is sent again
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

// removeStaleDir removes a folder without a dispatch: a dispatch that was never acknowledged, or what a
// late hook made of one that is over. What it has to tell is delivered first.
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
		w.log.Warn("a folder without a dispatch stays", "error", err)
	}
}

// resume goes on with an attempt that an earlier worker had started, or was about to. False means
// that ctx ended first.
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
		if err != nil { // the permit was taken: a terminal has come up since we looked, or has gone again
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
	// No terminal. A wrapper that outlived it is waited for: it records the end.
	s.followLog(parts)
	s.awaitWrapper(ctx)
	s.reapLeftovers(ctx)
	if ctx.Err() != nil {
		return false
	}
	s.restoreEnding()
	return s.concludeEnded(ctx)
}

// startAgain starts an attempt whose permit nobody has used and nobody can use any more: nothing was
// started.
func (s *session) startAgain(ctx, parts context.Context) (ended bool) {
	s.log.Info("the session was never made; it is started now")
	s.closeTerminal(ctx)
	s.rec.State, s.rec.Session = rundir.StateAccepted, nil
	s.save()
	return s.begin(ctx, parts)
}

// verifyPause is the time between two questions to a tmux that does not answer, and verifyTries how
// often one is asked that may never have held a session.
const (
	verifyPause = 2 * time.Second
	verifyTries = 3
)

// verify finds the session by its socket and checks that it is the one on record: session name,
// server, wrapper. It asks until it knows: an error of tmux is no knowledge. The error is
// tmux.ErrNoServer when there is no such session, or that of ctx.
func (s *session) verify(ctx context.Context) (tmux.Session, error) {
	record := s.rec.Session
	server := s.tmux(record.Socket)
	known := record.Server
	for try := 1; ; try++ {
		found, err := server.Inspect(ctx, known)
		switch {
		case err == nil && s.same(found):
			if found.Process.Start == 0 {
				found.Process = s.onRecord(found.Process) // it has ended, and nobody tells its start any more
			}
			return found, nil
		case err == nil:
			s.log.Warn("another session has this one's socket; it is left alone", "socket", record.Socket, "session_name", found.Name)
			return tmux.Session{}, tmux.ErrNoServer
		case errors.Is(err, tmux.ErrNoServer):
			return tmux.Session{}, err
		case errors.Is(err, tmux.ErrSocketLost):
			err = s.restoreSocket(ctx, place{server: server, host: known})
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("the session cannot be asked; its state is unknown", "error", err, "retry_in", verifyPause)
		}
		// A tmux that was interrupted while it came up or went answers nobody. What its wrapper has not
		// taken, and now never will, need not be asked for.
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

// same says whether what was found is the session on record. A session that was being made when the
// worker died has no processes on record: there its name on its own socket must do, and it must be
// the wrapper of this attempt or one that has not come so far.
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
	if record.Pane.PID == 0 { // an earlier version wrote it so
		return true
	}
	if record.Pane.PID != found.Process.PID {
		return false
	}
	return record.Pane.Start == 0 || found.Process.Start == 0 || record.Pane.Start == found.Process.Start
}

// onRecord is the wrapper in a pane whose process has ended: as it was recorded, by us or by itself, else what tmux still knows of it.
func (s *session) onRecord(ended process.ID) process.ID {
	if pane := s.rec.Session.Pane; pane.PID == ended.PID {
		return pane
	}
	if wrapper, err := s.a.ReadWrapper(); err == nil && wrapper.Wrapper.PID == ended.PID {
		return wrapper.Wrapper
	}
	return ended
}

// closeTerminal ends a tmux that came up after its permit was revoked: its wrapper has nothing to do.
func (s *session) closeTerminal(ctx context.Context) {
	if err := s.tmux(s.rec.Session.Socket).Kill(ctx, process.ID{}); err != nil {
		s.log.Warn("a terminal without a session stays", "error", err)
	}
}

// awaitWrapper waits for a wrapper whose terminal is gone. It hangs up its provider, records the end
// and leaves; one that does not is made to, like any session that shall end.
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

// restoreEnding finds the log's length: recorded, or where the file ends now.
func (s *session) restoreEnding() {
	if end, err := s.a.ReadLogEnd(); err == nil {
		s.logRelay().finish(end)
	} else {
		s.finishLog(s.logLength())
	}
	s.recallScreen()
}

// recall goes on with an attempt that had ended and was not yet cleared away.
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
		s.log.Error("whether the end was reported cannot be read", "error", err, "retry_in", retrySpool)
		select {
		case <-parts.Done():
			return
		case <-time.After(retrySpool):
		}
	}
}
