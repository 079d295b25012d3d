package api

import "svc"

// CreateProject is the body of POST /projects.
type CreateProject struct {
	Name        string      `json:"name" minLength:"1" maxLength:"200"`
	Slug        Opt[string] `json:"slug,omitzero" pattern:"^[a-z0-9-]{1,64}$" patternDescription:"1 to 64 of a-z, 0-9 and -" doc:"Absent: generated from the name"`
	Description Opt[string] `json:"description,omitzero"`
	Cwd         Opt[string] `json:"cwd,omitzero" doc:"Default working directory of runs; empty: the worker decides"`
}

// New is the noun's form.
func (b CreateProject) New() (svc.NewProject, error) {
	var bad svc.Problems
	n := svc.NewProject{
		Name:        b.Name,
		Slug:        orZero(&bad, "slug", b.Slug),
		Description: orZero(&bad, "description", b.Description),
		Cwd:         orZero(&bad, "cwd", b.Cwd),
	}
	return n, bad.Err()
}

// PatchProject is the body of PATCH /projects/{id}. Absent fields stay.
type PatchProject struct {
	Name        Opt[string] `json:"name,omitzero" minLength:"1" maxLength:"200"`
	Slug        Opt[string] `json:"slug,omitzero" pattern:"^[a-z0-9-]{1,64}$" patternDescription:"1 to 64 of a-z, 0-9 and -"`
	Description Opt[string] `json:"description,omitzero"`
	Cwd         Opt[string] `json:"cwd,omitzero"`
}

// Patch is the noun's form.
func (b PatchProject) Patch() (svc.ProjectPatch, error) {
	var bad svc.Problems
	p := svc.ProjectPatch{
		Name:        given(&bad, "name", b.Name),
		Slug:        given(&bad, "slug", b.Slug),
		Description: given(&bad, "description", b.Description),
		Cwd:         given(&bad, "cwd", b.Cwd),
	}
	return p, bad.Err()
}
