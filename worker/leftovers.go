package worker

import (
	"context"
	"os"
	"syscall"
	"time"

	"svc/tmux"
)

// leftover is a process that outlived its session.
type leftover struct {
	process tmux.Process
	command string
}

// leftoverPoll is how often ended leftovers are looked for during their grace.
const leftoverPoll = 100 * time.Millisecond

// reapLeftovers ends what is left of a session that has ended: processes that detached themselves
// but still carry this attempt in their environment. They get SIGTERM, and SIGKILL after the grace.
func (s *session) reapLeftovers(ctx context.Context) {
	if !s.w.opts.Config.Worker.Reap {
		return
	}
	left := s.leftovers()
	for _, p := range left {
		s.log.Warn("a process outlived its session and is ended", "pid", p.process.PID, "command", p.command)
		signalProcess(p.process, syscall.SIGTERM)
	}
	if len(left) == 0 {
		return
	}
	deadline := time.NewTimer(s.w.opts.Config.Worker.StopGrace[1])
	defer deadline.Stop()
	tick := time.NewTicker(leftoverPoll)
	defer tick.Stop()
	for len(s.leftovers()) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-deadline.C:
			for _, p := range s.leftovers() { // also what was started meanwhile
				s.log.Warn("a process outlived its session and is killed", "pid", p.process.PID, "command", p.command)
				signalProcess(p.process, syscall.SIGKILL)
			}
			return
		}
	}
}

// leftovers lists the live processes of this attempt, never the worker itself.
func (s *session) leftovers() []leftover {
	found, err := processesOf(s.a.RunID, s.a.Number)
	if err != nil {
		s.log.Warn("leftovers of the session cannot be looked for", "error", err)
	}
	kept := found[:0]
	for _, p := range found {
		alive, err := p.process.Alive()
		if p.process.PID != os.Getpid() && err == nil && alive {
			kept = append(kept, p)
		}
	}
	return kept
}

// carries says whether an environment is that of a process of the attempt.
func carries(environ []string, runID string, attempt int) bool {
	return lookup(environ, "SVC_RUN_ID") == runID && lookup(environ, "SVC_ATTEMPT") == itoa(attempt)
}
