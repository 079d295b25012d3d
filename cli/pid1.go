package cli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// passedOn are the signals that PID 1 forwards to its command: those with which a container or a user ends it, and
// those that a Go program can handle.
var passedOn = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// runAsInit does the duties of PID 1, for a container that starts svc without an init. Every orphan becomes a child
// of PID 1 and stays a zombie until PID 1 waits for it. But a process that waits for any child would take the exit
// statuses that other parts of the program wait for. So the command itself runs in a child, and this process only
// forwards signals and reaps. It returns the exit code of the command.
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

// reapUntil waits for children until the given one has ended, and returns that one's exit code as a shell would.
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
