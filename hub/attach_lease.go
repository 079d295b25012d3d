package hub

import (
	"time"

	"svc"
)

// The lease of a session. All of this runs under Attachments.mu: frames for
// clients and events for Run are queued here, and sent by others.

// grant gives the free lease to a client and tells it.
func (h *Attachments) grant(s *session, a *Attachment) {
	s.leaves(a)
	now := time.Now()
	s.holder, s.since, s.active = a, svc.TimeOf(now), now
	h.journal(s, true, a.who.Name, a.who.Name)
	a.pushControl(leaseAcquired(s.RunID, s.since))
}

// freed takes the lease from its holder, without a successor. by is who caused
// it.
func (h *Attachments) freed(s *session, by string) {
	former := s.holder.who.Name
	s.holder, s.since = nil, 0
	h.journal(s, false, former, by)
}

// journal tells of a change of the lease, to Run and to the clients that ask who is there.
func (h *Attachments) journal(s *session, acquired bool, holder, by string) {
	h.watchersChanged(s)
	h.leases = append(h.leases, LeaseEvent{RunID: s.RunID, Attempt: s.Attempt, Acquired: acquired, Holder: holder, By: by, At: svc.TimeOf(time.Now())})
	h.poke()
}

// handOver ends a holder's lease and gives it to whoever waited longest. A
// holder that stays then waits behind all others.
func (h *Attachments) handOver(s *session, a *Attachment, stays bool) {
	if s.holder == a {
		h.freed(s, a.who.Name)
		if len(s.waiting) > 0 {
			h.grant(s, s.waiting[0])
		}
	}
	s.leaves(a)
	if stays && h.runs[s.RunID] == s {
		s.waiting = append(s.waiting, a)
	}
}

// seize gives the lease to a client while another holds it. The former holder
// is told by whom, and waits from now on.
func (h *Attachments) seize(s *session, a *Attachment) {
	former := s.holder
	h.freed(s, a.who.Name)
	h.grant(s, a)
	s.waiting = append(s.waiting, former)
	former.pushControl(leaseTaken(a.who.Name))
}

// take makes the client the holder, whoever is it now.
func (h *Attachments) take(a *Attachment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := a.session
	switch {
	case h.runs[s.RunID] != s, s.holder == a:
	case s.holder == nil:
		h.grant(s, a)
	default:
		h.seize(s, a)
	}
}

// passIdle gives the lease of every holder that sent nothing for too long to
// the first who waits for it.
func (h *Attachments) passIdle() {
	limit := h.cfg.LeaseIdle()
	if limit <= 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.runs {
		if s.holder != nil && len(s.waiting) > 0 && time.Since(s.active) >= limit {
			h.seize(s, s.waiting[0])
		}
	}
}

// mayAct reports whether a frame of the client counts: it holds the lease, nobody
// does, or it takes the lease over. Otherwise the client is told why not.
func (h *Attachments) mayAct(a *Attachment, takes bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch s := a.session; {
	case a.who.Watches:
		a.pushControl(mayNot)
		return false
	case s.holder == a:
		s.active = time.Now()
	case s.holder != nil && !takes:
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

// holds reports whether the client holds the lease, and whether it changed the
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
