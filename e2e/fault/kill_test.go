package fault

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"svc"
	"svc/internal/proctest"
)

// kill ends a process of the lab with SIGKILL. The process may have ended already.
func kill(t *testing.T, p proctest.Proc) {
	t.Helper()
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("kill %s: %v", p.Command, err)
	}
}

// killSession kills the tmux server of a run.
func killSession(t *testing.T, lab *proctest.Lab, r svc.Run) {
	t.Helper()
	for _, p := range lab.Processes() {
		if strings.HasPrefix(p.Command, "tmux") && strings.Contains(p.Command, "/"+r.ID[:8]) {
			kill(t, p)
			return
		}
	}
	t.Fatalf("run %s has no tmux server: %v", r.ID, lab.Processes())
}
