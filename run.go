package svc

import (
	"slices"
	"strings"
	"time"
)

// RunStatus is the status of a run. A terminal status is final for its attempt; a restart begins the next attempt at
// pending.
type RunStatus string

// The statuses of a run.
const (
	RunPending  RunStatus = "pending"  // admitted, waiting for a host
	RunSpawning RunStatus = "spawning" // placed on a host, not yet started
	RunRunning  RunStatus = "running"  // the wrapper reported started
	RunExited   RunStatus = "exited"   // the wrapper reported exit code 0
	RunFailed   RunStatus = "failed"   // ended with an error, or never started
	RunStopped  RunStatus = "stopped"  // stopped by a person
)

// RunStatuses lists every status.
var RunStatuses = []RunStatus{RunPending, RunSpawning, RunRunning, RunExited, RunFailed, RunStopped}

// Active reports whether the attempt's status is not terminal.
func (s RunStatus) Active() bool { return s == RunPending || s == RunSpawning || s == RunRunning }

// RestartPolicy is which ends of an attempt start another attempt.
type RestartPolicy string

// The three policies.
const (
	RestartNever     RestartPolicy = "never"
	RestartOnFailure RestartPolicy = "on_failure"
	RestartAlways    RestartPolicy = "always"
)

// FailureReason is why a run failed without a signal from its wrapper or a hook.
type FailureReason string

// The reasons. The first two are set at the dispatch timeout, the third when a host was away for longer than [runs]
// lost_after.
const (
	ReasonNoEligibleHost  FailureReason = "no_eligible_host"
	ReasonDispatchTimeout FailureReason = "dispatch_timeout"
	ReasonHostLost        FailureReason = "host_lost"
)

// Result is the result of the work as a provider's hook reports it.
type Result string

// The results of a completed signal.
const (
	ResultSuccess        Result = "success"
	ResultPartialSuccess Result = "partial_success"
	ResultUserRejected   Result = "user_rejected"
)

