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

// pendingEnd is the report of an end that waits in the spool. It goes out after all that its attempt
// reported before, but waits no longer for it than LogHold altogether: a signal that the orchestrator
// takes slowly or cannot digest must not keep an ended run running.
type pendingEnd struct {
	entry rundir.Entry
	held  time.Duration // how long it has waited for an orchestrator that answers
	on    *link         // where held was last counted
	until time.Duration // up to which of its time of answering
	tried bool          // it went out before others, and was not taken
}

// noteEnds keeps count of the ends that wait for the orchestrator: for the delivery that is under way, or
// for the next one of a signal that it refused. Time without an uplink does not count, nor does time in
// which the orchestrator is frozen, takes nothing, or nothing passes: what is before the end can arrive as
// soon as the end itself can.
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

// beginAnew forgets how long the ends of a run have waited, for what is before them and for their logs: so far nothing could have
// been taken, the end no more than the rest. What is before an end can then arrive before it.
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

// aboutTheSignal says whether a delivery failed because of what was delivered: the orchestrator answered,
// and not that it takes nothing now.
func aboutTheSignal(err error) bool {
	var answered *refused
	return errors.As(err, &answered) && answered.status != http.StatusServiceUnavailable
}

// pendingEnds is the attempts whose end waits in the spool.
func (p *spooler) pendingEnds() map[key]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[key]bool, len(p.ends))
	for k := range p.ends {
		all[k] = true
	}
	return all
}

// overdueEnd is the end of an attempt that has waited long enough for what is before it, or nil.
func (p *spooler) overdueEnd(k key) *pendingEnd {
	p.mu.Lock()
	end := p.ends[k]
	overdue := end != nil && end.held >= p.w.opts.LogHold
	p.mu.Unlock()
	if !overdue || !p.mayTell(end.entry) {
		return nil
	}
	return end
}

// firstTryOfOverdue says whether the delay after a failure is not for these: an end among them is
// overdue and may be taken where those before it were not. The caller has the lock.
func (p *spooler) firstTryOfOverdue(entries []rundir.Entry) bool {
	for _, e := range entries {
		end := p.ends[key{e.RunID(), e.Attempt()}]
		if end != nil && end.held >= p.w.opts.LogHold && !end.tried {
			return true
		}
	}
	return false
}

// deliverOverdue delivers the end of an attempt before what was reported earlier, if it is overdue.
func (p *spooler) deliverOverdue(ctx context.Context, k key) error {
	end := p.overdueEnd(k)
	if end == nil {
		return nil
	}
	p.w.log.Warn("an end is reported before earlier signals, which the orchestrator has not taken in time",
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

// mayTell says whether the report of an end would be true for whoever reads it.
func (p *spooler) mayTell(e rundir.Entry) bool {
	s, l := p.w.session(e.RunID(), e.Attempt()), p.w.uplink()
	return l != nil && (s == nil || s.mayReport(l, p.w.opts.LogHold))
}

// gate notes whether a run's delivery waits for its own session.
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
	close(p.idle) // whoever waits for all deliveries looks again
	p.idle = make(chan struct{})
}

func (p *spooler) isGated(run string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gated[run]
}

// terminal says whether a signal is the report of a session's end.
func terminal(e rundir.Entry) bool {
	return e.Frame.Source == svc.FromWrapper && (e.Kind() == svc.SignalFinished || e.Kind() == svc.SignalFailed)
}
