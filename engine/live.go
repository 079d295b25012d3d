package engine

import (
	"context"
	"os"

	"svc"
	"svc/hub"
)

// Live gives access to the live parts of runs: their screens, logs and terminals.
type Live struct {
	// Run returns the run with this id, or an error of code not_found.
	Run func(ctx context.Context, id string) (svc.Run, error)
	Hub *hub.Hub

	// FetchLog fetches the log of an ended attempt to this orchestrator, as far as its host still has it. The error
	// means that the local copy is not complete. Nil: only the local copy exists.
	FetchLog func(ctx context.Context, r svc.Run, attempt int) error
	// FetchScreen fetches the last screen of an ended run, if its host has it. Nil: only the local copy exists.
	FetchScreen func(ctx context.Context, r svc.Run)
	// Events returns the events after a seq, oldest first, and the seq up to which they are complete. Nil: there are
	// no events.
	Events func(ctx context.Context, f svc.EventFilter, after int64) (events []svc.Event, until int64, err error)
}

// Live returns access to the live parts of runs.
func (e *Engine) Live() *Live {
	return &Live{Run: e.Run, Hub: e.Hub, FetchLog: e.LogOf, FetchScreen: e.FetchScreen, Events: e.EventsAfter}
}

// Screen returns the latest screen of a run.
func (l *Live) Screen(ctx context.Context, id string) (*hub.PaneSnapshot, error) {
	r, err := l.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if l.FetchScreen != nil {
		l.FetchScreen(ctx, r)
	}
	s, any, err := l.Hub.Panes.Latest(r.ID)
	if err == nil && !any {
		err = svc.Errorf(svc.CodeNoSnapshot, "run %s has no screen yet; it comes with its first output", r.ID)
	}
	return s, err
}

// WatchScreen prepares to watch a run's screen. The caller calls begin when a viewer is connected: it fetches the
// last screen if necessary, and lists the viewer for attached clients until end is called.
func (l *Live) WatchScreen(ctx context.Context, id string) (watch *hub.PaneWatch, begin func() (end func()), err error) {
	r, err := l.Run(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	watch, err = l.Hub.Panes.Watch(r.ID)
	return watch, func() func() {
		if l.FetchScreen != nil {
			go l.FetchScreen(ctx, r)
		}
		c, _ := svc.CallerOf(ctx)
		return l.Hub.Attach.Look(r.ID, c.Name)
	}, err
}

// Attachable returns the session of a run if it can be attached to now.
func (l *Live) Attachable(ctx context.Context, id string) (hub.Target, error) {
	r, err := l.Run(ctx, id)
	if err != nil {
		return hub.Target{}, err
	}
	target := targetOf(r)
	if target == (hub.Target{}) {
		return target, svc.Errorf(svc.CodeRunNotRunning, "run %s is %s; only a running run can be attached to", r.ID, r.Status)
	}
	return target, l.Hub.Attach.Ready(target.HostID)
}

// Attach attaches a person to a session. The run may have ended since the target was read, so Attach checks it again
// after it has registered the attachment. A later end of the run ends the attachment too.
func (l *Live) Attach(ctx context.Context, target hub.Target, p hub.Person) (*hub.Attachment, error) {
	a, err := l.Hub.Attach.Join(target, p)
	if err != nil {
		return nil, err
	}
	if now, err := l.Run(ctx, target.RunID); err == nil && targetOf(now) != target {
		a.End(hub.ErrRunEnded)
	}
	return a, nil
}

// targetOf returns the session of a run; zero when it cannot be attached to.
func targetOf(r svc.Run) hub.Target {
	if !r.Reachable() || r.HostID == nil {
		return hub.Target{}
	}
	return hub.Target{RunID: r.ID, Attempt: r.Attempt, HostID: *r.HostID}
}

// BringLogs fetches the log of an attempt (0: of each attempt), as far as it is available. If nothing of it is
// available, it returns an error with the reason. If parts are missing, short lists the attempts.
func (l *Live) BringLogs(ctx context.Context, r svc.Run, attempt int) (short []int, err error) {
	if l.FetchLog == nil {
		return nil, nil
	}
	first, last := 1, r.Attempt
	if attempt != 0 {
		first, last = attempt, min(attempt, r.Attempt)
	}
	var why error
	some := false
	for a := first; a <= last; a++ {
		err := l.FetchLog(ctx, r, a)
		switch svc.CodeOf(err) {
		case "":
		case svc.CodeLogGone, svc.CodeHostNotConnected, svc.CodeUnavailable:
			short, why = append(short, a), err
		default:
			return nil, err
		}
		state, err := l.Hub.Relay.State(r.ID, a)
		if err != nil {
			return nil, err
		}
		some = some || state.Size > 0
	}
	if why != nil && !some {
		return nil, why
	}
	return short, nil
}

// LogMayGrow reports whether more output of the attempt (0: of any attempt) may come. It is true when that cannot be
// determined now. When no more can come and the log of the last attempt is not complete, the error is the reason.
func (l *Live) LogMayGrow(ctx context.Context, id string, attempt int) (bool, error) {
	r, err := l.Run(ctx, id)
	if err != nil {
		return svc.CodeOf(err) != svc.CodeNotFound, nil
	}
	if attempt != 0 && attempt != r.Attempt {
		return false, nil
	}
	if r.Status.Active() || r.SessionOpen() {
		return true, nil
	}
	if l.FetchLog == nil {
		return false, nil
	}
	return false, l.FetchLog(ctx, r, r.Attempt)
}

// OpenLog opens a log of which a copy is here.
func (l *Live) OpenLog(ctx context.Context, id string, q hub.LogQuery) (*hub.LogReader, error) {
	return l.Hub.Relay.Open(ctx, id, q)
}

// WholeLog returns a log that is one file; nil: it is not.
func (l *Live) WholeLog(id string, attempt int) (*os.File, error) {
	return l.Hub.Relay.Whole(id, attempt)
}

// LogTimes returns when the bytes of an attempt's log were received; nil: there is no record of it.
func (l *Live) LogTimes(id string, attempt int) (*hub.LogTimes, error) {
	return l.Hub.Relay.Times(id, attempt)
}
