package hub

import (
	"slices"
	"time"

	"svc"
	"svc/safetext"
	"svc/wire"
)

// A relay that the worker closes while the run continues is opened again after a back-off. The reason is often that
// the session is ending: its relays are closed shortly before its end is reported.
const (
	retryFirst  = 250 * time.Millisecond
	retryMost   = 4 * time.Second
	retryLimit  = 8
	retrySteady = 30 * time.Second // a relay that lasted this long does not count as a failure
)

// open opens a relay at the worker. It replaces a relay on an earlier uplink and keeps one on the current uplink.
// Without an uplink it sends an error frame to the client, which then waits for HostBack.
func (a *Attachment) open() {
	a.order.Lock()
	defer a.order.Unlock()
	if a.left || a.Why() != nil {
		return
	}
	link, err := a.hub.link(a.session.HostID)
	if err != nil {
		a.hub.adopt(a, "")
		a.pushControl(errorOf(svc.CodeOf(err), err.Error()))
		return
	}
	if a.relay() != "" && a.link == link {
		return
	}
	a.link = link
	s := a.session
	s.sizing.Lock()
	defer s.sizing.Unlock()
	id := svc.NewID()
	old, rows, cols := a.hub.adopt(a, id)
	if old != "" {
		_ = link.Send(wire.AttachClose{AttachID: old}) // the worker may have closed it already
	}
	if err := link.Send(wire.AttachOpen{AttachID: id, RunID: s.RunID, Attempt: s.Attempt, Rows: rows, Cols: cols}); err != nil {
		a.hub.adopt(a, "")
		a.pushControl(hostAway)
	}
}

// adopt makes id the client's relay ("" for none). It returns the former relay and the session's requested size.
func (h *Attachments) adopt(a *Attachment, id string) (old string, rows, cols int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	old = a.relayID
	delete(h.relays, old)
	a.relayID, a.retryAt, a.filter = id, time.Time{}, safetext.Relay()
	if id != "" {
		a.openedAt = time.Now()
		h.relays[id] = a
	}
	return old, a.session.rows, a.session.cols
}

// lost sends the client an error frame because its host's uplink is lost.
func (a *Attachment) lost() {
	a.order.Lock()
	defer a.order.Unlock()
	if a.left {
		return
	}
	if old, _, _ := a.hub.adopt(a, ""); old != "" {
		a.pushControl(hostAway)
	}
}

// relayClosed schedules the next relay, or ends the attachment after too many failures.
func (a *Attachment) relayClosed(id string) {
	h := a.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.relayID != id {
		return // the relay was already replaced
	}
	delete(h.relays, id)
	a.relayID = ""
	if time.Since(a.openedAt) >= retrySteady {
		a.failures = 0
	}
	a.failures++
	if a.failures > retryLimit {
		if a.end == nil {
			a.end = ErrRelayLost
		}
	} else {
		a.retryAt = time.Now().Add(min(retryFirst<<(a.failures-1), retryMost))
	}
	wakeUp(a.wake)
}

func (a *Attachment) relay() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.relayID
}

// Handle processes one frame of the client. It returns an error only when the attachment must be ended because of it.
func (a *Attachment) Handle(b []byte) error {
	f, err := parseClient(b)
	if !a.hub.mayAct(a, err == nil && f.Type == takeLease) {
		return nil
	}
	if err != nil {
		a.mistakes++
		if a.mistakes >= maxMistakes {
			return ErrMalformed
		}
		a.pushControl(errorOf(codeMalformed, err.Error()))
		return nil
	}
	a.mistakes = 0
	a.order.Lock()
	defer a.order.Unlock()
	switch f.Type {
	case "input":
		if a.hub.acquire(a) {
			a.input(f.Bytes)
		}
	case "resize":
		if a.hub.acquire(a) {
			a.resize(f.Rows, f.Cols)
		}
	case takeLease:
		a.hub.take(a)
	case "release_lease":
		if holder, resized := a.hub.holds(a); holder {
			a.resetSize(resized)
			a.hub.release(a)
		}
	}
	return nil
}

// input sends the filtered input to the session: the agent gets keys, but not the replies of the client's terminal to
// queries that a session is not allowed to make.
func (a *Attachment) input(b []byte) {
	if b = a.keys.Append(nil, b); len(b) == 0 {
		return
	}
	a.allowEcho()
	if !a.send(func(id string) wire.Frame { return wire.AttachInput{AttachID: id, Bytes: b} }) {
		a.pushControl(notTyped)
		return
	}
	if onlyReports(b) {
		return // sent by the terminal, not by the person, so it is no answer to a question of the agent
	}
	h := a.hub
	h.mu.Lock()
	h.typed[a.session.RunID] = a.who.Name
	h.wakeRun()
	h.mu.Unlock()
}

// resize sets the session's size. Without a relay the size is stored and sent with the next one.
func (a *Attachment) resize(rows, cols int) {
	h, s := a.hub, a.session
	s.sizing.Lock()
	defer s.sizing.Unlock()
	h.mu.Lock()
	s.rows, s.cols, s.resized = rows, cols, rows != SpawnRows || cols != SpawnCols
	h.mu.Unlock()
	a.send(func(id string) wire.Frame { return wire.AttachResize{AttachID: id, Rows: rows, Cols: cols} })
}

// resetSize restores the spawn size of the session when a holder has changed it, because that size ends with this
// lease. The frame must be queued before the next holder can get the lease and request another size.
func (a *Attachment) resetSize(resized bool) {
	if resized {
		a.resize(SpawnRows, SpawnCols)
	}
}

// send queues a frame for the client's relay; the caller has locked order.
func (a *Attachment) send(f func(attachID string) wire.Frame) bool {
	id := a.relay()
	if id == "" {
		return false
	}
	link, ok := a.hub.cfg.Link(a.session.HostID)
	return ok && link.Send(f(id)) == nil
}

// Leave removes the client: its relay is closed, and its lease goes to the client that has waited longest. It may be
// called more than once.
func (a *Attachment) Leave() {
	a.order.Lock()
	defer a.order.Unlock()
	if a.left {
		return
	}
	a.left = true
	h := a.hub
	if holder, resized := h.holds(a); holder {
		a.resetSize(resized)
	}
	a.send(func(id string) wire.Frame { return wire.AttachClose{AttachID: id} })
	h.adopt(a, "")
	h.mu.Lock()
	defer h.mu.Unlock()
	s := a.session
	h.handOver(s, a, false)
	delete(h.all, a)
	s.people = slices.DeleteFunc(s.people, func(p *Attachment) bool { return p == a })
	h.watchersChanged(s)
	if len(s.people) == 0 && h.runs[s.RunID] == s {
		delete(h.runs, s.RunID)
	}
	h.wakeRun()
}
