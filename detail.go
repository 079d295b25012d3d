package svc

// RunDetail is a run together with the reasons for its present state.
type RunDetail struct {
	Run
	Lease    *Lease     `json:"lease" doc:"Null while no client holds the lease"`
	Waiting  *Waiting   `json:"waiting" doc:"Why a pending run is not running; null otherwise"`
	Evidence []Evidence `json:"evidence" nullable:"false" doc:"The signals and decisions that changed the run's state, oldest first"`
}

// Lease is the exclusive right to type into the run's terminal.
type Lease struct {
	AttachedAt Time   `json:"attached_at"`
	Holder     string `json:"holder" doc:"The name of the token that the holder uses"`
}

// Waiting explains a pending run.
type Waiting struct {
	TimesOutAt *Time          `json:"times_out_at" doc:"When it fails if it is not placed on a host; null: it has no timeout, or something other than hosts holds it back"`
	NotBefore  *Time          `json:"not_before" doc:"End of the back-off of a restart; null: none"`
	Why        []Hold         `json:"why" nullable:"false" doc:"What holds it back besides hosts; empty: only a host is missing"`
	Position   *int           `json:"position" doc:"Its position among the runs for which only a host is missing, 1 = next; null while something else holds it back"`
	Hosts      []HostWithheld `json:"hosts" nullable:"false" doc:"Hosts, and why each was not taken: at most 50"`
	HostsTotal int            `json:"hosts_total" doc:"How many hosts there are"`
}

// MostWithheld limits the number of hosts in Waiting.Hosts.
const MostWithheld = 50

// Hold is a reason, other than the lack of a host, why a run is not placed.
type Hold struct {
	Code    HoldCode `json:"code" enum:"not_before,back_off,blocked,project_full,workspace_busy,predecessor_active"`
	Message string   `json:"message"`
	Needs   []string `json:"needs,omitempty" nullable:"false" doc:"With blocked: the items that are not done"`
}

// HoldCode identifies the reason of a Hold.
type HoldCode string

// The reasons why a run is not placed, other than the lack of a host.
const (
	HoldNotBefore   HoldCode = "not_before"
	HoldBackOff     HoldCode = "back_off"
	HoldBlocked     HoldCode = "blocked"
	HoldProjectFull HoldCode = "project_full"
	// HoldWorkspaceBusy: another run is in the workspace that the run is to use.
	HoldWorkspaceBusy HoldCode = "workspace_busy"
	// HoldPredecessor: the run that this run continues is not over.
	HoldPredecessor HoldCode = "predecessor_active"
)

// HostWithheld is a host that a pending run was not placed on, with the reason.
type HostWithheld struct {
	HostID string `json:"host_id"`
	Name   string `json:"name"`
	Why    string `json:"why" enum:"other_host_pinned,labels_missing,never_seen,offline,disabled,suspect,cooling_down,disk_low,not_connected,no_workspaces,full,unconfirmed,refused,provider_missing,eligible"`
}

// Evidence is one recorded signal or decision that changed a run's state.
type Evidence struct {
	Attempt    int          `json:"attempt"`
	Kind       SignalKind   `json:"kind" enum:"started,finished,completed,failed,progress,stopped" doc:"The signal; stopped: a person stopped the run"`
	Source     SignalSource `json:"source" enum:"wrapper,provider-hook,manual"`
	Via        string       `json:"via" enum:"http,uplink,api,inventory,orchestrator" doc:"How it arrived; inventory: the comparison with a host's sessions; orchestrator: its own decision"`
	By         *string      `json:"by" doc:"Name of the person who requested it; null: no person"`
	SentAt     Time         `json:"sent_at" doc:"By the sender's clock"`
	ReceivedAt Time         `json:"received_at" doc:"Server clock"`
}
