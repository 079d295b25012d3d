package svc

// RunDetail is a run together with why it is where it is.
type RunDetail struct {
	Run
	Lease    *Lease     `json:"lease" doc:"Null while nobody holds the keyboard"`
	Waiting  *Waiting   `json:"waiting" doc:"Why a pending run is not running; null otherwise"`
	Evidence []Evidence `json:"evidence" nullable:"false" doc:"What put the run into its states, oldest first"`
}

// Lease tells that someone may type into the run's terminal.
type Lease struct {
	AttachedAt Time   `json:"attached_at"`
	Holder     string `json:"holder" doc:"The name of the token that the holder uses"`
}

// Waiting explains a pending run.
type Waiting struct {
	TimesOutAt Time           `json:"times_out_at" doc:"When it fails if no host takes it"`
	NotBefore  *Time          `json:"not_before" doc:"Back-off of a restart; null: it may go at once"`
	Hosts      []HostWithheld `json:"hosts" nullable:"false" doc:"Every host, and why it was not taken"`
}

// HostWithheld is a host that a pending run was not given to.
type HostWithheld struct {
	HostID string `json:"host_id"`
	Name   string `json:"name"`
	Why    string `json:"why" enum:"other_host_pinned,never_seen,offline,disabled,suspect,cooling_down,not_connected,full,unconfirmed,refused,provider_missing,about_to_take_it"`
}

// Evidence is one proof of what a run did.
type Evidence struct {
	Attempt    int          `json:"attempt"`
	Kind       SignalKind   `json:"kind" doc:"The signal; stopped for a stop by hand"`
	Source     SignalSource `json:"source" enum:"wrapper,provider-hook,manual"`
	Via        string       `json:"via" doc:"The door it came through: http, uplink or api"`
	By         *string      `json:"by" doc:"Who asked for it; null: no person did"`
	SentAt     Time         `json:"sent_at" doc:"By the sender's clock"`
	ReceivedAt Time         `json:"received_at" doc:"By ours"`
}
