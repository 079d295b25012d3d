package engine

import (
	"context"
	"time"

	"svc"
)

// reasonSessionLost is the reason that a worker reports for a session that it has on record but cannot find.
const reasonSessionLost = "session_lost"

// settledAfter is how long a worker process must have been the only one of its host before it may report the loss of
// sessions that were dispatched to another process. It is as long as a worker with a lost connection may take to
// reconnect.
const settledAfter = 30 * time.Second

// mayReportLoss returns nil if a worker process, identified by its boot id, may report that a session is lost. Only
// this report is checked: a copy of a data directory has sessions on record that it cannot find. The error asks the
// worker to try again later, when it is settled which process is the host's own. An empty boot id comes from an old
// peer that does not send it; its reports are accepted.
func (e *Engine) mayReportLoss(ctx context.Context, s svc.Signal, bootID string) error {
	if bootID == "" || s.Kind != svc.SignalFinished || s.Reason != reasonSessionLost {
		return nil
	}
	r, err := e.live(ctx, s.RunID)
	if err != nil || r.HostID == nil || r.Attempt != s.Attempt {
		return err
	}
	if e.Hub.Uplinks.MayReportLoss(*r.HostID, bootID, r.ID, min(settledAfter, e.OfflineAfter)) {
		return nil
	}
	return svc.Errorf(svc.CodeUnavailable, "it is not settled yet which worker process is this host's own; try again later")
}
