package api

import "svc"

// CreateRun is the body of POST /runs.
type CreateRun struct {
	TaskID        string                 `json:"task_id" doc:"A work item of kind task or subtask"`
	Provider      string                 `json:"provider" minLength:"1"`
	HostID        Opt[string]            `json:"host_id,omitzero" nullable:"true" doc:"Pins the run to this host; null or absent: any"`
	Prompt        Opt[string]            `json:"prompt,omitzero"`
	Args          Opt[[]string]          `json:"args,omitzero" doc:"Arguments for the provider's tool"`
	Model         Opt[string]            `json:"model,omitzero"`
	Cwd           Opt[string]            `json:"cwd,omitzero" doc:"Absent: the project's, then the worker's"`
	Env           Opt[map[string]string] `json:"env,omitzero" doc:"Extra variables of the session"`
	RestartPolicy Opt[svc.RestartPolicy] `json:"restart_policy,omitzero" enum:"never,on_failure,always" doc:"Absent: never"`
	MaxRestarts   Opt[int]               `json:"max_restarts,omitzero" minimum:"0" maximum:"1000000" doc:"Absent: 3"`
}

// New is the noun's form.
func (b CreateRun) New() (svc.NewRun, error) {
	var bad svc.Problems
	n := svc.NewRun{
		TaskID:        b.TaskID,
		Provider:      b.Provider,
		HostID:        orNull(b.HostID),
		Prompt:        orZero(&bad, "prompt", b.Prompt),
		Args:          orZero(&bad, "args", b.Args),
		Model:         orZero(&bad, "model", b.Model),
		Cwd:           orZero(&bad, "cwd", b.Cwd),
		Env:           orZero(&bad, "env", b.Env),
		RestartPolicy: orZero(&bad, "restart_policy", b.RestartPolicy),
		MaxRestarts:   given(&bad, "max_restarts", b.MaxRestarts),
	}
	return n, bad.Err()
}

// SendKeys is the body of POST /runs/{id}/keys. The worker judges the keys: an
// element is a run of letters and digits, or exactly Enter, or exactly Ctrl+C.
type SendKeys struct {
	Keys []string `json:"keys" nullable:"false" minItems:"1" maxItems:"1000"`
}
