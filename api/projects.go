package api

import "svc"

// CreateProject is the body of POST /projects.
type CreateProject struct {
	Name        string      `json:"name" minLength:"1" maxLength:"200" example:"Checkout"`
	Slug        Opt[string] `json:"slug,omitzero" pattern:"^[a-z0-9-]{1,64}$" patternDescription:"1 to 64 of a-z, 0-9 and -" doc:"Absent: generated from the name"`
	Description Opt[string] `json:"description,omitzero"`
	Cwd         Opt[string] `json:"cwd,omitzero" doc:"Default working directory of runs; empty: the worker decides"`
	Provider    Opt[string] `json:"provider,omitzero" doc:"Provider of runs that do not set one; empty: [runs] provider"`
	Model       Opt[string] `json:"model,omitzero" doc:"Model of runs that do not set one, for that provider's tool; empty: [runs] model"`
	MaxRuns     Opt[int]    `json:"max_runs,omitzero" nullable:"true" minimum:"0" maximum:"100000" doc:"How many runs may be active at once; null or absent: no limit"`
	DoneWhen    Opt[string] `json:"done_when,omitzero" enum:"completed,landed" doc:"What makes an item done automatically; absent: completed"`
	Source
}

// Source holds the fields of a project's body about the working copies of its runs.
type Source struct {
	Repo         Opt[string] `json:"repo,omitzero" maxLength:"2048" doc:"Repository that runs get a working copy of: URL, or absolute path on the host; empty: none"`
	Base         Opt[string] `json:"base,omitzero" doc:"Branch that working copies begin at; empty: the repository's default"`
	Isolation    Opt[string] `json:"isolation,omitzero" enum:"none,clone,worktree" doc:"What a run's working copy is. Absent: clone with a new repo, none without one"`
	Setup        Opt[string] `json:"setup,omitzero" maxLength:"16384" doc:"Shell script that is run in each new working copy before the agent starts"`
	SetupTimeout Opt[string] `json:"setup_timeout,omitzero" doc:"Time limit of the script, such as 10m"`
	KeepDays     Opt[int]    `json:"keep_days,omitzero" minimum:"1" maximum:"3650" doc:"Days after which a landed or discarded working copy is removed"`
}

// New converts the body to the request type of package svc.
func (b CreateProject) New() (svc.NewProject, error) {
	var bad svc.Problems
	n := svc.NewProject{
		Name:        b.Name,
		Slug:        orZero(&bad, "slug", b.Slug),
		Description: orZero(&bad, "description", b.Description),
		Cwd:         orZero(&bad, "cwd", b.Cwd),
		Provider:    orZero(&bad, "provider", b.Provider),
		Model:       orZero(&bad, "model", b.Model),
		MaxRuns:     orNull(b.MaxRuns),
		DoneWhen:    svc.DoneWhen(orZero(&bad, "done_when", b.DoneWhen)),
		Source:      b.Source.patch(&bad),
	}
	return n, bad.Err()
}

// PatchProject is the body of PATCH /projects/{id}. Absent fields do not change.
type PatchProject struct {
	Name        Opt[string] `json:"name,omitzero" minLength:"1" maxLength:"200"`
	Slug        Opt[string] `json:"slug,omitzero" pattern:"^[a-z0-9-]{1,64}$" patternDescription:"1 to 64 of a-z, 0-9 and -"`
	Description Opt[string] `json:"description,omitzero"`
	Cwd         Opt[string] `json:"cwd,omitzero"`
	Provider    Opt[string] `json:"provider,omitzero"`
	Model       Opt[string] `json:"model,omitzero"`
	MaxRuns     Opt[int]    `json:"max_runs,omitzero" nullable:"true" minimum:"0" maximum:"100000" doc:"Null: no limit"`
	DoneWhen    Opt[string] `json:"done_when,omitzero" enum:"completed,landed"`
	Source
}

// Patch converts the body to the patch type of package svc.
func (b PatchProject) Patch() (svc.ProjectPatch, error) {
	var bad svc.Problems
	p := svc.ProjectPatch{
		Name:        given(&bad, "name", b.Name),
		Slug:        given(&bad, "slug", b.Slug),
		Description: given(&bad, "description", b.Description),
		Cwd:         given(&bad, "cwd", b.Cwd),
		Provider:    given(&bad, "provider", b.Provider),
		Model:       given(&bad, "model", b.Model),
		DoneWhen:    (*svc.DoneWhen)(given(&bad, "done_when", b.DoneWhen)),
		Source:      b.Source.patch(&bad),
	}
	if b.MaxRuns.Set {
		p.MaxRuns = &svc.MaxRunsChange{Max: orNull(b.MaxRuns)}
	}
	return p, bad.Err()
}

func (s Source) patch(bad *svc.Problems) svc.SourcePatch {
	return svc.SourcePatch{
		Repo: given(bad, "repo", s.Repo), Base: given(bad, "base", s.Base), Isolation: (*svc.Isolation)(given(bad, "isolation", s.Isolation)),
		Setup: given(bad, "setup", s.Setup), SetupTimeout: given(bad, "setup_timeout", s.SetupTimeout), KeepDays: given(bad, "keep_days", s.KeepDays),
	}
}
