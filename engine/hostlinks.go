package engine

import (
	"context"
	"slices"
	"time"

	"svc"
	"svc/store"
)

// linkState describes a host's connection. It is for display only: the status of a host depends on its heartbeats
// alone.
type linkState struct {
	since         *svc.Time // not connected since then; nil: connected, or never was
	changed       time.Time // when it last changed, by the monotonic clock
	endReason     string    // the reason that the worker sent before it disconnected; empty: none
	awaited       bool      // it was connected to the orchestrator before this one, and has not been connected to this one
	journaledGone bool      // the last event in the journal says "not connected"
	journaledAt   time.Time
}

// linkSettle is how long a connection must be gone before that is journaled, unless the worker announced its end. It
// is also the minimum time between two events of one host, so a flapping connection does not fill the journal.
const linkSettle = 5 * time.Second

// returnSettle is the same for a host whose connection ended with the orchestrator before this one. Its worker is expected
// back within this time. To journal thousands as gone and back would take the time in which they connect.
const returnSettle = 30 * time.Second

// linksUnit limits the size of a unit of work, for which other writers wait.
const linksUnit = 500

// storedLink returns the state of a host's connection when this process starts. Connections end with the orchestrator
// that has them, so a worker that was connected has been disconnected since now at the latest.
func storedLink(h svc.Host, now time.Time, wall svc.Time) linkState {
	l := linkState{since: h.DisconnectedSince, journaledGone: h.DisconnectedSince != nil, changed: now}
	if l.since == nil && h.LastSeenAt != nil {
		l.since, l.awaited = &wall, true
	}
	return l
}

// linkChanged records that a connection of a host was opened or closed. reason is what the worker sent before it
// disconnected.
func (e *Engine) linkChanged(hostID, reason string) {
	e.hosts.linkChanged(hostID, e.watch.look(), e.now(), reason)
}

func (b *hostBook) linkChanged(hostID string, now time.Time, wall svc.Time, reason string) {
	linked := b.linked(hostID)
	b.mu.Lock()
	defer b.mu.Unlock()
	e, known := b.hosts[hostID]
	if !known || linked == (e.link.since == nil) && !e.link.changed.IsZero() {
		return
	}
	e.link.changed, e.link.since, e.link.endReason, e.link.awaited = now, nil, "", false
	if !linked {
		e.link.since, e.link.endReason = &wall, reason
	}
	b.hosts[hostID] = e
}

// unjournaledLinks returns the hosts whose connection state in the journal is out of date.
func (b *hostBook) unjournaledLinks(now time.Time) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id, e := range b.hosts {
		gone, settle := e.link.since != nil, linkSettle
		if e.link.awaited {
			settle = returnSettle
		}
		settled := !gone || e.link.endReason != "" || now.Sub(e.link.changed) >= settle
		if gone != e.link.journaledGone && settled && now.Sub(e.link.journaledAt) >= linkSettle {
			ids = append(ids, id)
		}
	}
	return ids
}

func (b *hostBook) linkOf(hostID string) linkState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hosts[hostID].link
}

func (b *hostBook) linkJournaled(hostID string, gone bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, known := b.hosts[hostID]; known {
		e.link.journaledGone, e.link.journaledAt = gone, now
		b.hosts[hostID] = e
	}
}

// journalLinks journals which hosts were disconnected or connected again.
func (e *Engine) journalLinks(ctx context.Context) error {
	for ids := range slices.Chunk(e.hosts.unjournaledLinks(e.watch.look()), linksUnit) {
		since := map[string]*svc.Time{}
		err := e.Store.Write(ctx, func(tx *store.Tx) error {
			hosts, err := tx.Identities(ctx, ids)
			if err != nil {
				return err
			}
			for _, id := range ids {
				h, exists := hosts[id]
				if !exists {
					continue
				}
				link := e.hosts.linkOf(id)
				topic, payload := svc.TopicWorkerConnected, h.EventPayload()
				if link.since != nil {
					topic = svc.TopicWorkerGone
					payload["disconnected_since"], payload["reason"] = *link.since, link.endReason
				}
				tx.Emit(topic, payload)
				since[id] = link.since
			}
			return tx.NoteLinks(ctx, since)
		}, store.HostRows(ids...)...)
		if err != nil {
			return err
		}
		for id, gone := range since {
			e.hosts.linkJournaled(id, gone != nil, e.watch.look())
		}
	}
	return nil
}
