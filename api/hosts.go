package api

import "svc"

// CreateHost is the body of POST /hosts.
type CreateHost struct {
	Name    string                 `json:"name" minLength:"1" maxLength:"200" example:"build-1" doc:"What the worker registers as"`
	Labels  Opt[map[string]string] `json:"labels,omitzero"`
	MaxRuns Opt[int]               `json:"max_runs,omitzero" nullable:"true" minimum:"0" maximum:"100000" doc:"Null or absent: no limit"`
}

// New converts the body to the request type of package svc.
func (b CreateHost) New() (svc.NewHost, error) {
	var bad svc.Problems
	n := svc.NewHost{Name: b.Name, Labels: orZero(&bad, "labels", b.Labels), MaxRuns: orNull(b.MaxRuns)}
	return n, bad.Err()
}

// PatchHost is the body of PATCH /hosts/{id}. Absent fields do not change.
type PatchHost struct {
	Name    Opt[string]            `json:"name,omitzero" minLength:"1" maxLength:"200"`
	Labels  Opt[map[string]string] `json:"labels,omitzero" doc:"Replaces all labels"`
	MaxRuns Opt[int]               `json:"max_runs,omitzero" nullable:"true" minimum:"0" maximum:"100000" doc:"Null: no limit"`
}

// Patch converts the body to the patch type of package svc.
func (b PatchHost) Patch() (svc.HostPatch, error) {
	var bad svc.Problems
	p := svc.HostPatch{Name: given(&bad, "name", b.Name), Labels: given(&bad, "labels", b.Labels)}
	if b.MaxRuns.Set {
		p.MaxRuns = &svc.MaxRunsChange{Max: orNull(b.MaxRuns)}
	}
	return p, bad.Err()
}
