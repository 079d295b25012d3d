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
)

// settle is how long find waits for the socket of a server that has just ended: a child that it
// had forked and that has not yet executed its program holds the socket for another moment.
const settle = 2 * time.Second

// find answers which process serves the socket, without asking tmux: the kernel knows it even of a
// server that answers nobody.
func (s Server) find() (Process, error) {
	var server Process
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

// look is find for this moment.
func (s Server) look() (Process, error) {
	if err := s.checkSocket(); err != nil {
		return Process{}, err
	}
	conn, err := net.DialTimeout("unix", s.Socket, time.Second) //nolint:noctx // a local socket answers or refuses at once
	if err == nil {
		defer func() { _ = conn.Close() }()
		pid, err := peerPID(conn.(*net.UnixConn))
		if err != nil {
			return Process{}, fmt.Errorf("ask who serves %s: %w", s.Socket, err)
		}
		return living(pid)
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
		return Process{}, fmt.Errorf("connect to tmux: %w", err)
	}
	pid, err := listenerPID(s.Socket)
	if err != nil {
		return Process{}, fmt.Errorf("look for the server of %s: %w", s.Socket, err)
	}
	if pid == 0 {
		return Process{}, fmt.Errorf("%w on %s", ErrNoServer, s.Socket)
	}
	server, err := living(pid)
	if err != nil {
		return Process{}, err
	}
	return server, fmt.Errorf("%w %s (pid %d)", ErrSocketLost, s.Socket, pid)
}

// living names the process behind a socket, which has to live to count as its server.
func living(pid int) (Process, error) {
	server, err := processOf(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return Process{}, errJustEnded
	}
	if err != nil {
		return Process{}, err
	}
	alive, err := server.Alive()
	if err == nil && !alive {
		err = errJustEnded
	}
	return server, err
}

// findOr is find with the caller's memory: a remembered server that still lives is not absent.
func (s Server) findOr(known Process) (Process, error) {
	server, err := s.find()
	if !errors.Is(err, ErrNoServer) || known.PID == 0 {
		return server, err
	}
	alive, aliveErr := known.Alive()
	if aliveErr != nil {
		return Process{}, aliveErr
	}
	if alive {
		return known, fmt.Errorf("%w %s (pid %d)", ErrSocketLost, s.Socket, known.PID)
	}
	return Process{}, err
}

func (s Server) removeSocket() error {
	if err := os.Remove(s.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove tmux socket: %w", err)
	}
	return nil
}
