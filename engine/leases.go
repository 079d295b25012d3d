package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"svc"
	"svc/hub"
	"svc/store"
)

var leaseTopics = svc.Globs{string(svc.TopicRunLeaseAcquired), string(svc.TopicRunLeaseReleased)}

// leaseChanged journals who holds the input lease of a run.
func (e *Engine) leaseChanged(l hub.LeaseEvent) {
	if err := e.journalLease(svc.WithCaller(context.Background(), svc.Caller{Name: l.By}), l); err != nil {
		e.Log.Error("a lease cannot be journaled", "run_id", l.RunID, "error", err)
	}
}

func (e *Engine) journalLease(ctx context.Context, l hub.LeaseEvent) error {
	topic := svc.TopicRunLeaseReleased
	if l.Acquired {
		topic = svc.TopicRunLeaseAcquired
	}
	return e.Store.Write(ctx, func(tx *store.Tx) error {
		r, err := tx.Run(ctx, l.RunID)
		if err != nil {
			return err
		}
		p := r.EventPayload()
		p["attempt"], p["timestamp"], p["holder"] = l.Attempt, l.At, l.Holder
		tx.Emit(topic, p)
		return nil
	})
}

// journaledLease is the part of a lease event that identifies the holder.
type journaledLease struct {
	RunID     string   `json:"run_id"`
	Attempt   int      `json:"attempt"`
	Holder    string   `json:"holder"`
	Timestamp svc.Time `json:"timestamp"`
}

// leaseOf returns the input lease of a run, from the journal: only the leader's engine has it in memory.
func (e *Engine) leaseOf(ctx context.Context, runID string) (*svc.Lease, error) {
	list, err := e.Store.Events(ctx, svc.EventFilter{Subjects: svc.Subjects{RunID: runID}, Topics: leaseTopics}, svc.Page{Limit: 1})
	if err != nil || len(list.Items) == 0 || list.Items[0].Topic != svc.TopicRunLeaseAcquired {
		return nil, err
	}
	var held journaledLease
	if err := json.Unmarshal(list.Items[0].Payload, &held); err != nil {
		return nil, fmt.Errorf("read a lease in the journal: %w", err)
	}
	return &svc.Lease{Holder: held.Holder, AttachedAt: held.Timestamp}, nil
}

// mostLeases limits the search for earlier leases; fewer sessions are attached at the same time.
const mostLeases = 500

// releaseLeases journals the release of leases that were held when the previous orchestrator process died: they ended
// with it.
func (e *Engine) releaseLeases(ctx context.Context) error {
	list, err := e.Store.Events(ctx, svc.EventFilter{Topics: leaseTopics}, svc.Page{Limit: mostLeases})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, ev := range list.Items { // the newest first
		var l journaledLease
		if err := json.Unmarshal(ev.Payload, &l); err != nil || seen[l.RunID] {
			continue
		}
		seen[l.RunID] = true
		if ev.Topic != svc.TopicRunLeaseAcquired {
			continue
		}
		err := e.journalLease(ctx, hub.LeaseEvent{RunID: l.RunID, Attempt: l.Attempt, Holder: l.Holder, At: e.now()})
		if err != nil && svc.CodeOf(err) != svc.CodeNotFound {
			return err
		}
	}
	return nil
}
