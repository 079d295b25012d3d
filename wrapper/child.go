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

// child is the provider's process. Its pid is also the id of its process group.
type child struct {
	pid      int
	terminal bool // it was put into the terminal's foreground
}

func (c *child) process() int { return c.pid }

// root returns the wrapper's pid: the wrapper adopts the orphans of its session where the system supports that.
func (c *child) root() int { return os.Getpid() }

func (c *child) close() {}

// wait passes signals on until the provider has ended. When the terminal was hung up, the provider has step
// after SIGHUP, again step after SIGTERM, and is then killed.
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
			c.kill(unix.SIGCONT) // a suspended process cannot act on SIGTERM
			next, ladder = unix.SIGKILL, time.After(step)
		}
	}
}

// ignoreTTOU ignores SIGTTOU, since a process in the background may otherwise not change the terminal's
// foreground group. It is called when no more processes are started that would inherit this.
func ignoreTTOU() { signal.Ignore(syscall.SIGTTOU) }

// pass sends a signal to the provider's group. It does not pass on SIGWINCH while the group is in the
// foreground, because the kernel sends it then already.
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

// collect waits for the provider's end and sends its status to ended. It also reaps the orphans that the
// wrapper has adopted, until none is left. A provider that suspends itself would wait for a shell, which does
// not exist here: it is put into the foreground and continued.
func (c *child) collect(ended chan<- syscall.WaitStatus) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // no child is left, so there can be no more orphans
			return
		case pid != c.pid:
		case status.Exited() || status.Signaled():
			ended <- status
		case status.Stopped() && status.StopSignal() != syscall.SIGSTOP:
			time.Sleep(50 * time.Millisecond) // bounds the CPU time for a provider that suspends itself repeatedly
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

// exitOf converts a status to the exit code that a shell would report, and sets the reason when the provider
// did not end by itself.
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
