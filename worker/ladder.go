package worker

import (
	"context"
	"syscall"
	"time"

	"svc/leftover"
	"svc/process"
	"svc/tmux"
)

// ladder is how a session is ended: politely first. Its zero value is no ladder.
type ladder struct {
	step  step
	timer *time.Timer
}

// step is what happens next.
type step int

const (
	stepNone      step = iota
	stepInterrupt      // Ctrl-C through the terminal, as a person would
	stepTerminate      // SIGTERM to the provider's process group
	stepKill           // SIGKILL to the group; the wrapper can then record the end
	stepWrapper        // SIGKILL to a wrapper that did not leave
	stepClose          // the terminal itself
)

// recordGrace is how long a wrapper may take to record the end of a provider that was killed, besides
// ending what the provider left behind. closeGrace is how long a killed wrapper may take to be gone.
const (
	recordGrace = 5 * time.Second
	closeGrace  = 2 * time.Second
)

// due fires when the next step's time has come; without a ladder never.
func (l ladder) due() <-chan time.Time {
	if l.timer == nil {
		return nil
	}
	return l.timer.C
}

// next takes the step and sets the time of the one after.
func (l ladder) next(ctx context.Context, s *session) ladder {
	grace := s.w.opts.Config.Worker.StopGrace
	p := s.where()
	wait := closeGrace
	switch l.step {
	case stepInterrupt:
		wait = grace[0]
		err := s.reach(ctx, p, func() error { return p.server.SendKeys(ctx, p.pane, tmux.CtrlC) })
		if err != nil {
			s.log.Warn("Ctrl-C did not reach the session", "error", err)
		}
	case stepTerminate:
		wait = grace[1]
		s.signalProvider(syscall.SIGTERM)
		s.signalProvider(syscall.SIGCONT) // a stopped one cannot act on it
	case stepKill:
		wait = recordGrace + grace[1]
		s.signalProvider(syscall.SIGKILL)
	case stepWrapper:
		if table, err := leftover.Scan(); err == nil {
			s.noteTree(table) // nobody adopts its orphans any more
		}
		s.rec.Killed = true // on disk before it is done: the end is then this stop's
		s.save()
		_ = p.process.Signal(syscall.SIGKILL) // the step after closes the terminal
	case stepClose:
		if alive, err := p.process.Alive(); err == nil && !alive {
			return ladder{} // end closes it, when all that was written to the terminal is in the log
		}
		if err := p.server.Kill(ctx, p.host); err != nil {
			s.log.Error("the session cannot be closed", "error", err)
		}
		return ladder{}
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	return ladder{step: l.step + 1, timer: time.NewTimer(wait)}
}

// signalProvider signals the provider's process group. When nothing is known of a provider, the wrapper
// is signalled, which passes it on; but never killed: what is below it is, and it lives to record that.
func (s *session) signalProvider(sig syscall.Signal) {
	record, err := s.a.ReadWrapper()
	if err != nil || record.Child == nil {
		wrapper := s.where().process
		if sig == syscall.SIGKILL {
			s.killBelow(wrapper)
		} else {
			_ = wrapper.Signal(sig) // it may have ended in between
		}
		return
	}
	child := *record.Child
	if alive, err := child.Alive(); err != nil || !alive {
		return // the PID may have been reused; what it left behind is found by its environment
	}
	if sig != syscall.SIGCONT {
		s.log.Info("the provider is signalled", "signal", sig, "pid", child.PID)
	}
	_ = syscall.Kill(-child.PID, sig) // it may have ended in between
}

// killBelow kills the processes below a wrapper.
func (s *session) killBelow(wrapper process.ID) {
	table, err := leftover.Scan()
	if err != nil {
		s.log.Warn("the processes of the session cannot be listed", "error", err)
		return
	}
	for _, p := range table.Descendants(wrapper.PID) {
		s.log.Info("a process of the session is killed", "pid", p.PID, "command", p.Command)
		_ = p.Signal(syscall.SIGKILL) // it may have ended in between
	}
}
