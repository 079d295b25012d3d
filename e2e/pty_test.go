package e2e

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"svc/internal/textbuffer"
)

// terminal is an svc command on a pseudo-terminal, and the person's side of
// that terminal.
type terminal struct {
	*testing.T
	tty   *os.File // the person's side
	line  *os.File // the program's side, kept open to read its modes
	cmd   *exec.Cmd
	shown *textbuffer.Buffer
	ended chan struct{}
	fresh unix.Termios // the terminal's settings before svc was called
}

// atTerminal starts svc on a new pseudo-terminal.
func atTerminal(t *testing.T, env []string, cols, rows uint16, args ...string) *terminal {
	t.Helper()
	tty, line, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: cols, Rows: rows}); err != nil {
		t.Fatal(err)
	}
	term := &terminal{T: t, tty: tty, line: line, cmd: exec.Command("svc", args...), shown: &textbuffer.Buffer{}, ended: make(chan struct{})}
	term.cmd.Env = append(env, "TERM=xterm-256color")
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = line, line, line
	term.fresh = term.modes()
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := term.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(term.shown, tty) // it ends when the terminal is closed
	}()
	go func() {
		_ = term.cmd.Wait() // a test reads the exit code with exits
		close(term.ended)
	}()
	t.Cleanup(func() {
		_ = term.cmd.Process.Kill()
		<-term.ended
		_ = line.Close()
		_ = tty.Close()
		<-copied
	})
	return term
}

// types writes keys to the terminal.
func (t *terminal) types(keys string) {
	t.Helper()
	if _, err := t.tty.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// sees waits until svc has written a text to the terminal.
func (t *terminal) sees(text string) {
	t.Helper()
	if err := await(func() (bool, error) { return strings.Contains(t.shown.String(), text), nil }); err != nil {
		t.Fatalf("%q was not shown: %v\n%q", text, err, t.shown)
	}
}

// endMark is written to the terminal after the last output of svc.
const endMark = "\x00"

// exits waits until svc has ended and its whole output was read. It returns the exit code.
func (t *terminal) exits() int {
	t.Helper()
	err := await(func() (bool, error) {
		select {
		case <-t.ended:
			return true, nil
		default:
			return false, nil
		}
	})
	if err != nil {
		t.Fatalf("it did not end: %v\n%q", err, t.shown)
	}
	if _, err := t.line.WriteString(endMark); err != nil {
		t.Fatal(err)
	}
	t.sees(endMark)
	return t.cmd.ProcessState.ExitCode()
}

// modes returns the terminal's settings, as stty shows them.
func (t *terminal) modes() unix.Termios {
	t.Helper()
	modes, err := unix.IoctlGetTermios(int(t.line.Fd()), getTermios)
	if err != nil {
		t.Fatal(err)
	}
	return *modes
}

// isRaw reports whether echo, line editing and signal keys are off.
func (t *terminal) isRaw() bool {
	const cooked = unix.ECHO | unix.ICANON | unix.ISIG
	return t.modes().Lflag&cooked == 0
}
