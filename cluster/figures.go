package cluster

import "time"

// Figures are the current numbers of one member that operators watch.
type Figures struct {
	Leads     bool
	Term      int64         // number of the leader's term, as far as known; 0: there is no leader
	Reachable bool          // this process leads, or its last request reached the leader
	Uplinks   int64         // open connections of workers to this process
	Ahead     time.Duration // how far this process's clock is ahead of the database's
	Silent    time.Duration // time since the database last responded
	// Counters since the process started.
	Forwarded int64 // requests for the leader
	Failed    int64 // those of them that failed; a request does not count if its client disconnected
}

// Figures returns the current figures.
func (m *Member) Figures() Figures {
	m.mu.Lock()
	f := Figures{Leads: m.local != nil, Ahead: m.ahead, Silent: time.Since(m.heard)}
	leader := m.leader
	m.mu.Unlock()
	if leader != nil {
		f.Term = leader.Epoch
	}
	f.Reachable = f.Leads || leader != nil && !leader.away()
	f.Uplinks, f.Forwarded, f.Failed = m.uplinks.Load(), m.forward.requests.Load(), m.forward.failed.Load()
	return f
}

// away reports whether the last attempt to reach the leader failed.
func (t *term) away() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.failed.IsZero()
}
