package place

import (
	"time"

	"svc"
)

// Served is the times in which an orchestrator was running, oldest first. The
// last span goes on. A run's dispatch timeout counts these times only: what we
// were not there to place is not held against a run.
type Served []Span

// Span is one such time.
type Span struct{ Began, Until svc.Time }

// Extend notes that the orchestrator runs at now. A pause of more than longest
// since it last did so begins a new span: the process was frozen, the machine
// suspended, or its clock set. A clock that went back takes the times that are
// not yet along.
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

// Since is the moment from which on that much time was served up to now. It is
// false when not so much is known to have been served at all.
func (s Served) Since(now svc.Time, served time.Duration) (svc.Time, bool) {
	end := now
	for i := len(s) - 1; i >= 0; i-- {
		from, until := s[i].Began, min(s[i].Until, end)
		if i == len(s)-1 {
			until = end // it goes on
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

// Deadline is when that much time will have been served since from, if the
// last span goes on.
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
