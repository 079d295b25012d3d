package engine

import (
	"context"
	"slices"
	"time"

	"svc"
	"svc/store"
)

// linkState is what is known of a host's connection. It is for people: the
// status of a host follows from its heartbeats alone.
type linkState struct {
	since    *svc.Time // not connected since; nil: connected, or never was
	changed  time.Time // when it last changed, by the monotonic clock
	farewell string    // what the worker said at the end; empty: nothing
	told     bool      // the journal's last word is that it is not connected
	toldAt   time.Time
}

// linkSettle is how long a connection may be away before it is journaled, unless
// the worker said goodbye, and the least time between two events of one host: a
// connection that flaps does not fill the journal.
const linkSettle = 5 * time.Second

// storedLink is what is known when this process begins. Connections end with the
// orchestrator that has them: a worker that was connected is not since now, at
// the latest.
func storedLink(h svc.Host, now time.Time, wall svc.Time) linkState {
	l := linkState{since: h.DisconnectedSince, told: h.DisconnectedSince != nil, changed: now}
	if l.since == nil && h.LastSeenAt != nil {
		l.since = &wall
	}
	return l
}

// linkChanged notes that a connection of a host came or went. reason is what the
// worker said when it went.
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
	e.link.changed, e.link.since, e.link.farewell = now, nil, ""
	if !linked {
		e.link.since, e.link.farewell = &wall, reason
	}
	b.hosts[hostID] = e
}

// untoldLinks is the hosts whose connection the journal does not have right.
func (b *hostBook) untoldLinks(now time.Time) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id, e := range b.hosts {
		gone := e.link.since != nil
		settled := !gone || e.link.farewell != "" || now.Sub(e.link.changed) >= linkSettle
		if gone != e.link.told && settled && now.Sub(e.link.toldAt) >= linkSettle {
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

func (b *hostBook) linkTold(hostID string, gone bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, known := b.hosts[hostID]; known {
		e.link.told, e.link.toldAt = gone, now
		b.hosts[hostID] = e
	}
}

// tellLinks journals which hosts are connected no more, or again.
func (e *Engine) tellLinks(ctx context.Context) error {
	for ids := range slices.Chunk(e.hosts.untoldLinks(e.watch.look()), hostsUnit) {
		told := map[string]bool{}
		err := e.Store.Write(ctx, func(tx *store.Tx) error {
			for _, id := range ids {
				h, err := tx.Host(ctx, id)
				if svc.CodeOf(err) == svc.CodeNotFound {
					continue
				}
				if err != nil {
					return err
				}
				link := e.hosts.linkOf(id)
				topic, payload := svc.TopicWorkerConnected, h.EventPayload()
				if link.since != nil {
					topic = svc.TopicWorkerGone
					payload["disconnected_since"], payload["reason"] = *link.since, link.farewell
				}
				tx.Emit(topic, payload)
				if err := tx.NoteLink(ctx, id, link.since); err != nil {
					return err
				}
				told[id] = link.since != nil
			}
			return nil
		}, store.HostRows(ids...)...)
		if err != nil {
			return err
		}
		for id, gone := range told {
			e.hosts.linkTold(id, gone, e.watch.look())
		}
	}
	return nil
}
