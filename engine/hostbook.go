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

// hostBook keeps the heartbeats in memory, so that a heartbeat costs no write: they are written to the database in
// batches. It also keeps enough of each host to detect whether a heartbeat changes anything. All heartbeats of this
// process pass through it, so its copy is the current one.
type hostBook struct {
	pin    func(hostID, instance string) // called with the instance that is a host's own
	linked func(hostID string) bool      // reports whether a host's own connection is open

	standby bool // another orchestrator has the connections

	mu    sync.Mutex // guards the rest
	hosts map[string]hostEntry
	dirty map[string]bool // hosts whose last heartbeat is not in the database yet

	changes int64 // counts changes of records of hosts, including those that may not be committed
}

// clockTolerance is how far a clock may be off, in milliseconds, before the difference is reported.
const clockTolerance = 1000

type hostEntry struct {
	version  int64
	status   svc.HostStatus
	instance string
	seen     *svc.Time // the last heartbeat by the wall clock, for display; nil: never
	beatAt   time.Time // the last heartbeat by the monotonic clock, for decisions; zero: never
	left     time.Time // since when it is offline, by the monotonic clock
	unread   time.Time // until then, heartbeats may have arrived that are not read yet
	ahead    int64     // milliseconds that its clock is ahead of ours
	refusing *svc.HostRefusal
	catalog  string // why its provider catalog is not in use; empty: it is
	diskFree *int64 // nil: the host did not report it
	diskLow  bool   // as it is stored in the database
	link     linkState
	// doubt: a change of the row failed, or its result was lost. Until a later change is known to be committed, the
	// status here may be wrong.
	doubt bool
}

// standbyHostBook returns the book of a process that gets no heartbeats. It does not read the hosts: with 10,000 of them,
// that would take megabytes which nothing uses.
func standbyHostBook(pin func(hostID, instance string), linked func(string) bool) *hostBook {
	return &hostBook{pin: pin, linked: linked, standby: true, hosts: map[string]hostEntry{}, dirty: map[string]bool{}}
}

// newHostBook reads every host. For the time before this process started, it converts stored wall-clock times.
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
			e.beatAt = ago(*e.seen)
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

// recordUnchanged records a heartbeat that changes nothing but the time. It returns false when the heartbeat must be
// handled by a unit of work: the host is unknown, neither online nor disabled, or in doubt, or the instance is not
// the pinned one.
func (b *hostBook) recordUnchanged(hostID, instance string, beatAt time.Time, seen svc.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.hosts[hostID]
	if !known || e.doubt || e.instance != instance || e.status != svc.HostOnline && e.status != svc.HostDisabled {
		return false
	}
	e.recordBeat(beatAt, seen)
	b.hosts[hostID] = e
	b.dirty[hostID] = true
	return true
}

// recordBeat records a heartbeat. Of two that are recorded in the wrong order, the later one is kept.
func (e *hostEntry) recordBeat(beatAt time.Time, seen svc.Time) {
	if beatAt.After(e.beatAt) {
		e.beatAt, e.seen = beatAt, &seen
	}
}

// written records a host as it was committed. beatAt is the time of the heartbeat that changed it, or zero if it was
// another change. Calls may arrive in any order: an older version never replaces a newer one.
func (b *hostBook) written(h svc.Host, now, beatAt time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.hosts[h.ID]
	if e.version == math.MaxInt64 {
		return // deleted
	}
	if !beatAt.IsZero() {
		e.recordBeat(beatAt, *h.LastSeenAt)
		b.dirty[h.ID] = true // a concurrent change may have written an older heartbeat
	}
	b.changes++
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

// current reports whether a record that was read is the newest version that this process knows. In doubt it is not.
func (b *hostBook) current(h *svc.Host) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.hosts[h.ID]
	return known && !e.doubt && e.version == h.Version
}

// unsure records that a change of these hosts may or may not be committed.
func (b *hostBook) unsure(ids ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	for _, id := range ids {
		if e, known := b.hosts[id]; known {
			e.doubt = true
			b.hosts[id] = e
		}
	}
}

// clock records the difference between a host's clock and ours, from a heartbeat.
func (b *hostBook) clock(hostID string, theirs, ours svc.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, known := b.hosts[hostID]; known {
		e.ahead = int64(theirs) - int64(ours)
		b.hosts[hostID] = e
	}
}

// noteReport records what a heartbeat reports: why the host takes no new runs, why its provider catalog is not in
// use, and its free disk space. It reports whether the host began or ceased to take runs.
func (b *hostBook) noteReport(f *wire.Heartbeat) (changed bool) {
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

// diskLow reports whether the database has the host as one with too little free disk space.
func (b *hostBook) diskLow(hostID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hosts[hostID].diskLow
}

// diskNoted records what was written to the database about a host's disk space.
func (b *hostBook) diskNoted(hostID string, low bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, known := b.hosts[hostID]; known {
		e.diskLow = low
		b.hosts[hostID] = e
	}
}

// forget drops a deleted host. A change from before the deletion that is recorded later does not bring it back.
func (b *hostBook) forget(hostID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	b.hosts[hostID] = hostEntry{version: math.MaxInt64}
	delete(b.dirty, hostID)
}

// changeCount returns a number that differs after each change of a host's record.
func (b *hostBook) changeCount() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changes
}

// refusals returns, by host, why hosts take no new runs.
func (b *hostBook) refusals() map[string]*svc.HostRefusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := map[string]*svc.HostRefusal{}
	for id, e := range b.hosts {
		if e.refusing != nil {
			found[id] = e.refusing
		}
	}
	return found
}

// overlay adds the state in memory to a host's record: last heartbeat, connection, refusal, clock. Where another
// orchestrator has the connections, the record has what was last written.
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

// fresh reports whether a heartbeat of the host was received within the given time. It is false if none ever was.
func (b *hostBook) fresh(hostID string, now time.Time, within time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.hosts[hostID]
	return !e.beatAt.IsZero() && now.Sub(e.beatAt) <= within
}

// silent returns every host with one of the statuses and no heartbeat for longer than the given time. Silence before
// since does not count. A host in doubt may be online.
func (b *hostBook) silent(now, since time.Time, longer time.Duration, statuses ...svc.HostStatus) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id, e := range b.hosts {
		fits := slices.Contains(statuses, e.status) || e.doubt && slices.Contains(statuses, svc.HostOnline)
		if fits && now.Sub(latest(e.beatAt, since)) > longer && !now.Before(e.unread) {
			ids = append(ids, id)
		}
	}
	return ids
}

// How long the frames of a connection may be unread: while its host is being identified, and then until they are
// read.
const (
	identifyWithin = 10 * time.Second
	readWithin     = time.Second
)

// identifying records that the frames of a host's connection are not read until the host is identified. The caller
// calls known when it is. Until the frames are read, the host does not count as silent: they may contain a heartbeat.
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

// goneFor returns how long a silent host has been gone: since it went offline, or since it would have gone offline if
// it were not disabled.
func (b *hostBook) goneFor(hostID string, now, since time.Time, offlineAfter time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.hosts[hostID]
	if e.status == svc.HostOffline {
		return now.Sub(e.left)
	}
	return now.Sub(latest(e.beatAt, since)) - offlineAfter
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
		if b.hosts[id].seen != nil { // the host was not deleted meanwhile
			b.dirty[id] = true
		}
	}
	return err
}
