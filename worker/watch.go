package worker

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"svc"
	"svc/tmux"
)

// watch waits until the session's wrapper has ended, and runs the ladder when a stop is ordered. The wrapper's
// process decides: the kernel reports its end at once, and if tmux cannot be queried the state is unknown,
// never ended. It returns false when ctx ended first.
func (s *session) watch(ctx context.Context) (ended bool) {
	p := s.where()
	waiting, cancel := context.WithCancel(ctx)
	died := make(chan struct{})
	s.parts.Go(func() {
		if p.process.Wait(waiting) == nil {
			close(died)
		}
	})
	s.parts.Go(func() { s.tendTerminal(waiting) })
	launched := make(chan struct{})
	s.parts.Go(func() {
		s.awaitClaim(waiting, 0, p.process.Alive)
		close(launched)
	})
	defer cancel()
	s.noteTree(s.w.processes())
	look := time.NewTicker(s.w.opts.Liveness)
	defer look.Stop()
	stop := s.stop
	var climb ladder
	for {
		select {
		case <-ctx.Done():
			return false
		case <-died:
			return true
		case <-launched:
			launched = nil
			s.forgetSecrets()
		case <-look.C:
			s.noteTree(s.w.processes())
		case <-stop:
			stop = nil
			climb = s.beginLadder(ctx)
		case <-climb.due():
			climb = climb.next(ctx, s)
		}
	}
}

// forgetSecrets removes the run's token and variables from the record once the wrapper has them: only a start
// needs them, and this attempt is not started again.
func (s *session) forgetSecrets() {
	if s.claimed() && s.rec.Forget() {
		s.save()
	}
}

// tendTerminal checks the terminal periodically until ctx ends. It does not run in watch, since a tmux that
// answers slowly must not delay the end or the stop of its session.
func (s *session) tendTerminal(ctx context.Context) {
	look := time.NewTicker(s.w.opts.Liveness)
	defer look.Stop()
	s.findWriter(s.where())
	for {
		watched := s.writer
		died := s.awaitWriter(ctx, watched)
		for s.writer == watched {
			select {
			case <-ctx.Done():
				return
			case <-died:
				died = nil
			case <-look.C:
			}
			s.checkTerminal(ctx)
		}
	}
}

// checkTerminal checks, and if possible repairs, the terminal of a session whose wrapper lives.
func (s *session) checkTerminal(ctx context.Context) {
	p := s.where()
	found, err := p.server.Inspect(ctx, p.host)
	switch {
	case err == nil && (found.Server != p.host || found.Process.PID != p.process.PID):
		s.complain("another tmux server has the session's socket", "socket", p.server.Socket)
	case err == nil && !found.Dead && (!found.Piped || s.writerGone(p)):
		s.pipeAgain(ctx, p)
	case errors.Is(err, tmux.ErrSocketLost):
		s.complain("the session's socket was deleted; it is made again")
		if err := s.restoreSocket(ctx, p); err != nil {
			s.complain("the session's socket cannot be made again", "error", err)
		}
	case errors.Is(err, tmux.ErrNoServer):
		// The wrapper ends its provider by itself in this case; the stop is for a wrapper that cannot.
		s.order(reasonTerminalGone)
	case err != nil && ctx.Err() == nil:
		s.complain("the session cannot be queried; its state is unknown", "error", err)
	case err == nil:
		s.lastWarning = ""
		s.piped()
	}
}

// restoreSocket makes a session's tmux create its deleted socket again, and creates the folder first.
func (s *session) restoreSocket(ctx context.Context, p place) error {
	if err := ensurePrivate(filepath.Dir(p.server.Socket)); err != nil {
		return err
	}
	return p.server.RestoreSocket(ctx, p.host)
}

// reach calls the session's tmux. If its socket was deleted, reach restores it and calls again.
func (s *session) reach(ctx context.Context, p place, call func() error) error {
	err := call()
	lost := errors.Is(err, tmux.ErrSocketLost)
	if errors.Is(err, tmux.ErrNoServer) { // the error for a deleted socket where the kernel's table of sockets cannot be read
		alive, unknown := p.host.Alive()
		lost = unknown == nil && alive
	}
	if !lost {
		return err
	}
	if restoreErr := s.restoreSocket(ctx, p); restoreErr != nil {
		return errors.Join(err, restoreErr)
	}
	return call()
}

// complain logs a warning about the terminal, once until the warning changes.
func (s *session) complain(message string, args ...any) {
	if s.lastWarning != message {
		s.lastWarning = message
		s.log.Warn(message, args...)
	}
}

// beginLadder records on disk that the session is being stopped, so that another worker continues the stop, and
// executes the first step that is due.
func (s *session) beginLadder(ctx context.Context) ladder {
	s.mu.Lock()
	reason := s.stopReason
	s.mu.Unlock()
	now := svc.TimeOf(s.w.opts.Now())
	passed := time.Duration(0)
	if s.rec.StopReason == "" {
		s.rec.StopReason, s.rec.StopAt = reason, now
		s.save()
	} else {
		passed = max(now.Sub(s.rec.StopAt), 0)
	}
	s.log.Info("session is asked to end", "reason", s.rec.StopReason)
	grace := s.w.opts.Config.Worker.StopGrace
	first := stepInterrupt
	if passed >= grace[0] {
		first = stepTerminate
	}
	return ladder{step: first}.next(ctx, s)
}
