package engine

import (
	"context"
	"math"
	"sync"

	"svc"
	"svc/store"
)

// hostBook keeps the heartbeats in memory, so that a heartbeat costs no write:
// they go to the database in batches. It also knows enough of each host to see
// whether a heartbeat changes anything.
type hostBook struct {
	pin func(hostID, instance string) // told which instance is a host's own

	mu    sync.Mutex // guards the rest
	hosts map[string]hostEntry
	dirty map[string]svc.Time
}

// clockTolerance is what a clock may be off, in milliseconds, before it is told.
const clockTolerance = 1000

type hostEntry struct {
	version  int64
	status   svc.HostStatus
	instance string
	seen     *svc.Time
	ahead    int64 // milliseconds that its clock is ahead of ours
	refusing *svc.HostRefusal
}

func newHostBook(ctx context.Context, s *store.Store, pin func(hostID, instance string)) (*hostBook, error) {
	all, err := s.AllHosts(ctx)
	if err != nil {
		return nil, err
	}
	b := &hostBook{pin: pin, hosts: map[string]hostEntry{}, dirty: map[string]svc.Time{}}
	for _, h := range all {
		b.written(h)
	}
	return b, nil
}

func entryOf(h svc.Host) hostEntry {
	e := hostEntry{version: h.Version, status: h.Status, seen: h.LastSeenAt}
	if h.InstanceID != nil {
		e.instance = *h.InstanceID
	}
	return e
}

// quiet notes a heartbeat that changes nothing but the time. It is false when
// the heartbeat must go through the database: the host is not known, not up,
// or the instance is not the pinned one.
func (b *hostBook) quiet(hostID, instance string, now svc.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.hosts[hostID]
	if !known || e.instance != instance || e.status != svc.HostOnline && e.status != svc.HostDisabled {
		return false
	}
	e.seen = &now
	b.hosts[hostID] = e
	b.dirty[hostID] = now
	return true
}

// written notes a host as it was committed. Two that changed it tell of it in
// any order: an older version never replaces a newer one.
func (b *hostBook) written(h svc.Host) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, old := entryOf(h), b.hosts[h.ID]
	if old.version > e.version {
		return
	}
	if old.seen != nil && (e.seen == nil || *old.seen > *e.seen) {
		e.seen = old.seen
	}
	e.ahead, e.refusing = old.ahead, old.refusing
	b.hosts[h.ID] = e
	if e.instance != "" {
		b.pin(h.ID, e.instance)
	}
}

// clock notes what a heartbeat tells of a host's clock.
func (b *hostBook) clock(hostID string, theirs, ours svc.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, known := b.hosts[hostID]; known {
		e.ahead = int64(theirs) - int64(ours)
		b.hosts[hostID] = e
	}
}

// refuses notes whether a heartbeat takes new runs. It answers whether that changed.
func (b *hostBook) refuses(hostID string, why *svc.HostRefusal) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.hosts[hostID]
	if !known {
		return false
	}
	changed = (e.refusing == nil) != (why == nil)
	e.refusing = why
	b.hosts[hostID] = e
	return changed
}

// forget drops a deleted host. A change from before that is told later does not
// bring it back.
func (b *hostBook) forget(hostID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hosts[hostID] = hostEntry{version: math.MaxInt64}
	delete(b.dirty, hostID)
}

// overlay makes a host's last heartbeat current.
func (b *hostBook) overlay(h *svc.Host) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.hosts[h.ID]
	h.Refusing = e.refusing
	if e.ahead <= -clockTolerance || e.ahead >= clockTolerance {
		h.ClockAheadMS = &e.ahead
	}
	if e.seen != nil && (h.LastSeenAt == nil || *e.seen > *h.LastSeenAt) {
		seen := *e.seen
		h.LastSeenAt = &seen
	}
}

// silent is every host, in one of the statuses, without a heartbeat since a
// time.
func (b *hostBook) silent(since svc.Time, statuses ...svc.HostStatus) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id, e := range b.hosts {
		if e.seen != nil && *e.seen >= since {
			continue
		}
		for _, s := range statuses {
			if e.status == s {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// flush writes the heartbeats that are not in the database yet.
func (b *hostBook) flush(ctx context.Context, s *store.Store) error {
	b.mu.Lock()
	dirty := b.dirty
	b.dirty = map[string]svc.Time{}
	b.mu.Unlock()
	if len(dirty) == 0 {
		return nil
	}
	err := s.Write(ctx, func(tx *store.Tx) error { return tx.SeenHosts(ctx, dirty) })
	if err == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, at := range dirty {
		if b.dirty[id] < at {
			b.dirty[id] = at
		}
	}
	return err
}
