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

// terminal is a person at a terminal who has called svc.
type terminal struct {
	*testing.T
	tty   *os.File // the person's side
	line  *os.File // the program's side, kept open to look at its modes
	cmd   *exec.Cmd
	shown *textbuffer.Buffer
	ended chan struct{}
	fresh unix.Termios // the terminal's settings before svc was called
}

// atTerminal runs svc on a terminal of its own.
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
		_ = term.cmd.Wait() // the exit code is asked for by those who want it
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

// types presses keys.
func (t *terminal) types(keys string) {
	t.Helper()
	if _, err := t.tty.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// sees waits until the terminal has shown a text.
func (t *terminal) sees(text string) {
	t.Helper()
	if err := await(func() (bool, error) { return strings.Contains(t.shown.String(), text), nil }); err != nil {
		t.Fatalf("%q was not shown: %v\n%q", text, err, t.shown)
	}
}

// theEnd is written to the terminal behind what svc wrote.
const theEnd = "\x00"

// exits waits for the end, and for all that was written before it, and answers with the exit code.
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
	if _, err := t.line.WriteString(theEnd); err != nil {
		t.Fatal(err)
	}
	t.sees(theEnd)
	return t.cmd.ProcessState.ExitCode()
}

// modes are the terminal's settings, as stty shows them.
func (t *terminal) modes() unix.Termios {
	t.Helper()
	modes, err := unix.IoctlGetTermios(int(t.line.Fd()), getTermios)
	if err != nil {
		t.Fatal(err)
	}
	return *modes
}

// isRaw says whether keys go through without an echo.
func (t *terminal) isRaw() bool {
	const cooked = unix.ECHO | unix.ICANON | unix.ISIG
	return t.modes().Lflag&cooked == 0
}
