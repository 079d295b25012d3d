package cli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// passedOn are the signals that PID 1 gives to its command: those by which a
// container or a person ends it, and those that a Go program can act on.
var passedOn = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// runAsInit does the duties of PID 1, as which svc runs in a container without
// an init: every orphan becomes its child, and stays as a zombie until it is
// waited for. Waiting for any child would take exit statuses from those who
// wait for theirs, so the command itself runs in a child, and this process does
// nothing else. It returns the exit code of the command.
func runAsInit(args []string) int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "svc: find this program:", err)
		return exitFailed
	}
	// Not with os/exec, which waits for its own child.
	child, err := syscall.ForkExec(self, append([]string{os.Args[0]}, args...), &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "svc: start the command as a child of PID 1:", err)
		return exitFailed
	}
	go func() {
		for s := range signals {
			_ = syscall.Kill(child, s.(syscall.Signal)) // it may have ended
		}
	}()
	return reapUntil(child)
}

// reapUntil collects children until the given one has ended, and returns its
// exit code as a shell would.
func reapUntil(child int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			fmt.Fprintln(os.Stderr, "svc: wait for children:", err)
			return exitFailed
		case pid == child && status.Signaled():
			return 128 + int(status.Signal())
		case pid == child:
			return status.ExitStatus()
		}
	}
}
