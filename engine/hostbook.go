package engine

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"svc"
	"svc/store"
	"svc/wire"
)

// hostBook keeps the heartbeats in memory, so that a heartbeat costs no write:
// they go to the database in batches. It also knows enough of each host to see
// whether a heartbeat changes anything. All heartbeats of this process pass
// through it, so what it holds of them is the truth.
type hostBook struct {
	pin    func(hostID, instance string) // told which instance is a host's own
	linked func(hostID string) bool      // says whether a host's own connection is open

	standby bool // the connections are another orchestrator's

	mu    sync.Mutex // guards the rest
	hosts map[string]hostEntry
	dirty map[string]bool // whose heartbeat is not in the database yet
}

// clockTolerance is what a clock may be off, in milliseconds, before it is told.
const clockTolerance = 1000

type hostEntry struct {
	version  int64
	status   svc.HostStatus
	instance string
	seen     *svc.Time // the last heartbeat by the wall clock, for people; nil: never
	heard    time.Time // the same by the monotonic clock, for decisions; zero: never
	left     time.Time // since when it is offline, by the monotonic clock
	unread   time.Time // until then its heartbeats may have come and wait for us
	ahead    int64     // milliseconds that its clock is ahead of ours
	refusing *svc.HostRefusal
	catalog  string // why its provider catalog is not in force; empty: it is
	diskFree *int64 // nil: not said
	diskLow  bool   // as it is written in the database
	link     linkState
	// doubt: a change of the row failed, or only its answer was lost. Until one is known to be committed, the row alone says the status.
	doubt bool
}

// newHostBook reads every host. Of what was before this process the wall clock
// is all that is known.
func newHostBook(ctx context.Context, s *store.Store, now time.Time, wall svc.Time, pin func(hostID, instance string), linked func(string) bool) (*hostBook, error) {
	all, err := s.AllHosts(ctx)
	if err != nil {
		return nil, err
	}
	b := &hostBook{pin: pin, linked: linked, hosts: map[string]hostEntry{}, dirty: map[string]bool{}}
	ago := func(t svc.Time) time.Time { return now.Add(-max(wall.Sub(t), 0)) }
	for _, h := range all {
		b.written(h, now, time.Time{})
		e := b.hosts[h.ID]
		if e.seen = h.LastSeenAt; e.seen != nil {
			e.heard = ago(*e.seen)
		}
		e.link = storedLink(h, now, wall)
		if h.OfflineSince != nil {
			e.left = ago(*h.OfflineSince)
		}
		b.hosts[h.ID] = e
	}
	low, err := s.DiskLowHosts(ctx)
	for _, id := range low {
		b.diskNoted(id, true)
	}
	return b, err
}

// quiet notes a heartbeat that changes nothing but the time. It is false when
// the heartbeat must go through the database: the host is not known, not up,
// in doubt, or the instance is not the pinned one.
func (b *hostBook) quiet(hostID, instance string, heard time.Time, seen svc.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.hosts[hostID]
	if !known || e.doubt || e.instance != instance || e.status != svc.HostOnline && e.status != svc.HostDisabled {
		return false
	}
	e.hear(heard, seen)
	b.hosts[hostID] = e
	b.dirty[hostID] = true
	return true
}

// hear notes a heartbeat. Of two that are noted in the wrong order the later
// one stays.
func (e *hostEntry) hear(heard time.Time, seen svc.Time) {
	if heard.After(e.heard) {
		e.heard, e.seen = heard, &seen
	}
}

// written notes a host as it was committed, with the heartbeat that changed it;
// heard is zero when it was something else. Two that changed it tell of it in
// any order: an older version never replaces a newer one.
func (b *hostBook) written(h svc.Host, now, heard time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.hosts[h.ID]
	if e.version == math.MaxInt64 {
		return // deleted
	}
	if !heard.IsZero() {
		e.hear(heard, *h.LastSeenAt)
		b.dirty[h.ID] = true // another change may have put the one before back
	}
	if h.Version >= e.version {
		if h.Status == svc.HostOffline && e.status != svc.HostOffline {
			e.left = now
		}
		e.version, e.status, e.instance, e.doubt = h.Version, h.Status, value(h.InstanceID), false
		if e.instance != "" {
			b.pin(h.ID, e.instance)
		}
	}
	b.hosts[h.ID] = e
}

