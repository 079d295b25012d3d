package worker

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"svc"
	"svc/rundir"
)

// pendingEnd is a report of an end that waits in the spool. It is sent after all earlier reports of its
// attempt, but waits for them at most LogHold in total: a signal that the orchestrator processes slowly or
// always refuses must not keep an ended run in the state running.
type pendingEnd struct {
	entry rundir.Entry
	held  time.Duration // for how long it has waited while the orchestrator answered
	on    *link         // where held was last counted
	until time.Duration // the value of on.answering when held was last counted
	tried bool          // it was sent before earlier signals, and was not accepted
}

// noteEnds adds up how long each end waits: for a delivery that is under way, or for the next delivery of a
// signal that the orchestrator refused. Time without an uplink does not count, nor time in which the
// orchestrator is frozen or unreachable: after it, the earlier signals can arrive as soon as the end itself.
func (p *spooler) noteEnds(entries []rundir.Entry) {
	ends := slices.DeleteFunc(slices.Clone(entries), func(e rundir.Entry) bool { return !terminal(e) })
	l := p.w.uplink()
	var answering time.Duration
	if l != nil && len(ends) > 0 {
		answering = l.answering()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := map[key]*pendingEnd{}
	for _, e := range ends {
		k := key{e.RunID(), e.Attempt()}
		end := p.ends[k]
		if end == nil {
			end = &pendingEnd{entry: e}
		}
		if l != nil && l == end.on && (p.busy[k.runID] || p.retry[k.runID].refused) {
			end.held += answering - end.until
		}
		end.on, end.until = l, answering
		waiting[k] = end
	}
	p.ends = waiting
}

// beginAnew resets for how long the ends of a run have waited for earlier signals and for their logs. It is
// called when nothing could be delivered, the end no more than the rest: the earlier signals then get the whole
// time again.
func (p *spooler) beginAnew(run string) {
	var ended []key
	p.mu.Lock()
	for k, end := range p.ends {
		if k.runID == run {
			end.held = 0
			ended = append(ended, k)
		}
	}
	p.mu.Unlock()
	for _, k := range ended {
		if s := p.w.session(k.runID, k.attempt); s != nil && s.logRelay() != nil {
			s.logRelay().beginAnew()
		}
	}
}

// aboutTheSignal reports whether a delivery failed because of the signal: the orchestrator answered, and not
// with "unavailable".
func aboutTheSignal(err error) bool {
	var answered *refused
	return errors.As(err, &answered) && answered.status != http.StatusServiceUnavailable
}

// pendingEnds returns the attempts whose end waits in the spool.
func (p *spooler) pendingEnds() map[key]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[key]bool, len(p.ends))
	for k := range p.ends {
		all[k] = true
	}
	return all
}

// overdueEnd returns the end of an attempt that has waited LogHold for earlier signals and may be sent now, or
// nil.
func (p *spooler) overdueEnd(k key) *pendingEnd {
	p.mu.Lock()
	end := p.ends[k]
	overdue := end != nil && end.held >= p.w.opts.LogHold
	p.mu.Unlock()
	if !overdue || !p.mayReport(end.entry) {
		return nil
	}
	return end
}

// firstTryOfOverdue reports whether the back-off after a failure must be skipped for these signals: one of them
// is an overdue end that was not tried yet, and may be accepted although the signals before it were not. The
// caller holds the lock.
func (p *spooler) firstTryOfOverdue(entries []rundir.Entry) bool {
	for _, e := range entries {
		end := p.ends[key{e.RunID(), e.Attempt()}]
		if end != nil && end.held >= p.w.opts.LogHold && !end.tried {
			return true
		}
	}
	return false
}

// deliverOverdue delivers the end of an attempt before its earlier signals, if the end is overdue.
func (p *spooler) deliverOverdue(ctx context.Context, k key) error {
	end := p.overdueEnd(k)
	if end == nil {
		return nil
	}
	p.w.log.Warn("an end is reported before earlier signals, which the orchestrator has not accepted in time",
		"run_id", k.runID, "attempt", k.attempt)
	err := p.deliverOne(ctx, end.entry)
	p.mu.Lock()
	defer p.mu.Unlock()
	end.tried = true
	if err == nil {
		delete(p.ends, k)
	}
	return err
}

// mayReport reports whether an end may be sent now, so that the report is true for every reader.
func (p *spooler) mayReport(e rundir.Entry) bool {
	s, l := p.w.session(e.RunID(), e.Attempt()), p.w.uplink()
	return l != nil && (s == nil || s.mayReport(l, p.w.opts.LogHold))
}

// gate records whether a run's delivery waits for its own session.
func (p *spooler) gate(run string, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if closed == p.gated[run] {
		return
	}
	if closed {
		p.gated[run] = true
	} else {
		delete(p.gated, run)
	}
	close(p.idle) // wakes settle, which counts the deliveries again
	p.idle = make(chan struct{})
}

func (p *spooler) isGated(run string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gated[run]
}

// terminal reports whether a signal is the report of a session's end.
func terminal(e rundir.Entry) bool {
	return e.Frame.Source == svc.FromWrapper && (e.Kind() == svc.SignalFinished || e.Kind() == svc.SignalFailed)
}
