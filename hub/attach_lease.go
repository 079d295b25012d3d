package hub

import (
	"time"

	"svc"
)

// The lease of a session. All of this runs under Attachments.mu; clients and
// Run are only handed what to say.

// grant gives the free lease to a client and tells it.
func (h *Attachments) grant(s *session, a *Attachment) {
	s.leaves(a)
	s.holder, s.since = a, svc.TimeOf(time.Now())
	h.journal(s, true)
	a.pushControl(leaseAcquired(s.RunID, s.since))
}

// freed takes the lease from its holder, without a successor.
func (h *Attachments) freed(s *session) {
	s.holder, s.since = nil, 0
	h.journal(s, false)
}

func (h *Attachments) journal(s *session, acquired bool) {
	h.leases = append(h.leases, LeaseEvent{RunID: s.RunID, Attempt: s.Attempt, Acquired: acquired, At: svc.TimeOf(time.Now())})
	h.poke()
}

// handOver ends a holder's lease and gives it to whoever waited longest. A
// holder that stays then waits behind all others.
func (h *Attachments) handOver(s *session, a *Attachment, stays bool) {
	if s.holder == a {
		h.freed(s)
		if len(s.waiting) > 0 {
			h.grant(s, s.waiting[0])
		}
	}
	s.leaves(a)
	if stays && h.runs[s.RunID] == s {
		s.waiting = append(s.waiting, a)
	}
}

// mayAct says whether a frame of the client counts: it holds the lease, or
// nobody does. If someone else holds it, the client is told.
func (h *Attachments) mayAct(a *Attachment) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := a.session; s.holder != nil && s.holder != a {
		a.pushControl(leaseHeld)
		return false
	}
	return true
}

// acquire makes the client the holder if the lease is free, and says whether
// it is the holder now. If someone else is, the client is told.
func (h *Attachments) acquire(a *Attachment) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := a.session
	if h.runs[s.RunID] != s {
		return false // over; its socket is being closed
	}
	switch s.holder {
	case nil:
		h.grant(s, a)
	case a:
	default:
		a.pushControl(leaseHeld)
		return false
	}
	return true
}

// holds says whether the client holds the lease, and whether it changed the
// session's size.
func (h *Attachments) holds(a *Attachment) (holder, resized bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return a.session.holder == a, a.session.resized
}

// release ends the client's lease.
func (h *Attachments) release(a *Attachment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.session.holder == a {
		h.handOver(a.session, a, true)
	}
}
