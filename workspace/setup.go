package workspace

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"svc"
)

// setupDelay is how long processes that a setup script left running may keep its output open after its end.
const setupDelay = 5 * time.Second

// stepSetup runs the project's setup script in the folder. The script has no standard input. After its time limit the
// whole process group is killed.
func (h Host) stepSetup(ctx context.Context, o Order, r *Record) error {
	if o.Source.Setup == "" {
		return nil
	}
	if o.NoSetup {
		r.SetupDue = true
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, o.Source.SetupTimeout)
	defer cancel()
	cmd := exec.CommandContext(limited, "/bin/sh", "-eu", "-c", o.Source.Setup)
	cmd.Dir = r.Path
	cmd.Env = append(append([]string(nil), o.Env...), "SVC_WORKSPACE="+r.Path, "SVC_BASE_COMMIT="+r.BaseCommit, "PWD="+r.Path)
	cmd.Stdout, cmd.Stderr = o.Out, o.Out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = setupDelay
	run := func(Record, *exec.Cmd) error { return cmd.Run() }
	if o.Run != nil {
		run = o.Run
	}
	err := run(*r, cmd)
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // the script succeeded and left a process running
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return &Failure{svc.SetupFailed, fmt.Errorf("took longer than %s", o.Source.SetupTimeout)}
	case errors.As(err, &exit) && exit.Exited():
		return &Failure{svc.SetupFailed, fmt.Errorf("exit %d", exit.ExitCode())}
	default:
		return &Failure{svc.SetupFailed, err}
	}
}
