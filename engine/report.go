package engine

import (
	"context"

	"svc"
)

// anyHost is the host of whoever may speak for all of them: the holder of the
// worker token, and the orchestrator itself.
const anyHost = ""

// Reporter is who reports about runs, as its token or its connection shows.
type Reporter struct {
	Host       string // it speaks for this host alone; anyHost: for every host
	Generation int64  // of the host's token; 0: the first, or no host's token
	Attempt    int    // with a run's own token: it speaks for this attempt alone; 0: no run's token
	BootID     string // of the worker process; empty: it does not say
}

// mayReport is the rule about everything that is reported of runs, whichever
// way it comes: a host speaks for the attempts that it was given, and for no
// others.
func mayReport(host string, r *svc.Run, attempt int) error {
	if host == anyHost || r.HostOf(attempt) == host {
		return nil
	}
	return svc.Errorf(svc.CodeForbidden, "attempt %d of run %s was not given to this host", attempt, r.ID)
}

// mayReport holds a run's own token to its attempt as well.
func (who Reporter) mayReport(r *svc.Run, attempt int) error {
	if who.Attempt != 0 && who.Attempt != attempt {
		return svc.Errorf(svc.CodeForbidden, "this token is good for attempt %d of run %s alone", who.Attempt, r.ID)
	}
	return mayReport(who.Host, r, attempt)
}

// Report takes a signal of someone outside.
func (e *Engine) Report(ctx context.Context, who Reporter, s svc.Signal) (svc.Outcome, error) {
	if err := e.paceSignal(ctx, who, &s, e.paces.impatient); err != nil {
		return "", err
	}
	wait, err := e.report(ctx, who, s)
	if err != nil {
		return "", err
	}
	return wait()
}

// report is Report in two steps, as ingest is.
func (e *Engine) report(ctx context.Context, who Reporter, s svc.Signal) (wait func() (svc.Outcome, error), err error) {
	if err := e.mayReportLoss(ctx, s, who.BootID); err != nil {
		return nil, err
	}
	s.Claim = who.Attempt != 0
	if err := e.hasRelayed(ctx, who, s); err != nil {
		return nil, err
	}
	return e.ingest(ctx, who, s), nil
}

// runOf is the run that a frame of this connection may speak about, and the
// attempt; 0 stands for the present one.
func (c *uplinkConn) runOf(ctx context.Context, runID string, attempt int) (svc.Run, int, error) {
	if !c.link.Identified() {
		return svc.Run{}, 0, errNotIdentified
	}
	r, err := c.e.live(ctx, runID)
	if err != nil {
		return r, 0, err
	}
	if attempt == 0 {
		attempt = r.Attempt
	}
	if attempt > r.Attempt {
		return r, attempt, svc.Errorf(svc.CodeInvalidAttempt, "attempt %d is ahead of the run's attempt %d", attempt, r.Attempt)
	}
	return r, attempt, mayReport(c.link.HostID, &r, attempt)
}

// unwanted says of a report's error that nobody will ever want it: the run is
// not known, or the attempt not this host's.
func unwanted(err error) bool {
	switch svc.CodeOf(err) {
	case svc.CodeNotFound, svc.CodeForbidden, svc.CodeInvalidAttempt:
		return true
	}
	return false
}

// reporter is who speaks on this connection. Before it is identified its token
// alone says for whom: a spool is replayed first.
func (c *uplinkConn) reporter() Reporter {
	host := c.hello.OnlyHost
	if c.link.Identified() {
		host = c.link.HostID
	}
	return Reporter{Host: host, BootID: c.hello.BootID}
}

// canConfirm says whether the host of a run can be asked now whether a session
// lives: its worker is connected and lists its sessions.
func (e *Engine) canConfirm(r *svc.Run) bool {
	link, ok := e.Hub.Uplinks.Of(value(r.HostID))
	return ok && link.ListsSessions()
}
