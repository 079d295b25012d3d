package svc

// ReplicaState is the state of an orchestrator process.
type ReplicaState string

// The states of an orchestrator process. Gone is final.
const (
	ReplicaReady    ReplicaState = "ready"
	ReplicaDraining ReplicaState = "draining" // it hands its work over, then exits
	ReplicaGone     ReplicaState = "gone"     // it has exited, or has stopped renewing its registration
)

// Replica is one orchestrator process on the database.
type Replica struct {
	ID         string       `json:"id" doc:"New for each process"`
	Address    string       `json:"address" doc:"Configured address for other orchestrators; empty: it is the only one on the database"`
	Version    string       `json:"version"`
	State      ReplicaState `json:"state" enum:"ready,draining,gone"`
	Leader     bool         `json:"leader" doc:"Whether it places runs and decides about hosts"`
	Uplinks    int          `json:"uplinks" doc:"Connections of workers"`
	Since      Time         `json:"since" doc:"When it started"`
	LastSeenAt Time         `json:"last_seen_at" doc:"When it last renewed its registration"`
}

// EventPayload returns the fields that replica events carry.
func (r Replica) EventPayload() map[string]any {
	return map[string]any{"replica_id": r.ID, "address": r.Address, "version": r.Version}
}
