package engine

import (
	"context"
	"time"

	"svc"
)

// reasonSessionLost is what a worker says of a session that it has on record
// and does not find.
const reasonSessionLost = "session_lost"

// settledAfter is how long a process must have been its host's only one before
// it may report the loss of sessions that another process was given: as long as a
// worker that lost its connection may take to come back.
const settledAfter = 30 * time.Second

// mayReportLoss says whether a worker process, named by its boot id, may report
// that a session is lost. All other reports are accepted: only a copy of a data directory
// has sessions on record that it does not find. The error asks to try again
// later, when it is clear who the host's own process is. An empty boot id is a
// peer that does not say; it may.
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
	return svc.Errorf(svc.CodeUnavailable, "it is not settled which process is this host's own; try again later")
}