// Run is one execution of a provider's tool for a task.
type Run struct {
	ID              string            `json:"id" doc:"UUID, random"`
	TaskID          string            `json:"task_id"`
	TaskTitle       string            `json:"task_title"`
	TaskNumber      int64             `json:"task_number" doc:"The work item's number in its project"`
	ProjectID       string            `json:"project_id"`
	ProjectSlug     string            `json:"project_slug"`
	Provider        string            `json:"provider"`
	SessionName     string            `json:"session_name" doc:"svc- and the first 8 characters of the id"`
	Status          RunStatus         `json:"status" enum:"pending,spawning,running,exited,failed,stopped"`
	Attempt         int               `json:"attempt" doc:"Number of the attempt, from 1; a restart adds one"`
	HostID          *string           `json:"host_id" doc:"The host on which this attempt was placed; null before that"`
	PinnedHostID    *string           `json:"pinned_host_id" doc:"The host the caller asked for; null: any"`
	Prompt          string            `json:"prompt"`
	Args            []string          `json:"args" nullable:"false"`
	Model           string            `json:"model"`
	Cwd             string            `json:"cwd" doc:"Working directory from the request; empty: its worker's default"`
	Env             map[string]string `json:"env" nullable:"false"`
	RestartPolicy   RestartPolicy     `json:"restart_policy" enum:"never,on_failure,always"`
	MaxRestarts     int               `json:"max_restarts"`
	Wait            bool              `json:"wait" doc:"It has no dispatch timeout: it waits until it can run"`
	Priority        int               `json:"priority" doc:"-2 to 2; a higher priority is placed first, then the run that has waited longer"`
	NotBefore       *Time             `json:"not_before" doc:"Not placed before this time; null: at once"`
	HostLabels      map[string]string `json:"host_labels" nullable:"false" doc:"Only hosts with all of these labels"`
	IgnoreNeeds     bool              `json:"ignore_needs" doc:"It is placed even if its item needs items that are not done"`
	FailureReason   *FailureReason    `json:"failure_reason" enum:"no_eligible_host,dispatch_timeout,host_lost" doc:"Set when it failed without a signal from wrapper or hook"`
	ExitCode        *int              `json:"exit_code"`
	Error           *string           `json:"error" doc:"Error from a failed signal"`
	Result          *Result           `json:"result" enum:"success,partial_success,user_rejected"`
	ResultReason    *string           `json:"result_reason"`
	LastProgressSeq int64             `json:"last_progress_seq" doc:"Highest applied seq of this attempt"`
	ProgressMessage *string           `json:"progress_message"`
	ProgressPercent *int              `json:"progress_percent"`
	NeedsInput      bool              `json:"needs_input" doc:"A hook reported that the agent waits for a person"`
	LastOutputAt    *Time             `json:"last_output_at"`
	Hint            *string           `json:"hint" doc:"Something unusual about a run that seems healthy; null: nothing"`
	PendingSince    Time              `json:"pending_since" doc:"When it last became pending"`
	NextDispatchAt  *Time             `json:"next_dispatch_at" doc:"Not placed on a host before this time; null: at once"`
	StartedAt       *Time             `json:"started_at"`
	EndedAt         *Time             `json:"ended_at"`
	SessionEndedAt  *Time             `json:"session_ended_at" doc:"Null while the session may still be alive"`
	WorkspaceID     *string           `json:"workspace_id" doc:"The working copy that it runs in; null: none"`
	ContinuesRunID  *string           `json:"continues_run_id" doc:"The run that it continues, in the same workspace; null: none"`
	Conversation    *Conversation     `json:"conversation" doc:"The tool's conversation; null: none is known"`
	CreatedBy       *string           `json:"created_by" doc:"The name of the token that created it; null: created before names were stored"`
	CreatedAt       Time              `json:"created_at"`
	UpdatedAt       Time              `json:"updated_at"`
	Version         int64             `json:"-"`

	// Fields for the orchestrator only.
	TaskManualMarks int64    `json:"-"` // the task's ManualMarks when the run was made
	Refused         []string `json:"-"` // ids of the hosts that refused this attempt
	Acked           bool     `json:"-"` // the host has acknowledged this attempt
	Blocked         bool     `json:"-"` // its item needs an item that is not done, and IgnoreNeeds is not set
	UnblockedAt     *Time    `json:"-"` // when a change last ended that block, or a not_before
	DispatchedAt    *Time    `json:"-"` // when this attempt was claimed
	// OutputBytes and OutputLines are how much of this attempt's relayed log, from its first byte, the journal has
	// reported. After the end of the session they are the length of the log at that moment. OutputBytes is negative
	// when that length was not stored.
	OutputBytes int64 `json:"-"`
	OutputLines int64 `json:"-"`
	// PastHosts are the hosts of the earlier attempts, the newest last; empty: there were none. Nil: this attempt was
	// placed before svc stored past hosts and bound tokens to them.
	PastHosts []string `json:"-"`
	// EndClaimed reports whether the end was reported with the run's own token alone. An agent holds that token, so
	// the host has yet to confirm that the session is over.
	EndClaimed bool `json:"-"`
	// AskedAt is when the agent asked the question to which it waits for an answer. It is valid only while NeedsInput is
	// set.
	AskedAt *Time `json:"-"`
	// TurnOver reports whether the agent waits for a prompt: a hook reported the end of a turn, and no prompt was
	// submitted since then.
	TurnOver bool `json:"-"`
	// Resumes reports whether the run resumes the conversation instead of beginning one.
	Resumes bool `json:"-"`
}

// TaskRef returns the short name of the run's work item.
func (r *Run) TaskRef() string { return ItemRef(r.ProjectSlug, r.TaskNumber) }

// NewRun holds the fields of a request to create a run.
type NewRun struct {
	TaskID        string
	Task          *NewWorkItem // to be created together with the run, in place of TaskID; nil: TaskID is used
	Provider      string       // empty: the default of the project, then of [runs]
	HostID        *string
	Prompt        string
	Args          []string
	Model         string
	Cwd           string
	Env           map[string]string
	RestartPolicy RestartPolicy // empty: never
	MaxRestarts   *int          // nil: DefaultMaxRestarts
	Wait          bool
	Priority      int
	NotBefore     *Time
	HostLabels    map[string]string
	IgnoreNeeds   bool
	WorkspaceID   *string // the workspace to run in, which also fixes the host; nil: a new workspace, when the project has a repository
	Continues     *string // the run whose conversation is resumed; nil: a new conversation
	Fresh         bool    // with Continues: in the same workspace, but with a new conversation
}

