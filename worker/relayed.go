package worker

import (
	"net/http"
	"strconv"
	"time"

	"svc/rundir"
	"svc/wire"
)

// refusedEnd is the first time that the report of an end was not taken on a connection.
type refusedEnd struct {
	on *link
	at time.Time
}

// relayedBefore is what comes before the report of an end, as its headers, and what to do when the report is not taken now: whoever got it
// may be another orchestrator than the one that has acknowledged it, and have less.
func (p *spooler) relayedBefore(e rundir.Entry) (said http.Header, again func()) {
	s := p.w.session(e.RunID(), e.Attempt())
	if !terminal(e) || s == nil || s.logRelay() == nil {
		return nil, func() {}
	}
	l := p.w.uplink()
	return s.relayedBefore(l, p.w.opts.LogHold), func() { s.relayAgain(l) }
}

// relayedBefore says nothing when the end goes without its log, which the orchestrator does not take, or when that insists for as long as
// hold that it has all, and does not take the end.
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

// relayAgain forgets what was acknowledged: it is asked anew what the orchestrator has.
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
