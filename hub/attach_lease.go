package hub

import (
	"time"

	"svc"
)

// The functions below implement the lease of a session. Their caller holds Attachments.mu, or they lock it
// themselves; they only queue frames for clients and events for Run, and do no I/O.

// grant gives the free lease to a client and queues a frame about it.
func (h *Attachments) grant(s *session, a *Attachment) {
	s.stopWaiting(a)
	now := time.Now()
	s.holder, s.since, s.active = a, svc.TimeOf(now), now
	h.journal(s, true, a.who.Name, a.who.Name)
	a.pushControl(leaseAcquired(s.RunID, s.since))
}

// freeLease takes the lease from its holder, without a successor. by is the name of the person who caused it.
func (h *Attachments) freeLease(s *session, by string) {
	former := s.holder.who.Name
	s.holder, s.since = nil, 0
	h.journal(s, false, former, by)
}

// journal queues a change of the lease for Run, and marks the lists of watchers as stale.
func (h *Attachments) journal(s *session, acquired bool, holder, by string) {
	h.watchersChanged(s)
	h.leases = append(h.leases, LeaseEvent{RunID: s.RunID, Attempt: s.Attempt, Acquired: acquired, Holder: holder, By: by, At: svc.TimeOf(time.Now())})
	h.wakeRun()
}

// handOver ends the lease of a if it is the holder, and grants it to the client that has waited longest. A holder
// that stays attached becomes the last in the queue.
func (h *Attachments) handOver(s *session, a *Attachment, stays bool) {
	if s.holder == a {
		h.freeLease(s, a.who.Name)
		if len(s.waiting) > 0 {
			h.grant(s, s.waiting[0])
		}
	}
	s.stopWaiting(a)
	if stays && h.runs[s.RunID] == s {
		s.waiting = append(s.waiting, a)
	}
}

// transfer transfers the lease from its holder to a. The former holder gets a frame with the name of the new one, and
// joins the queue.
func (h *Attachments) transfer(s *session, a *Attachment) {
	former := s.holder
	h.freeLease(s, a.who.Name)
	h.grant(s, a)
	s.waiting = append(s.waiting, former)
	former.pushControl(leaseTaken(a.who.Name))
}

// take makes the client the holder, no matter whether another client holds the lease.
func (h *Attachments) take(a *Attachment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := a.session
	switch {
	case h.runs[s.RunID] != s, s.holder == a:
	case s.holder == nil:
		h.grant(s, a)
	default:
		h.transfer(s, a)
	}
}

// passIdle transfers the lease of every holder that was idle for too long to the first client in the queue.
func (h *Attachments) passIdle() {
	limit := h.cfg.LeaseIdle()
	if limit <= 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.runs {
		if s.holder != nil && len(s.waiting) > 0 && time.Since(s.active) >= limit {
			h.transfer(s, s.waiting[0])
		}
	}
}

// mayAct reports whether a frame of the client is handled: the client holds the lease, the lease is free, or the
// frame takes the lease over. Otherwise the client gets an error frame.
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

// acquire makes the client the holder if the lease is free, and reports whether the client is the holder now. If
// another client is, the client gets an error frame.
func (h *Attachments) acquire(a *Attachment) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := a.session
	if h.runs[s.RunID] != s {
		return false // the session is over, and its sockets are being closed
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

// holds reports whether the client holds the lease, and whether a holder changed the session's size.
func (h *Attachments) holds(a *Attachment) (holder, resized bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return a.session.holder == a, a.session.resized
}

// release ends the client's lease, if it holds it.
func (h *Attachments) release(a *Attachment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.session.holder == a {
		h.handOver(a.session, a, true)
	}
}
