package place

import (
	"time"

	"svc"
)

// Served is the time spans in which an orchestrator was running, oldest first. The last span is still open. Only
// these times count towards a run's dispatch timeout: downtime is not held against a run.
type Served []Span

// Span is one such time span.
type Span struct{ Began, Until svc.Time }

// Extend records that the orchestrator runs at now. It begins a new span when more than longest has passed since the
// last call: the process was frozen, the machine was suspended, or its clock was set. When the clock was set back,
// spans that begin in the future are dropped.
func (s Served) Extend(now svc.Time, longest time.Duration) Served {
	for len(s) > 0 && s[len(s)-1].Began > now {
		s = s[:len(s)-1]
	}
	if len(s) > 0 {
		last := &s[len(s)-1]
		if now.Sub(last.Until) <= longest {
			last.Until = now
			return s
		}
	}
	return append(s, Span{now, now})
}

// Since returns the moment from which exactly that much time was served up to now. It returns false when the recorded
// spans are shorter than that in total.
func (s Served) Since(now svc.Time, served time.Duration) (svc.Time, bool) {
	end := now
	for i := len(s) - 1; i >= 0; i-- {
		from, until := s[i].Began, min(s[i].Until, end)
		if i == len(s)-1 {
			until = end // the last span is open
		}
		if until <= from {
			continue
		}
		if span := until.Sub(from); span < served {
			served -= span
			end = from
			continue
		}
		return until.Add(-served), true
	}
	return 0, false
}

// Deadline returns when that much time will have been served since from, provided that the last span stays open.
func (s Served) Deadline(from svc.Time, served time.Duration) svc.Time {
	at := from
	for i, span := range s {
		at = max(at, span.Began)
		if i == len(s)-1 {
			break
		}
		if have := span.Until.Sub(at); have > 0 {
			if have >= served {
				break
			}
			served -= have
			at = span.Until
		}
	}
	return at.Add(served)
}
