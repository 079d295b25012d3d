package tmux

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"svc/process"
)

// killGrace is how long a server may take to end after SIGTERM before it gets SIGKILL.
const killGrace = 3 * time.Second

// Kill ends the server, waits until its process has ended, and removes the socket, so that a new session can
// start there at once. known is the server that the caller has recorded, or the zero value; it is ended even if
// it lost its socket. It is no error if there is no server. The program in the pane gets SIGHUP and may outlive
// this call; output that the log's sink has not received yet is lost.
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
		server = known // it accepts no connection, but it is alive
	}
	// SIGTERM has the effect of kill-server, and also works if the server hangs.
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

// RestoreSocket makes a server create its deleted socket again, and waits until it answers there. known is the
// server that the caller has recorded; with the zero value it is searched, which works on Linux only. It is no
// error if the socket was not lost.
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
