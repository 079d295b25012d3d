package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Attachment is a terminal (of the type xterm-256color) that shows a session. Reading returns the output for
// the terminal, which begins with the whole screen; written bytes are keys, all of which reach the program. If
// a reader pauses, only intermediate frames are lost: tmux merges them. Read, Write and Resize may be called
// concurrently with each other and with Close.
type Attachment struct {
	tty  *os.File
	cmd  *exec.Cmd
	done chan struct{} // closed when the client has ended and was waited for
	end  sync.Once
}

// Attach shows the session of pane on a new terminal of the given size. It does not change the size of the
// pane: a smaller terminal shows a part of it, a larger one has a margin. ctx bounds only the call itself; the
// attachment lives until Close or the end of the session.
func (s Server) Attach(ctx context.Context, pane string, cols, rows int) (*Attachment, error) {
	if err := checkSize(cols, rows); err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	if err := checkPane(pane); err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	if _, err := s.run(ctx, []string{"has-session", "-t", pane}); err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	master, slave, err := openTerminal(cols, rows)
	if err != nil {
		return nil, fmt.Errorf("attach: open terminal: %w", err)
	}
	defer func() { _ = slave.Close() }()

	args := append(s.flags(), "-T", "RGB")
	//nolint:noctx // the attachment outlives this call and is ended by Close
	cmd := exec.Command(s.bin(), append(args, commandList([][]string{{"attach-session", "-E", "-t", pane}})...)...)
	cmd.Env = baseEnv()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		_ = master.Close()
		return nil, fmt.Errorf("attach: %w", err)
	}
	a := &Attachment{tty: master, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		_ = cmd.Wait() // the client's exit code is unrelated to the session
	}()
	return a, nil
}

// Read reads the output for the terminal. It returns io.EOF after Close, and when the session has ended or the
// client was detached.
func (a *Attachment) Read(p []byte) (int, error) {
	n, err := a.tty.Read(p)
	if errors.Is(err, syscall.EIO) || errors.Is(err, os.ErrClosed) {
		err = io.EOF // the system's errors for a terminal without a holder
	}
	return n, err
}

// Write types bytes.
func (a *Attachment) Write(p []byte) (int, error) {
	return a.tty.Write(p)
}

// Resize sets the size of the terminal. The pane keeps its own size (Server.Resize).
func (a *Attachment) Resize(cols, rows int) error {
	if err := checkSize(cols, rows); err != nil {
		return fmt.Errorf("resize terminal: %w", err)
	}
	if err := setSize(a.tty, cols, rows); err != nil {
		return fmt.Errorf("resize terminal: %w", err)
	}
	return nil
}

// Done returns a channel that is closed when the client has ended, by Close or with the session.
func (a *Attachment) Done() <-chan struct{} { return a.done }

// Close ends the client and waits for it. The session continues. Close may be called more than once.
func (a *Attachment) Close() error {
	var err error
	a.end.Do(func() {
		_ = a.cmd.Process.Kill() // it may have ended already
		err = a.tty.Close()
	})
	<-a.done
	return err
}

// openTerminal opens a pty of the given size. Its master is in non-blocking mode, which the pty package does
// not set, so that Close ends a Read whatever the server does.
func openTerminal(cols, rows int) (master, slave *os.File, err error) {
	blocking, slave, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = blocking.Close() }()
	original := blocking.Fd() // Fd sets blocking mode, so it is called first
	fd, err := unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		_ = slave.Close()
		return nil, nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_, _ = unix.Close(fd), slave.Close()
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), blocking.Name())
	if err := setSize(master, cols, rows); err != nil {
		_, _ = master.Close(), slave.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// setSize avoids File.Fd, which would switch the file to blocking mode.
func setSize(tty *os.File, cols, rows int) error {
	raw, err := tty.SyscallConn()
	if err != nil {
		return err
	}
	var sizeErr error
	err = raw.Control(func(fd uintptr) {
		sizeErr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	})
	return errors.Join(err, sizeErr)
}
