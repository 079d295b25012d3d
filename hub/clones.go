package hub

import (
	"context"
	"sync"
	"time"
)

// answerWithin is how long a connection may take to show that its process
// lives.
const answerWithin = 3 * time.Second

// mostGiven bounds what is remembered of who was given which run; what is
// forgotten costs time only.
const mostGiven = 10_000

// Contested reports whether another process that lives speaks for the same
// instance as a connection that is not yet added: a data directory was copied.
// An older connection whose process does not answer is closed; it is what a
// crash or a broken network left behind.
func (u *Uplinks) Contested(ctx context.Context, l *Uplink) bool {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	rivals := u.rivals(l)
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

// rivals is the host's own connections that another process of the same
// instance opened and that can be asked.
func (u *Uplinks) rivals(l *Uplink) []*Uplink {
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

// pinger is a connection whose other end answers without its program's doing.
type pinger interface{ Ping(context.Context) error }

func (u *Uplink) ping(ctx context.Context) error { return u.conn.(pinger).Ping(ctx) }

// AddForeign registers a connection that is not the host's own, though it says
// so. It is given nothing.
func (u *Uplinks) AddForeign(l *Uplink) {
	u.mu.Lock()
	defer u.mu.Unlock()
	l.foreign = true
	h := u.host(l.HostID)
	h.links = append(h.links, l)
}

// CloseForeign ends the connections that are not the host's own: they come
// back and are judged anew.
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

// Given notes that a run was sent to the process behind a connection.
func (u *Uplinks) Given(l *Uplink, runID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.host(l.HostID)
	if len(h.given) >= mostGiven {
		clear(h.given)
	}
	h.given[runID] = l.BootID
}

// MayReportLoss reports whether a process may speak for a session that it does not find:
// it is the host's own, and it was given the run itself, or nobody else has
// claimed to be this host for a while. A copy of a data directory knows of
// sessions too, and finds none of them.
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
