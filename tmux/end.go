package tmux

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"svc/process"
)

// killGrace is how long a server may take to leave in good order before it is made to.
const killGrace = 3 * time.Second

// Kill ends the server, waits until its process is gone, and removes the socket, so that a new
// session can start there at once. known is the server that the caller remembers, or the zero
// value; it is ended if it lost its socket. No server is no error. The program in the pane gets
// SIGHUP and may outlive this call; what the log's sink has not yet been given is lost.
func (s Server) Kill(ctx context.Context, known process.ID) error {
	server, err := s.findOr(known)
	if errors.Is(err, ErrNoServer) || errors.Is(err, errJustEnded) {
		return s.removeSocket()
	}
	if err != nil && !errors.Is(err, ErrSocketLost) {
		alive, unknown := known.Alive()
		if known.PID == 0 || unknown != nil || !alive {
			return fmt.Errorf("kill tmux server: %w", err)
		}
		server = known // it takes no connection, but there it is
	}
	// SIGTERM is what kill-server does, and needs no answer from a server that is wedged.
	if err := server.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("kill tmux server: %w", err)
	}
	grace, cancel := context.WithTimeout(ctx, killGrace)
	defer cancel()
	if server.Wait(grace) != nil {
		if err := server.Signal(syscall.SIGKILL); err != nil {
			return fmt.Errorf("kill tmux server: %w", err)
		}
		if err := server.Wait(ctx); err != nil {
			return fmt.Errorf("kill tmux server: wait for process %d: %w", server.PID, err)
		}
	}
	return s.removeSocket()
}

// RestoreSocket makes a server create its deleted socket anew, and waits until it answers there.
// known is the server that the caller remembers; the zero value lets Linux find it. A server that
// never lost its socket is no error.
func (s Server) RestoreSocket(ctx context.Context, known process.ID) error {
	server, err := s.findOr(known)
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrSocketLost) {
		return fmt.Errorf("restore tmux socket: %w", err)
	}
	if err := server.Signal(syscall.SIGUSR1); err != nil {
		return fmt.Errorf("restore tmux socket: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	err = poll(ctx, 10*time.Millisecond, func() (bool, error) {
		_, err := s.find()
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("restore tmux socket: no answer of process %d: %w", server.PID, err)
	}
	return nil
}
