package engine

import (
	"cmp"
	"context"
	"sync"
	"time"

	"svc"
	"svc/store"
)

// How often this process writes that it is alive. On PostgreSQL, other orchestrators may read it; a SQLite file is
// used by one only.
const (
	beatShared = time.Second
	beatAlone  = time.Minute
)

// replica is this process's entry in the list of orchestrators.
type replica struct {
	id      string
	drained chan struct{} // closed when the drain was requested
	drain   func()
}

func newReplica(id string) *replica {
	drained := make(chan struct{})
	return &replica{id: cmp.Or(id, svc.NewID()), drained: drained, drain: sync.OnceFunc(func() { close(drained) })}
}

// self returns the record of this process.
func (e *Engine) self() svc.Replica {
	r := svc.Replica{ID: e.replica.id, Version: e.Version, State: svc.ReplicaReady, Uplinks: e.Hub.Uplinks.Count()}
	if e.Draining() {
		r.State = svc.ReplicaDraining
	}
	return r
}

// Drained returns a channel that is closed when this process has been requested to hand over and stop.
func (e *Engine) Drained() <-chan struct{} { return e.replica.drained }

// Draining reports whether Drained is closed.
func (e *Engine) Draining() bool {
	select {
	case <-e.replica.drained:
		return true
	default:
		return false
	}
}

// Replicas returns a page of orchestrator processes, newest first. The entry of this process is current; the others
// are as stored.
func (e *Engine) Replicas(ctx context.Context, page svc.Page) (svc.List[svc.Replica], error) {
	list, err := e.Store.Replicas(ctx, page)
	for i, r := range list.Items {
		if r.ID == e.replica.id {
			own := &list.Items[i]
			own.Leader, own.LastSeenAt = true, max(r.LastSeenAt, e.now())
			if e.ReplicaID == "" { // with several orchestrators, another process may have the connections
				own.Uplinks = e.Hub.Uplinks.Count()
			}
		}
	}
	return list, err
}

// Differences returns descriptions of settings that all orchestrators on the database should share but do not. It
// returns nothing for a single orchestrator.
func (e *Engine) Differences(ctx context.Context) (words []string, err error) {
	if e.ReplicaID == "" {
		return nil, nil
	}
	d, err := e.Store.Differences(ctx)
	for _, w := range []struct {
		holds bool
		words string
	}{
		{d.Versions, "the orchestrators on this database are of different versions: upgrade the older ones"},
		{d.Settings, "the orchestrators on this database have different settings in [runs], [hosts], [work_items], [events] or [retention]"},
		{d.Clocks, "the clock of an orchestrator is more than a second off the database's: set up NTP"},
	} {
		if w.holds {
			words = append(words, w.words)
		}
	}
	return words, err
}

// DrainReplica makes an orchestrator hand over its work and stop. It cannot be undone. To request it again has no
// further effect.
func (e *Engine) DrainReplica(ctx context.Context, id string) (svc.Replica, error) {
	r, err := once(ctx, e.Store.WriteRepeatable, func(tx *store.Tx) (svc.Replica, error) {
		r, first, err := tx.DrainReplica(ctx, id)
		if first {
			tx.Emit(svc.TopicReplicaDraining, r.EventPayload())
		}
		return r, err
	})
	if err != nil {
		return svc.Replica{}, err
	}
	if r.ID == e.replica.id { // not an earlier process, for which this idempotency key was used
		r.Leader = true
		e.replica.drain()
	}
	return r, nil
}

// replicaLoop writes at intervals that this process is alive, and at the end that it has stopped.
func (e *Engine) replicaLoop(ctx context.Context) error {
	if e.ReplicaID != "" {
		<-ctx.Done()
		return nil
	}
	every := beatAlone
	if e.Store.Shared() {
		every = beatShared
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			err := e.Store.WriteRepeatable(ctx, func(tx *store.Tx) error { return tx.BeatReplica(ctx, e.self()) })
			if err != nil && ctx.Err() == nil {
				e.Log.Debug("the beat of this orchestrator cannot be written; trying again", "error", err)
			}
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			if err := e.Store.WriteRepeatable(last, func(tx *store.Tx) error { return tx.EndReplica(last, e.replica.id) }); err != nil {
				e.Log.Warn("the end of this orchestrator cannot be written", "error", err)
			}
			return nil
		}
	}
}
