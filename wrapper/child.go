package wrapper

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"svc/rundir"
)

// child is the provider; its pid is its process group's id too.
type child struct {
	pid      int
	terminal bool // it was given the terminal's foreground
}

func (c *child) process() int { return c.pid }

// root is the wrapper, which adopts the orphans of its session where the system allows it.
func (c *child) root() int { return os.Getpid() }

func (c *child) close() {}

// wait passes signals on until the provider has ended. When the terminal was hung up, the provider
// gets a step's time after SIGHUP, the same after SIGTERM, and then SIGKILL.
func (c *child) wait(caught <-chan os.Signal, step time.Duration) rundir.Exit {
	ignoreTTOU()
	ended := make(chan syscall.WaitStatus, 1)
	go c.collect(ended)
	var ladder <-chan time.Time
	next := unix.SIGTERM
	hungUp := false
	for {
		select {
		case status := <-ended:
			c.takeTerminal()
			return exitOf(status, hungUp)
		case s := <-caught:
			c.pass(s)
			if s == syscall.SIGHUP && !hungUp {
				hungUp, ladder = true, time.After(step)
			}
		case <-ladder:
			c.kill(next)
			c.kill(unix.SIGCONT) // a stopped one cannot act on it
			next, ladder = unix.SIGKILL, time.After(step)
		}
	}
}

// ignoreTTOU is for when no process is started any more that could inherit it. Without it, a process in the
// background may not say who has the terminal.
func ignoreTTOU() { signal.Ignore(syscall.SIGTTOU) }

// pass hands a signal to the provider's group. A change of size is the kernel's to report as long as
// the group has the terminal: twice would be once too often.
func (c *child) pass(s os.Signal) {
	sig, ok := s.(syscall.Signal)
	if !ok || sig == syscall.SIGWINCH && c.foreground() {
		return
	}
	c.kill(sig)
	if sig == syscall.SIGHUP || sig == syscall.SIGTERM {
		c.kill(unix.SIGCONT)
	}
}

func (c *child) kill(sig syscall.Signal) {
	_ = unix.Kill(-c.pid, sig) // the group may be gone already
}

func (c *child) foreground() bool {
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return err == nil && group == c.pid
}

// collect waits for the end and tells it. It also collects the orphans that the wrapper has adopted, until
// none is left. A provider that suspends itself would wait for a shell that is not there: it is given the
// terminal and continued.
func (c *child) collect(ended chan<- syscall.WaitStatus) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // no child is left, and so nobody who could leave an orphan
			return
		case pid != c.pid:
		case status.Exited() || status.Signaled():
			ended <- status
		case status.Stopped() && status.StopSignal() != syscall.SIGSTOP:
			time.Sleep(50 * time.Millisecond) // a provider that stops itself again and again must not eat a core
			if c.terminal {
				_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, c.pid)
			}
			c.kill(unix.SIGCONT)
		}
	}
}

// takeTerminal puts the wrapper into the foreground again, after the provider has ended.
func (c *child) takeTerminal() {
	if c.terminal {
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpgrp())
	}
}

// exitOf turns a status into the shell's exit code and says why when the provider did not end by
// itself.
func exitOf(status syscall.WaitStatus, hungUp bool) rundir.Exit {
	var exit rundir.Exit
	if status.Signaled() {
		exit.Code = exitSignalBase + int(status.Signal())
		exit.Reason = "killed by " + unix.SignalName(status.Signal())
	} else {
		exit.Code = status.ExitStatus()
	}
	if hungUp {
		exit.Reason = "session hung up"
	}
	return exit
}
