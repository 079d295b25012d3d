package engine

import (
	"context"

	"svc"
)

// anyHost is the host of a reporter that may report for all hosts: the holder of the worker token, and the
// orchestrator itself.
const anyHost = ""

// Reporter identifies who reports about runs, by its token or its connection.
type Reporter struct {
	Host       string // the only host that it may report for; anyHost: every host
	Generation int64  // of the host's token; 0: the first, or not a host's token
	Attempt    int    // with a run's own token: the only attempt that it may report for; 0: not a run's token
	BootID     string // of the worker process; empty: not sent
}

// mayReport is the rule for every report about a run, on whichever path it arrives: a host may report only for
// attempts that it was given.
func mayReport(host string, r *svc.Run, attempt int) error {
	if host == anyHost || r.HostOf(attempt) == host {
		return nil
	}
	return svc.Errorf(svc.CodeForbidden, "attempt %d of run %s was not given to this host", attempt, r.ID)
}

// mayReport also restricts a run's own token to its attempt.
func (who Reporter) mayReport(r *svc.Run, attempt int) error {
	if who.Attempt != 0 && who.Attempt != attempt {
		return svc.Errorf(svc.CodeForbidden, "this token is valid only for attempt %d of run %s", who.Attempt, r.ID)
	}
	return mayReport(who.Host, r, attempt)
}

// Report handles a signal from outside this process.
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

// report is Report in two steps; see ingest.
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

// runOf returns the run that a frame is about, if this connection may report for it, and the attempt. An attempt of 0
// means the current one.
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

// unwanted reports whether an error means that the reported data is not needed: the run does not exist, or the
// attempt is not this host's.
func unwanted(err error) bool {
	switch svc.CodeOf(err) {
	case svc.CodeNotFound, svc.CodeForbidden, svc.CodeInvalidAttempt:
		return true
	}
	return false
}

// reporter returns the reporter of this connection. Before the connection is identified, only its token determines
// the host: a spool is replayed before the first heartbeat.
func (c *uplinkConn) reporter() Reporter {
	host := c.hello.OnlyHost
	if c.link.Identified() {
		host = c.link.HostID
	}
	return Reporter{Host: host, BootID: c.hello.BootID}
}

// canConfirm reports whether the host of a run can confirm now whether a session is alive: its worker is connected
// and lists its sessions.
func (e *Engine) canConfirm(r *svc.Run) bool {
	link, ok := e.Hub.Uplinks.Of(value(r.HostID))
	return ok && link.ListsSessions()
}