// DefaultMaxRestarts limits the restarts when the request sets no limit.
const DefaultMaxRestarts = 3

const (
	maxPrompt   = 1 << 20
	maxArgs     = 1000
	maxRestarts = 1_000_000
)

// MaxArgument is the maximum length of one process argument on Linux, in bytes. A longer prompt is passed on standard
// input or in a file.
const MaxArgument = 128<<10 - 1

// Validate returns a validation error that names every wrong field, or nil.
func (n NewRun) Validate() error {
	var bad Problems
	n.validateContinues(&bad)
	switch {
	case n.Continues != nil && n.TaskID == "" && n.Task == nil: // the task of the continued run is used
	case n.Task == nil && !IsID(n.TaskID):
		bad.Add("task_id", "must be the id of a task or subtask")
	case n.Task != nil && n.TaskID != "":
		bad.Add("task", "is allowed only without task_id")
	}
	bad.line("provider", n.Provider, 0, maxProvider)
	if n.HostID != nil && !IsID(*n.HostID) {
		bad.Add("host_id", "must be the id of a host, or null")
	}
	if n.WorkspaceID != nil && !IsID(*n.WorkspaceID) {
		bad.Add("workspace_id", "must be the id of a workspace, or null")
	}
	bad.text("prompt", n.Prompt, maxPrompt)
	if len(n.Args) > maxArgs {
		bad.Add("args", "has %d elements; at most %d are allowed", len(n.Args), maxArgs)
	}
	for _, a := range n.Args {
		bad.text("args", a, 0)
	}
	bad.line("model", n.Model, 0, maxModel)
	bad.line("cwd", n.Cwd, 0, maxCwd)
	for k, v := range n.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			bad.Add("env", "%q is not the name of a variable", k)
		}
		if strings.HasPrefix(k, "SVC_") {
			bad.Add("env", "%s: names that begin with SVC_ are the orchestrator's own", k)
		}
		bad.text("env", k, 0)
		bad.text("env", v, 0)
	}
	if n.RestartPolicy != "" {
		oneOf(&bad, "restart_policy", n.RestartPolicy, RestartNever, RestartOnFailure, RestartAlways)
	}
	if m := n.MaxRestarts; m != nil && (*m < 0 || *m > maxRestarts) {
		bad.Add("max_restarts", "must be 0 to %d", maxRestarts)
	}
	checkPriority(&bad, n.Priority)
	if len(n.HostLabels) > maxHostLabels {
		bad.Add("host_labels", "has %d entries; at most %d are allowed", len(n.HostLabels), maxHostLabels)
	}
	checkLabels(&bad, "host_labels", n.HostLabels)
	return bad.Err()
}

func (n NewRun) validateContinues(bad *Problems) {
	switch {
	case n.Continues == nil && n.Fresh:
		bad.Add("fresh", "is allowed only with continues")
	case n.Continues == nil:
	case !IsID(*n.Continues):
		bad.Add("continues", "must be the id of a run, or null")
	case n.Task != nil:
		bad.Add("task", "is allowed only without continues: the task is that of the continued run")
	}
	if n.Continues != nil && strings.TrimSpace(n.Prompt) == "" {
		bad.Add("prompt", "is required to continue a run")
	}
}

const (
	leastPriority = -2
	mostPriority  = 2
	maxHostLabels = 20
)

func checkPriority(bad *Problems, p int) {
	if p < leastPriority || p > mostPriority {
		bad.Add("priority", "must be %d to %d", leastPriority, mostPriority)
	}
}

// SessionOpen reports whether a session of the current attempt may be alive. The host counts such a run as active
// even when its status is terminal.
func (r *Run) SessionOpen() bool {
	switch {
	case r.Status == RunSpawning || r.Status == RunRunning:
		return true
	case r.Status == RunPending:
		return false
	default:
		return r.HostID != nil && r.SessionEndedAt == nil
	}
}

