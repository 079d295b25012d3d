package wrapper

import (
	"errors"
	"fmt"
	"os/exec"
)

func (r *runner) startContained() (agent, *failure) {
	return nil, r.cannot(exitCannotRun, "sessions can be contained on Linux only")
}

func (r *runner) runContained(*exec.Cmd, []string) error {
	return errors.New("sessions can be contained on Linux only")
}

// Inside is "svc exec inside", which contained sessions use. This system has none.
func Inside(_ []string, std IO) int {
	fmt.Fprintln(std.Stderr, "svc exec inside: sessions can be contained on Linux only")
	return exitUsage
}
