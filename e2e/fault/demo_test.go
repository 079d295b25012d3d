package fault

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/internal/proctest"
	"svc/internal/waittest"
)

// TestTheDemoEndsOnSIGTERMAfterItsReports sends SIGTERM to a demo agent that has reported, as a stop does whose Ctrl-C
// did not help. The agent reports within its own process, which must not make it ignore the signal as a hook does.
func TestTheDemoEndsOnSIGTERMAfterItsReports(t *testing.T) {
	t.Parallel()
	s := newSite(t, proctest.ServeOptions{})
	s.worker(proctest.WorkerOptions{})
	r := s.run("", func(b *api.CreateRun) {
		b.Provider, b.Prompt, b.Args = "demo", api.Opt[string]{}, api.Some([]string{"--delay", "1ms", "--sleep", "1h"})
	})
	waittest.Eventually(t, "the demo reports", func() bool { return s.get(r.ID).ProgressMessage != nil })
	signalled := 0
	for _, p := range s.lab.Processes() {
		if strings.Contains(p.Command, "exec demo") {
			if err := syscall.Kill(p.PID, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			signalled++
		}
	}
	if signalled != 1 {
		t.Fatalf("%d demo agents, want 1: %v", signalled, s.lab.Processes())
	}
	if r := s.awaitEnd(r.ID); r.ExitCode == nil || *r.ExitCode != 128+int(syscall.SIGTERM) || r.Status != svc.RunFailed {
		t.Errorf("the run is %s with exit code %v, want failed with 143", r.Status, r.ExitCode)
	}
}

// TestAnInterruptOfTheDemoIsNeverLost interrupts the demo agent at many moments of its start.
func TestAnInterruptOfTheDemoIsNeverLost(t *testing.T) {
	t.Parallel()
	lab := proctest.NewLab(t)
	for i := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), waittest.Patience)
		cmd := exec.CommandContext(ctx, proctest.Binary(t), "exec", "demo", "--delay", "0", "--sleep", "1h")
		cmd.Dir = lab.Dir
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		proctest.Pause(time.Duration(i) * 5 * time.Millisecond)
		_ = cmd.Process.Signal(os.Interrupt) // it lives: it sleeps for an hour
		err := cmd.Wait()
		if ctx.Err() != nil {
			t.Errorf("the demo did not end on an interrupt %d ms after its start: %v", i*5, err)
		}
		cancel()
	}
}
