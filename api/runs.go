package api

import "svc"

// CreateRun is the body of POST /runs.
type CreateRun struct {
	TaskID        string                 `json:"task_id,omitzero" example:"0190f3c2-7a1b-7000-8000-000000000001" doc:"A work item of kind task or subtask; needed unless task is given"`
	Task          *CreateWorkItem        `json:"task,omitempty" doc:"Creates the work item together with the run, atomically; in place of task_id"`
	Provider      string                 `json:"provider,omitzero" minLength:"1" example:"claude" doc:"Absent: the project's, then that of [runs]; required when neither is set"`
	WorkspaceID   Opt[string]            `json:"workspace_id,omitzero" nullable:"true" doc:"Runs in this workspace, only on its host, and waits while another run is in it; null or absent: in a new workspace, if the project has a repository"`
	Continues     Opt[string]            `json:"continues,omitzero" nullable:"true" doc:"Resumes the conversation of this run: task, provider, model, host and workspace are taken from that run, and args, env and cwd too unless they are set; it waits until that run is over. The prompt is required. 409 no_conversation when the provider cannot resume one, or no conversation is known. Null or absent: it continues none"`
	Fresh         Opt[bool]              `json:"fresh,omitzero" doc:"With continues: in the same workspace, but with a new conversation; provider and model may differ. Absent: false"`
	HostID        Opt[string]            `json:"host_id,omitzero" nullable:"true" doc:"Pins the run to this host; null or absent: any"`
	Prompt        Opt[string]            `json:"prompt,omitzero" example:"Let a customer pay with a card"`
	Args          Opt[[]string]          `json:"args,omitzero" doc:"Arguments for the provider's tool"`
	Model         Opt[string]            `json:"model,omitzero" doc:"Absent: the project's or that of [runs], if it is for the same tool"`
	Cwd           Opt[string]            `json:"cwd,omitzero" doc:"Absent: the project's, then the worker's own"`
	Env           Opt[map[string]string] `json:"env,omitzero" doc:"Extra variables of the session"`
	RestartPolicy Opt[svc.RestartPolicy] `json:"restart_policy,omitzero" enum:"never,on_failure,always" doc:"Absent: never"`
	MaxRestarts   Opt[int]               `json:"max_restarts,omitzero" minimum:"0" maximum:"1000000" doc:"Absent: 3"`
	Queueing
}

// Queueing holds the conditions under which a run waits.
type Queueing struct {
	Wait        Opt[bool]              `json:"wait,omitzero" doc:"True: no dispatch timeout; it waits until it can run. Absent: false"`
	Priority    Opt[int]               `json:"priority,omitzero" minimum:"-2" maximum:"2" doc:"A higher priority is placed first, then the run that has waited longer. Absent: 0"`
	NotBefore   Opt[svc.Time]          `json:"not_before,omitzero" nullable:"true" doc:"Not placed before this time; null or absent: at once"`
	HostLabels  Opt[map[string]string] `json:"host_labels,omitzero" doc:"Only hosts with all of these labels"`
	IgnoreNeeds Opt[bool]              `json:"ignore_needs,omitzero" doc:"Place it even if the work item needs items that are not done. Absent: false"`
}

func (q Queueing) override(bad *svc.Problems, n *svc.NewRun) {
	set(bad, "wait", q.Wait, &n.Wait)
	set(bad, "priority", q.Priority, &n.Priority)
	if q.NotBefore.Set {
		n.NotBefore = orNull(q.NotBefore)
	}
	set(bad, "host_labels", q.HostLabels, &n.HostLabels)
	set(bad, "ignore_needs", q.IgnoreNeeds, &n.IgnoreNeeds)
}

// set copies a field that is present. A null is a problem.
func set[T any](bad *svc.Problems, field string, o Opt[T], to *T) {
	if v := given(bad, field, o); v != nil {
		*to = *v
	}
}

// Rerun is the body of POST /runs/{id}/rerun: the fields that differ from the other run.
type Rerun struct {
	TaskID        Opt[string]            `json:"task_id,omitzero"`
	Provider      Opt[string]            `json:"provider,omitzero" minLength:"1"`
	WorkspaceID   Opt[string]            `json:"workspace_id,omitzero" nullable:"true"`
	HostID        Opt[string]            `json:"host_id,omitzero" nullable:"true"`
	Prompt        Opt[string]            `json:"prompt,omitzero"`
	Args          Opt[[]string]          `json:"args,omitzero"`
	Model         Opt[string]            `json:"model,omitzero"`
	Cwd           Opt[string]            `json:"cwd,omitzero"`
	Env           Opt[map[string]string] `json:"env,omitzero"`
	RestartPolicy Opt[svc.RestartPolicy] `json:"restart_policy,omitzero" enum:"never,on_failure,always"`
	MaxRestarts   Opt[int]               `json:"max_restarts,omitzero" minimum:"0" maximum:"1000000"`
	Queueing
}