// mostPastHosts limits PastHosts for a run that is restarted many times.
const mostPastHosts = 64

// HostOf returns the host of an attempt; empty: the attempt had none. For an attempt whose host is no longer stored,
// it returns the current host.
func (r *Run) HostOf(attempt int) string {
	before := r.Attempt - attempt
	if attempt < 1 || before < 0 {
		return ""
	}
	if kept := len(r.PastHosts) - before; before > 0 && kept >= 0 {
		return r.PastHosts[kept]
	}
	if r.HostID == nil {
		return ""
	}
	return *r.HostID
}

// MayRequeue reports whether the restart policy and the limit allow another attempt.
func (r *Run) MayRequeue() bool {
	return r.RestartPolicy != RestartNever && r.Attempt <= r.MaxRestarts
}

// MayRestart reports whether the policy requires another attempt after the one that just ended. There is none after a
// stop, after no_eligible_host and after a lost conversation.
func (r *Run) MayRestart() bool {
	if !r.MayRequeue() {
		return false
	}
	if r.FailureReason != nil && *r.FailureReason == ReasonNoEligibleHost || r.conversationGone() {
		return false
	}
	switch r.RestartPolicy {
	case RestartAlways:
		return r.Status == RunFailed || r.Status == RunExited
	case RestartOnFailure:
		return r.Status == RunFailed
	default:
		return false
	}
}

// Requeue begins the next attempt: it sets the run to pending and clears the results of the last attempt. Those
// remain in the journal.
func (r *Run) Requeue(now, nextDispatch Time) {
	past := append(slices.Clone(r.PastHosts), r.HostOf(r.Attempt))
	r.PastHosts = past[max(len(past)-mostPastHosts, 0):]
	r.Status = RunPending
	r.Attempt++
	r.PendingSince = now
	r.NextDispatchAt = &nextDispatch
	r.HostID, r.DispatchedAt, r.Acked, r.Refused = nil, nil, false, nil
	r.FailureReason, r.ExitCode, r.Error, r.Result, r.ResultReason = nil, nil, nil, nil, nil
	r.LastProgressSeq, r.ProgressMessage, r.ProgressPercent, r.NeedsInput = 0, nil, nil, false
	r.StartedAt, r.EndedAt, r.SessionEndedAt, r.AskedAt, r.Hint = nil, nil, nil, nil, nil
	r.OutputBytes, r.OutputLines, r.EndClaimed, r.TurnOver = 0, 0, false, false
	switch {
	case !r.Resumes:
		r.Conversation = nil // the next attempt begins a new conversation
	case r.Conversation != nil:
		r.Resume(*r.Conversation)
	}
}

// The back-off between attempts.
const (
	backoffFirst = 2 * time.Second
	backoffMost  = 5 * time.Minute
)

// RestartDelay returns the back-off before the attempt that follows this one: 2 s, doubled with each attempt up to 5
// min. jitter, in [0, 1), spreads it over the upper half of that time.
func RestartDelay(attempt int, jitter float64) time.Duration {
	d := backoffMost
	if attempt < 9 {
		d = min(backoffFirst<<max(attempt-1, 0), backoffMost)
	}
	return d/2 + time.Duration(jitter*float64(d/2))
}

// silentStart is how long a started run may be without output or signals before it gets a hint.
const silentStart = 60 * time.Second

// LookAt sets or clears the hint. A tool that waits at a first-run dialog appears to run and does no work.
func (r *Run) LookAt(now Time) {
	r.Hint = nil
	active := r.LastOutputAt != nil || r.LastProgressSeq > 0 || r.Result != nil
	if r.Status == RunRunning && !active && r.StartedAt != nil && now.Sub(*r.StartedAt) >= silentStart {
		hint := "no output since start; attach to look"
		r.Hint = &hint
	}
}

// EventPayload returns the fields that every run.* event carries.
func (r *Run) EventPayload() map[string]any {
	p := map[string]any{"run_id": r.ID, "attempt": r.Attempt, "task_id": r.TaskID, "project_id": r.ProjectID, "status": r.Status}
	if r.HostID != nil {
		p["host_id"] = *r.HostID
	}
	return p
}
