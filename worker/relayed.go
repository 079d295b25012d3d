package worker

import (
	"net/http"
	"strconv"
	"time"

	"svc/rundir"
	"svc/wire"
)

// refusedEnd is when the report of an end was first not accepted on a connection.
type refusedEnd struct {
	on *link
	at time.Time
}

// relayedBefore returns the headers that tell the orchestrator what must precede the report of an end, and a
// function to call when the report is not accepted now: the orchestrator that received it may not be the one
// that acknowledged the log, and may have less of it.
func (p *spooler) relayedBefore(e rundir.Entry) (said http.Header, again func()) {
	s := p.w.session(e.RunID(), e.Attempt())
	if !terminal(e) || s == nil || s.logRelay() == nil {
		return nil, func() {}
	}
	l := p.w.uplink()
	return s.relayedBefore(l, p.w.opts.LogHold), func() { s.relayAgain(l) }
}

// relayedBefore returns no headers when the end is sent without its log: the orchestrator does not accept the
// log, or it has confirmed all of it and still does not accept the end for as long as hold.
func (s *session) relayedBefore(l *link, hold time.Duration) http.Header {
	s.mu.Lock()
	r, f, first := s.relay, s.final, s.refusedEnd
	arrived := f == nil || f.arrived(l)
	screen := f != nil && !f.Seen
	s.mu.Unlock()
	if l != nil {
		all := r.caughtOn(l) && arrived
		insists := all && first.on == l && time.Since(first.at) >= hold
		if insists || !all && r.stuck(l, hold) {
			return nil
		}
	}
	said := http.Header{}
	if end, ok := r.whole(); ok {
		said.Set(wire.HeaderLogBytes, strconv.FormatInt(end, 10))
	}
	if screen {
		said.Set(wire.HeaderLastScreen, "1")
	}
	return said
}

// relayAgain discards the acknowledgements: the orchestrator is asked again what it has.
func (s *session) relayAgain(l *link) {
	s.mu.Lock()
	r := s.relay
	if s.refusedEnd.on != l {
		s.refusedEnd = refusedEnd{on: l, at: time.Now()}
	}
	if s.final != nil {
		s.final.on, s.final.sent, s.final.kept = nil, false, false
	}
	s.mu.Unlock()
	r.again()
	s.resendFinal()
}