// Override copies the fields that are present; a nil body has none.
func (b *Rerun) Override(n *svc.NewRun) error {
	if b == nil {
		return nil
	}
	var bad svc.Problems
	set(&bad, "task_id", b.TaskID, &n.TaskID)
	set(&bad, "provider", b.Provider, &n.Provider)
	if b.WorkspaceID.Set {
		n.WorkspaceID = orNull(b.WorkspaceID)
	}
	if b.HostID.Set {
		n.HostID = orNull(b.HostID)
	}
	set(&bad, "prompt", b.Prompt, &n.Prompt)
	set(&bad, "args", b.Args, &n.Args)
	set(&bad, "model", b.Model, &n.Model)
	set(&bad, "cwd", b.Cwd, &n.Cwd)
	set(&bad, "env", b.Env, &n.Env)
	set(&bad, "restart_policy", b.RestartPolicy, &n.RestartPolicy)
	if v := given(&bad, "max_restarts", b.MaxRestarts); v != nil {
		n.MaxRestarts = v
	}
	b.override(&bad, n)
	return bad.Err()
}

// PatchRun is the body of PATCH /runs/{id}. Absent fields do not change.
type PatchRun struct {
	Priority  Opt[int]      `json:"priority,omitzero" minimum:"-2" maximum:"2"`
	Wait      Opt[bool]     `json:"wait,omitzero"`
	NotBefore Opt[svc.Time] `json:"not_before,omitzero" nullable:"true" doc:"Null: at once"`
}

// Patch converts the body to the patch type of package svc.
func (b PatchRun) Patch() (svc.RunPatch, error) {
	var bad svc.Problems
	p := svc.RunPatch{Priority: given(&bad, "priority", b.Priority), Wait: given(&bad, "wait", b.Wait)}
	if b.NotBefore.Set {
		at := orNull(b.NotBefore)
		p.NotBefore = &at
	}
	return p, bad.Err()
}

// StopRuns is the body of POST /runs/stop: exactly one field must be present.
type StopRuns struct {
	RunIDs    []string `json:"run_ids,omitempty" nullable:"false" maxItems:"500"`
	TaskID    string   `json:"task_id,omitempty" doc:"This item and everything below it"`
	ProjectID string   `json:"project_id,omitempty"`
	HostID    string   `json:"host_id,omitempty"`
}

// StoppedRuns is the response of POST /runs/stop.
type StoppedRuns struct {
	Stopped []string `json:"stopped" nullable:"false"`
	Skipped []string `json:"skipped" nullable:"false"`
}

// New converts the body to the request type of package svc.
func (b CreateRun) New() (svc.NewRun, error) {
	var bad svc.Problems
	n := svc.NewRun{
		TaskID:        b.TaskID,
		Provider:      b.Provider,
		WorkspaceID:   orNull(b.WorkspaceID),
		Continues:     orNull(b.Continues),
		Fresh:         orZero(&bad, "fresh", b.Fresh),
		HostID:        orNull(b.HostID),
		Prompt:        orZero(&bad, "prompt", b.Prompt),
		Args:          orZero(&bad, "args", b.Args),
		Model:         orZero(&bad, "model", b.Model),
		Cwd:           orZero(&bad, "cwd", b.Cwd),
		Env:           orZero(&bad, "env", b.Env),
		RestartPolicy: orZero(&bad, "restart_policy", b.RestartPolicy),
		MaxRestarts:   given(&bad, "max_restarts", b.MaxRestarts),
	}
	if b.Task != nil {
		task, err := b.Task.New()
		if err != nil {
			return n, err
		}
		n.Task = &task
	}
	b.override(&bad, &n)
	return n, bad.Err()
}

// SendKeys is the body of POST /runs/{id}/keys. The worker validates the keys: an element consists of letters and
// digits, or is exactly Enter or Ctrl+C.
type SendKeys struct {
	Keys []string `json:"keys" nullable:"false" minItems:"1" maxItems:"1000"`
}
