package svc

// HostStatus is the status of a host. It never returns to registered.
type HostStatus string

// The statuses of a host. Only enable ends disabled; a heartbeat does not.
const (
	HostRegistered HostStatus = "registered"
	HostOnline     HostStatus = "online"
	HostOffline    HostStatus = "offline"
	HostDisabled   HostStatus = "disabled"
)

// ProviderReport is the result of a worker's check of one provider.
type ProviderReport struct {
	Available bool   `json:"available"`
	Version   string `json:"version,omitempty"`
	Reason    string `json:"reason,omitempty" doc:"Why it is not available"`
	// PromptLimit is set for a tool that takes its prompt only as an argument.
	PromptLimit int `json:"prompt_limit,omitempty" doc:"The longest prompt that it takes, in bytes; absent: no limit is known"`
	// Message is how the tool takes messages while it runs, from its catalog entry.
	Message string `json:"message,omitempty" enum:"none,paste" doc:"How it takes messages while it runs; absent: it does not take messages"`
	Turns   bool   `json:"turns,omitempty" doc:"Its hooks report the end of a turn"`
	// Conversation and Resumes describe whether a conversation can be resumed; an older worker reports neither.
	Conversation ConversationSource `json:"conversation,omitempty" enum:"minted,hook" doc:"Where the id of its conversation comes from; absent: it has no id"`
	Resumes      bool               `json:"resumes,omitempty" doc:"It can resume a conversation; absent: it cannot"`
	// Preset marks a tool that is installed on the host and has a preset, but is not in the host's catalog.
	Preset bool `json:"preset,omitempty" doc:"The tool is installed on the host but not in its catalog: svc provider add ID adds it; absent: it is in the catalog"`
}

// RefusalCoolingDown is the code of a host that could not start runs, for reasons of its own, and waits before it
// tries again.
const RefusalCoolingDown = "cooling_down"

// RefusalDiskLow is the code of a host whose free disk space is below [worker] min_free.
const RefusalDiskLow = "disk_low"

// HostRefusal is why a host takes no new runs now.
type HostRefusal struct {
	Code    string `json:"code" doc:"cooling_down: it could not start runs and tries again by itself; disk_low: it has too little disk space free"`
	Message string `json:"message" doc:"For people"`
	Until   Time   `json:"until" doc:"When the host checks again"`
}

// Host is a machine on which runs can be placed.
type Host struct {
	ID                string                    `json:"id" doc:"UUID"`
	Name              string                    `json:"name" doc:"Unique; what a worker registers as"`
	Status            HostStatus                `json:"status" enum:"registered,online,offline,disabled"`
	Platform          string                    `json:"platform"`
	LastSeenAt        *Time                     `json:"last_seen_at" doc:"The last heartbeat; null: never"`
	Connected         bool                      `json:"connected" doc:"Its worker has an open connection now, which new runs require. The status depends on heartbeats only"`
	DisconnectedSince *Time                     `json:"disconnected_since" doc:"When the connection ended; after a restart of the orchestrator, when that began, unless it is known to be earlier. Null: it is connected, or never was"`
	InstanceID        *string                   `json:"instance_id" doc:"The pinned worker process identity; null: none yet"`
	InstanceSuspect   bool                      `json:"instance_suspect" doc:"A second identity was seen; no new runs until cleared"`
	SuspectInstanceID *string                   `json:"suspect_instance_id"`
	WorkerKey         *string                   `json:"worker_key" doc:"The pinned public key (Ed25519, base64) with which its worker signs its connections; null: none yet, so the token alone is sufficient"`
	SuspectWorkerKey  *string                   `json:"suspect_worker_key" doc:"The key of a suspect worker; empty: it had no key; null: there was no suspect worker"`
	Containment       string                    `json:"containment" doc:"How sessions are isolated from the rest of the machine: off or bwrap; empty: not reported"`
	Scopes            string                    `json:"scopes" doc:"Whether each run has its own systemd scope: on or off; empty: not reported"`
	CatalogHash       string                    `json:"catalog_hash" doc:"SHA-256 of the worker's provider catalog; empty: not reported"`
	MaxRuns           *int                      `json:"max_runs" doc:"Null: no limit"`
	Labels            map[string]string         `json:"labels" nullable:"false"`
	ActiveRuns        int                       `json:"active_runs" doc:"Runs with a session that may be alive"`
	Providers         map[string]ProviderReport `json:"providers" nullable:"false" doc:"What the worker last reported"`
	ProvidersAt       *Time                     `json:"providers_reported_at" doc:"When that was; null: never"`
	WorkerVersion     string                    `json:"worker_version"`
	ClockAheadMS      *int64                    `json:"clock_ahead_ms,omitempty" doc:"By how many milliseconds the worker's clock was ahead of the orchestrator's at the last heartbeat; absent: less than a second either way, or no heartbeat since the orchestrator started. No decision depends on it"`
	Refusing          *HostRefusal              `json:"refusing,omitempty" doc:"Why the host accepts no new runs now, from its last heartbeat; absent: it accepts them"`
	DiskFreeBytes     *int64                    `json:"disk_free_bytes" doc:"Disk space that its worker may still use, from its last heartbeat; null: not reported since the orchestrator started"`
	CatalogError      string                    `json:"catalog_error,omitempty" doc:"Why the provider catalog on the host could not be loaded, from its last heartbeat; the last valid one is used. Absent: it is loaded"`
	CreatedAt         Time                      `json:"created_at"`
	UpdatedAt         Time                      `json:"updated_at"`
	Version           int64                     `json:"-"`

	NamesBoot      bool  `json:"-"` // its worker has reported a boot id before
	SignsRequests  bool  `json:"-"` // its worker signs its requests with the host's token
	LastDispatchAt *Time `json:"-"`
	OfflineSince   *Time `json:"-"` // nil while it is not offline
}

