package cluster

import "time"

// Figures are the numbers of the moment that operators watch of one member.
type Figures struct {
	Leads     bool
	Term      int64         // of the leader, as far as is known; 0: nobody leads
	Reachable bool          // this process leads, or can reach the one that does
	Uplinks   int64         // connections of workers that came to this process
	Ahead     time.Duration // of the database's clock
	Silent    time.Duration // since the database last answered
	// What was done since the process began.
	Forwarded int64 // requests, to the leader
	Failed    int64 // those among them that nobody answered
}

// Figures reads them.
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

// away says whether the last try to reach the leader failed.
func (t *term) away() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.failed.IsZero()
}