// unsure notes that nobody knows whether a change of these hosts is committed.
func (b *hostBook) unsure(ids ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if e, known := b.hosts[id]; known {
			e.doubt = true
			b.hosts[id] = e
		}
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

// says notes what a heartbeat tells of the host: why it takes no new runs, and why its provider catalog is not in force. It
// answers whether it began or ceased to take runs.
func (b *hostBook) says(f *wire.Heartbeat) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.hosts[f.HostID]
	if !known {
		return false
	}
	changed = (e.refusing == nil) != (f.Refusing == nil)
	e.refusing, e.catalog, e.diskFree = f.Refusing, f.CatalogError, f.DiskFreeBytes
	b.hosts[f.HostID] = e
	return changed
}

// diskLow says whether a host is written down as one with too little disk space free.
func (b *hostBook) diskLow(hostID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hosts[hostID].diskLow
}

// diskNoted notes what was written of a host's disk space.
func (b *hostBook) diskNoted(hostID string, low bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, known := b.hosts[hostID]; known {
		e.diskLow = low
		b.hosts[hostID] = e
	}
}

// forget drops a deleted host. A change from before that is told later does not
// bring it back.
func (b *hostBook) forget(hostID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hosts[hostID] = hostEntry{version: math.MaxInt64}
	delete(b.dirty, hostID)
}

// overlay makes a host's last heartbeat and its connection current. Where another orchestrator has the connections, the record says what was last written.
func (b *hostBook) overlay(h *svc.Host) {
	if b.standby {
		h.Connected = h.DisconnectedSince == nil && h.LastSeenAt != nil
		return
	}
	linked := b.linked(h.ID)
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.hosts[h.ID]
	h.Connected, h.DisconnectedSince = linked, nil
	if !linked {
		h.DisconnectedSince = e.link.since
	}
	h.Refusing, h.CatalogError, h.DiskFreeBytes = e.refusing, e.catalog, e.diskFree
	if e.ahead <= -clockTolerance || e.ahead >= clockTolerance {
		h.ClockAheadMS = &e.ahead
	}
	if e.seen != nil {
		seen := *e.seen
		h.LastSeenAt = &seen
	}
}

// fresh says whether a host was heard within a time. One that never was is not.
func (b *hostBook) fresh(hostID string, now time.Time, within time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.hosts[hostID]
	return !e.heard.IsZero() && now.Sub(e.heard) <= within
}

// silent is every host, in one of the statuses, without a heartbeat for longer
// than a time, of which nothing counts before since. One in doubt may be online.
func (b *hostBook) silent(now, since time.Time, longer time.Duration, statuses ...svc.HostStatus) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id, e := range b.hosts {
		fits := slices.Contains(statuses, e.status) || e.doubt && slices.Contains(statuses, svc.HostOnline)
		if fits && now.Sub(latest(e.heard, since)) > longer && !now.Before(e.unread) {
			ids = append(ids, id)
		}
	}
	return ids
}

// How long the frames of a connection may wait for us while it is found out whose it is, and until they
// are read then.
const (
	identifyWithin = 10 * time.Second
	readWithin     = time.Second
)

// identifying says that the frames of a host's connection are not read until it is known whose it is; the
// caller tells when it is. A heartbeat among them is not silence.
func (b *hostBook) identifying(hostID string, look func() time.Time) (known func()) {
	mayCome := func(within time.Duration) {
		until := look().Add(within)
		b.mu.Lock()
		defer b.mu.Unlock()
		if e, known := b.hosts[hostID]; known {
			e.unread = until
			b.hosts[hostID] = e
		}
	}
	mayCome(identifyWithin)
	return func() { mayCome(readWithin) }
}

// goneFor is how long a silent host counts as gone: since it is offline, or
// would be were it not disabled.
func (b *hostBook) goneFor(hostID string, now, since time.Time, offlineAfter time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.hosts[hostID]
	if e.status == svc.HostOffline {
		return now.Sub(e.left)
	}
	return now.Sub(latest(e.heard, since)) - offlineAfter
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// flush writes the heartbeats that are not in the database yet.
func (b *hostBook) flush(ctx context.Context, s *store.Store) error {
	b.mu.Lock()
	dirty := b.dirty
	b.dirty = map[string]bool{}
	seen := make(map[string]svc.Time, len(dirty))
	for id := range dirty {
		seen[id] = value(b.hosts[id].seen)
	}
	b.mu.Unlock()
	if len(seen) == 0 {
		return nil
	}
	err := s.WriteRepeatable(ctx, func(tx *store.Tx) error { return tx.SeenHosts(ctx, seen) }, store.HostRows(slices.Collect(maps.Keys(seen))...)...)
	if err == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range dirty {
		if b.hosts[id].seen != nil { // it was not deleted meanwhile
			b.dirty[id] = true
		}
	}
	return err
}
