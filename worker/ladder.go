package worker

import (
	"context"
	"syscall"
	"time"

	"svc/leftover"
	"svc/process"
	"svc/tmux"
)

// ladder is the escalation that ends a session, from Ctrl-C to closing the terminal. Its zero value means that
// none runs.
type ladder struct {
	step  step
	timer *time.Timer
}

// step is the next step of the ladder.
type step int

const (
	stepNone      step = iota
	stepInterrupt      // Ctrl-C through the terminal, as a person would type it
	stepTerminate      // SIGTERM to the provider's process group
	stepKill           // SIGKILL to the group; the wrapper can then record the end
	stepWrapper        // SIGKILL to a wrapper that did not exit
	stepClose          // close the terminal
)

// recordGrace is how long a wrapper may take to record the end of a killed provider, besides the time for
// ending the provider's leftovers. closeGrace is how long a killed wrapper may take to end.
const (
	recordGrace = 5 * time.Second
	closeGrace  = 2 * time.Second
)

// due returns a channel that fires when the next step is due; without a ladder it returns nil, which never
// fires.
func (l ladder) due() <-chan time.Time {
	if l.timer == nil {
		return nil
	}
	return l.timer.C
}

// next executes the current step and starts the timer of the following one.
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
		s.signalProvider(syscall.SIGCONT) // a suspended process cannot act on SIGTERM
	case stepKill:
		wait = recordGrace + grace[1]
		s.signalProvider(syscall.SIGKILL)
	case stepWrapper:
		if table, err := leftover.Scan(); err == nil {
			s.noteTree(table) // the wrapper then no longer adopts orphans, so they are noted now
		}
		s.rec.Killed = true // on disk before the kill, so that a later worker attributes the end to this stop
		s.save()
		_ = p.process.Signal(syscall.SIGKILL) // if it fails, the next step closes the terminal
	case stepClose:
		if alive, err := p.process.Alive(); err == nil && !alive {
			return ladder{} // session.end closes the terminal when all its output is in the log
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

// signalProvider signals the provider's process group. If the provider's process is not recorded, the wrapper
// is signalled and passes the signal on. The wrapper itself never gets SIGKILL here: the processes below it are
// killed instead, and the wrapper lives to record the end.
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
		return // the PID may have been reused; the provider's leftovers are found by their environment
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
