package hub

import (
	"context"
	"sync"
	"time"
)

// answerWithin is how long a connection may take to answer a ping.
const answerWithin = 3 * time.Second

// mostGiven limits the entries of hostLinks.given. A removed entry only delays the decision of MayReportLoss.
const mostGiven = 10_000

// Contested reports whether another live process uses the same instance as a connection that is not yet added: its
// data directory was copied. An older connection whose process does not answer a ping is closed, because a crash or a
// broken network has left it behind.
func (u *Uplinks) Contested(ctx context.Context, l *Uplink) bool {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	rivals := u.sameInstance(l)
	alive := make([]bool, len(rivals))
	var asking sync.WaitGroup
	for i, r := range rivals {
		asking.Go(func() {
			err := r.ping(ctx)
			alive[i] = err == nil
			if err != nil {
				r.Close()
			}
		})
	}
	asking.Wait()
	for _, yes := range alive {
		if yes {
			return true
		}
	}
	return false
}

// sameInstance returns the host's own connections that another process of the same instance has opened and that can be
// pinged.
func (u *Uplinks) sameInstance(l *Uplink) []*Uplink {
	u.mu.Lock()
	defer u.mu.Unlock()
	var found []*Uplink
	for _, x := range u.host(l.HostID).links {
		_, asks := x.conn.(pinger)
		if asks && !x.foreign && x.InstanceID == l.InstanceID && x.BootID != "" && l.BootID != "" && x.BootID != l.BootID {
			found = append(found, x)
		}
	}
	return found
}

// pinger is a connection whose other end answers pings without involvement of the program there.
type pinger interface{ Ping(context.Context) error }

func (u *Uplink) ping(ctx context.Context) error { return u.conn.(pinger).Ping(ctx) }

// AddForeign registers a connection that claims the host's identity but is not the host's own. Nothing is sent to it.
func (u *Uplinks) AddForeign(l *Uplink) {
	u.mu.Lock()
	defer u.mu.Unlock()
	l.foreign = true
	h := u.host(l.HostID)
	h.links = append(h.links, l)
}

// CloseForeign closes the connections that are not the host's own. Their processes connect again and are checked
// again.
func (u *Uplinks) CloseForeign(hostID string) {
	u.mu.Lock()
	var foreign []*Uplink
	for _, l := range u.host(hostID).links {
		if l.foreign {
			foreign = append(foreign, l)
		}
	}
	u.mu.Unlock()
	for _, l := range foreign {
		l.Close()
	}
}

// Given records that a run was sent to the process of a connection.
func (u *Uplinks) Given(l *Uplink, runID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.host(l.HostID)
	if len(h.given) >= mostGiven {
		clear(h.given)
	}
	h.given[runID] = l.BootID
}

// MayReportLoss reports whether a process may report that a session does not exist any more. The process must be the
// host's own. In addition, either it was given the run itself, or no other process has connected as this host for the
// time after. The reason for this rule: the copy of a data directory also has records of sessions, and does not find
// any of them.
func (u *Uplinks) MayReportLoss(hostID, bootID, runID string, after time.Duration) bool {
	own, connected := u.Of(hostID)
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.host(hostID)
	if !connected || own.BootID != bootID {
		return false
	}
	return h.given[runID] == bootID || time.Since(h.bootSince) >= after
}