// NewHost holds the fields of a request to create a host.
type NewHost struct {
	Name    string
	Labels  map[string]string
	MaxRuns *int
}

// MaxRunsChange sets the limit of active runs. A nil Max removes the limit.
type MaxRunsChange struct{ Max *int }

func (c *MaxRunsChange) check(bad *Problems) {
	if c != nil && c.Max != nil && (*c.Max < 0 || *c.Max > 100_000) {
		bad.Add("max_runs", "must be 0 to 100000, or null for no limit")
	}
}

// HostPatch changes every field that is not nil.
type HostPatch struct {
	Name    *string
	Labels  *map[string]string
	MaxRuns *MaxRunsChange
}

// Validate returns a validation error that names every wrong field, or nil.
func (n NewHost) Validate() error {
	return HostPatch{Name: &n.Name, Labels: &n.Labels, MaxRuns: &MaxRunsChange{n.MaxRuns}}.Validate()
}

// Validate returns a validation error that names every wrong field, or nil.
func (p HostPatch) Validate() error {
	var bad Problems
	if p.Name != nil {
		bad.line("name", *p.Name, 1, maxName)
	}
	p.MaxRuns.check(&bad)
	if p.Labels != nil {
		if len(*p.Labels) > 100 {
			bad.Add("labels", "has %d entries; at most 100 are allowed", len(*p.Labels))
		}
		checkLabels(&bad, "labels", *p.Labels)
	}
	return bad.Err()
}

// checkLabels checks the names and values of labels.
func checkLabels(bad *Problems, field string, labels map[string]string) {
	for k, v := range labels {
		bad.line(field, k, 1, 100)
		bad.line(field, v, 0, 500)
	}
}

// HasLabels reports whether the host has all of these labels.
func (h Host) HasLabels(wanted map[string]string) bool {
	for k, v := range wanted {
		if has, ok := h.Labels[k]; !ok || has != v {
			return false
		}
	}
	return true
}

// Dispatchable reports whether the host may be given new runs. It does not check that the host is connected.
func (h Host) Dispatchable() bool { return h.Status == HostOnline && !h.InstanceSuspect }

// Beat applies one heartbeat to the host and returns the topics to journal. fresh reports whether the heartbeat
// before it is still inside the liveness window. The pinned instance id is replaced only when it is not; another id
// inside the window makes the host suspect.
func (h *Host) Beat(instance string, now Time, fresh bool) []Topic {
	var topics []Topic
	switch {
	case h.InstanceID == nil:
		h.InstanceID = &instance
	case *h.InstanceID == instance:
	case !fresh:
		h.InstanceID, h.InstanceSuspect, h.SuspectInstanceID = &instance, false, nil
		topics = append(topics, TopicWorkerReinstalled)
	default:
		h.SuspectInstanceID = &instance
		if !h.InstanceSuspect {
			h.InstanceSuspect = true
			topics = append(topics, TopicWorkerSuspect)
		}
	}
	h.LastSeenAt = &now
	if h.Status == HostRegistered || h.Status == HostOffline {
		h.Status, h.OfflineSince = HostOnline, nil
		topics = append(topics, TopicWorkerRegistered)
	}
	return topics
}

// EventPayload returns the fields that every worker.* event carries.
func (h Host) EventPayload() map[string]any {
	return map[string]any{"host_id": h.ID, "name": h.Name, "status": h.Status}
}
