package tmux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"svc/process"
)

// settle is how long find waits for the socket of a server that has just ended: a child that the server had
// forked holds the socket until it executes its program.
const settle = 2 * time.Second

// find returns the process that serves the socket, without asking tmux: the kernel has that information even if
// the server hangs.
func (s Server) find() (process.ID, error) {
	var server process.ID
	var err error
	ctx, cancel := context.WithTimeout(context.Background(), settle)
	defer cancel()
	_ = poll(ctx, 5*time.Millisecond, func() (bool, error) {
		server, err = s.look()
		return !errors.Is(err, errJustEnded), nil
	})
	return server, err
}

var errJustEnded = errors.New("the tmux server has just ended")

// look is find without waiting.
func (s Server) look() (process.ID, error) {
	if err := s.checkSocket(); err != nil {
		return process.ID{}, err
	}
	conn, err := net.DialTimeout("unix", s.Socket, time.Second) //nolint:noctx // a local socket answers or refuses at once
	if err == nil {
		defer func() { _ = conn.Close() }()
		pid, err := peerPID(conn.(*net.UnixConn))
		if err != nil {
			return process.ID{}, fmt.Errorf("find the process that serves %s: %w", s.Socket, err)
		}
		return living(pid)
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
		return process.ID{}, fmt.Errorf("connect to tmux: %w", err)
	}
	pid, err := listenerPID(s.Socket)
	if err != nil {
		return process.ID{}, fmt.Errorf("find the server of %s: %w", s.Socket, err)
	}
	if pid == 0 {
		return process.ID{}, fmt.Errorf("%w on %s", ErrNoServer, s.Socket)
	}
	server, err := living(pid)
	if err != nil {
		return process.ID{}, err
	}
	return server, fmt.Errorf("%w %s (pid %d)", ErrSocketLost, s.Socket, pid)
}

// living returns the process that serves a socket, or errJustEnded if it does not live any more.
func living(pid int) (process.ID, error) {
	server, err := process.Of(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return process.ID{}, errJustEnded
	}
	if err != nil {
		return process.ID{}, err
	}
	alive, err := server.Alive()
	if err == nil && !alive {
		err = errJustEnded
	}
	return server, err
}

// findOr is find with the server that the caller has recorded: if that server still lives, it is not missing.
func (s Server) findOr(known process.ID) (process.ID, error) {
	server, err := s.find()
	if !errors.Is(err, ErrNoServer) || known.PID == 0 {
		return server, err
	}
	alive, aliveErr := known.Alive()
	if aliveErr != nil {
		return process.ID{}, aliveErr
	}
	if alive {
		return known, fmt.Errorf("%w %s (pid %d)", ErrSocketLost, s.Socket, known.PID)
	}
	return process.ID{}, err
}

func (s Server) removeSocket() error {
	if err := os.Remove(s.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove tmux socket: %w", err)
	}
	return nil
}

// poll calls done at once and then in intervals, until done returns true or an error, or ctx ends.
func poll(ctx context.Context, interval time.Duration, done func() (bool, error)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
