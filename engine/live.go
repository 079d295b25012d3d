package engine

import (
	"context"
	"os"

	"svc"
	"svc/hub"
)

// Live leads to what is live of runs: their screens, logs and terminals.
type Live struct {
	// Run is the run with this id, or an error of code not_found.
	Run func(ctx context.Context, id string) (svc.Run, error)
	Hub *hub.Hub

	// FetchLog brings the log of an attempt that is over here, as far as anyone has it; its error says that it
	// is not whole. Nil: what is here is all there is.
	FetchLog func(ctx context.Context, r svc.Run, attempt int) error
	// FetchScreen brings the last screen of a run that is over here, if its host has it. Nil: what is here is all there is.
	FetchScreen func(ctx context.Context, r svc.Run)
	// Events is what the journal has after a seq, oldest first, and up to which seq that is all of it. Nil: it has nothing.
	Events func(ctx context.Context, f svc.EventFilter, after int64) (events []svc.Event, until int64, err error)
}

// Live leads to what is live of the runs.
func (e *Engine) Live() *Live {
	return &Live{Run: e.Run, Hub: e.Hub, FetchLog: e.LogOf, FetchScreen: e.FetchScreen, Events: e.EventsAfter}
}

// Screen is the latest screen of a run.
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

// WatchScreen begins to watch a run's screen. begin is called once somebody looks: the last screen may have to be fetched, and whoever is
// attached is told who sees it, until end is called.
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

// Attachable is the session of a run that can be attached to now.
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

// Attach lets a person share a session. The run may have ended since it was looked at: whoever ends it from now on finds the person.
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

// targetOf is the session of a run; zero when it cannot be attached to.
func targetOf(r svc.Run) hub.Target {
	if !r.Reachable() || r.HostID == nil {
		return hub.Target{}
	}
	return hub.Target{RunID: r.ID, Attempt: r.Attempt, HostID: *r.HostID}
}

// BringLogs makes sure that the log of an attempt (0: of each) is here, as far as anyone has it. When there is nothing of it, the error says
// why; when a part is missing, short says of which attempts.
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

// LogMayGrow says whether more output of the attempt (0: of any) may come. When that cannot be known now, it may. When no more can come and
// the last attempt's log is not whole, the error says why.
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

// OpenLog begins to read a log that is here.
func (l *Live) OpenLog(ctx context.Context, id string, q hub.LogQuery) (*hub.LogReader, error) {
	return l.Hub.Relay.Open(ctx, id, q)
}

// WholeLog is a log that is one file; nil: it is not.
func (l *Live) WholeLog(id string, attempt int) (*os.File, error) {
	return l.Hub.Relay.Whole(id, attempt)
}

// LogTimes is when the bytes of an attempt's log came; nil: nobody noted it.
func (l *Live) LogTimes(id string, attempt int) (*hub.LogTimes, error) {
	return l.Hub.Relay.Times(id, attempt)
}
