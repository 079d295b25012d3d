package hub

import (
	"maps"
	"sync"
	"time"
)

// Uplinks is the registry of connections. A host's own connection is the newest one of its pinned instance. A suspect
// instance may stay connected, but nothing is sent to it.
type Uplinks struct {
	mu    sync.Mutex // guards the rest
	hosts map[string]*hostLinks
}

type hostLinks struct {
	pinned string    // instance id
	links  []*Uplink // in the order in which they connected
	caps   map[string][]string
	boots  map[string]bool // earlier boots of the pinned instance
	boot   string          // the newest boot of the pinned instance

	bootSince time.Time         // when boot first connected
	given     map[string]string // the boot that each run was sent to, by run id
}

// NewUplinks returns an empty registry.
func NewUplinks() *Uplinks { return &Uplinks{hosts: map[string]*hostLinks{}} }

func (u *Uplinks) host(id string) *hostLinks {
	h := u.hosts[id]
	if h == nil {
		h = &hostLinks{caps: map[string][]string{}, boots: map[string]bool{}, given: map[string]string{}}
		u.hosts[id] = h
	}
	return h
}

// own returns the host's own connection; nil: it has none.
func (h *hostLinks) own() *Uplink {
	if h == nil {
		return nil
	}
	for i := len(h.links) - 1; i >= 0; i-- {
		if l := h.links[i]; !l.foreign && (h.pinned == "" || l.InstanceID == h.pinned) {
			return l
		}
	}
	return nil
}

// Announce stores the capabilities that an instance announced when it registered.
func (u *Uplinks) Announce(hostID, instanceID string, caps []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.host(hostID)
	if _, known := h.caps[instanceID]; !known {
		forgetSome(h.caps, mostInstances, h.pinned)
	}
	h.caps[instanceID] = caps
}

// The limits of what is stored per host, so that the holder of its token cannot fill the memory.
const (
	mostInstances = 16 // instances with their capabilities
	mostBoots     = 64 // boots that were replaced
)

// forgetSome removes entries until there is room for one more. It never removes the key keep.
func forgetSome[T any](m map[string]T, most int, keep string) {
	for key := range m {
		if len(m) < most {
			return
		}
		if key != keep {
			delete(m, key)
		}
	}
}

// Announced returns the capabilities that an instance last announced; nil for a plain peer.
func (u *Uplinks) Announced(hostID, instanceID string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.host(hostID).caps[instanceID]
}

// Pin sets the instance of which the host's own connection must be.
func (u *Uplinks) Pin(hostID, instanceID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.host(hostID)
	if h.pinned == instanceID {
		return
	}
	before := h.boot
	h.pinned, h.boot, h.boots = instanceID, "", map[string]bool{}
	for _, l := range h.links { // its process connected before its first heartbeat
		if l.InstanceID == instanceID && !l.foreign {
			h.boot = l.BootID
		}
	}
	if h.boot != before {
		h.bootSince = time.Now()
	}
}

// Add registers an identified connection. It returns true when the connection shows that two processes share one
// identity: a boot that was replaced has connected again.
func (u *Uplinks) Add(l *Uplink) (clone bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.host(l.HostID)
	if l.BootID != "" && (h.pinned == "" || l.InstanceID == h.pinned) {
		if h.boots[l.BootID] {
			clone = true
		} else if h.boot != "" && h.boot != l.BootID {
			forgetSome(h.boots, mostBoots, l.BootID)
			h.boots[h.boot] = true
		}
		if h.boot != l.BootID {
			h.boot, h.bootSince = l.BootID, time.Now()
		}
		delete(h.boots, l.BootID)
	}
	h.links = append(h.links, l)
	return clone
}

// Remove removes a connection.
func (u *Uplinks) Remove(l *Uplink) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.host(l.HostID)
	for i, x := range h.links {
		if x == l {
			h.links = append(h.links[:i:i], h.links[i+1:]...)
			return
		}
	}
}

// Of returns the host's own connection, if it has one.
func (u *Uplinks) Of(hostID string) (*Uplink, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	l := u.hosts[hostID].own()
	return l, l != nil
}

// Connected reports whether the host's own connection is open.
func (u *Uplinks) Connected(hostID string) bool {
	_, connected := u.Of(hostID)
	return connected
}

// Ready returns, by host, the own connections that have sent a heartbeat and whose last heartbeat does not refuse new
// runs.
func (u *Uplinks) Ready() map[string]*Uplink {
	u.mu.Lock()
	ready := make(map[string]*Uplink, len(u.hosts))
	for id, h := range u.hosts {
		if l := h.own(); l != nil {
			ready[id] = l
		}
	}
	u.mu.Unlock()
	maps.DeleteFunc(ready, func(_ string, l *Uplink) bool { return !l.takesRuns() })
	return ready
}

// Count returns the number of open connections.
func (u *Uplinks) Count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	for _, h := range u.hosts {
		n += len(h.links)
	}
	return n
}

// Forget removes the entry of a deleted host and closes its connections after their queued frames were sent.
func (u *Uplinks) Forget(hostID string) {
	u.mu.Lock()
	h := u.hosts[hostID]
	delete(u.hosts, hostID)
	u.mu.Unlock()
	if h != nil {
		for _, l := range h.links {
			l.Finish()
		}
	}
}
