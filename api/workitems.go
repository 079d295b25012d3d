package api

import "svc"

// CreateWorkItem is the body of POST /work-items.
type CreateWorkItem struct {
	ProjectID    string              `json:"project_id" example:"0190f3c2-7a1b-7000-8000-000000000002" doc:"UUID"`
	Kind         svc.Kind            `json:"kind" enum:"milestone,epic,task,subtask" example:"task"`
	Title        string              `json:"title" minLength:"1" maxLength:"500" example:"Pay with a card"`
	ParentID     Opt[string]         `json:"parent_id,omitzero" nullable:"true" doc:"An item of the same project; null or absent: the project's root"`
	Description  Opt[string]         `json:"description,omitzero" doc:"Markdown, up to 64 KiB"`
	Status       Opt[svc.ItemStatus] `json:"status,omitzero" enum:"todo,doing,done,cancelled" doc:"Absent: todo"`
	AutoMarkDone Opt[bool]           `json:"auto_mark_done,omitzero" doc:"Absent: the configured default"`
}

// New converts the body to the request type of package svc.
func (b CreateWorkItem) New() (svc.NewWorkItem, error) {
	var bad svc.Problems
	n := svc.NewWorkItem{
		ProjectID:    b.ProjectID,
		Kind:         b.Kind,
		Title:        b.Title,
		ParentID:     orNull(b.ParentID),
		Description:  orZero(&bad, "description", b.Description),
		Status:       orZero(&bad, "status", b.Status),
		AutoMarkDone: given(&bad, "auto_mark_done", b.AutoMarkDone),
	}
	return n, bad.Err()
}

// PatchWorkItem is the body of PATCH /work-items/{id}. Absent fields do not change.
type PatchWorkItem struct {
	Title        Opt[string]         `json:"title,omitzero" minLength:"1" maxLength:"500"`
	Description  Opt[string]         `json:"description,omitzero" doc:"Markdown, up to 64 KiB"`
	Kind         Opt[svc.Kind]       `json:"kind,omitzero" enum:"milestone,epic,task,subtask"`
	Status       Opt[svc.ItemStatus] `json:"status,omitzero" enum:"todo,doing,done,cancelled"`
	Confidence   Opt[svc.Confidence] `json:"confidence,omitzero" enum:"certain,likely,unsure" doc:"Only with status done; absent: certain"`
	AutoMarkDone Opt[bool]           `json:"auto_mark_done,omitzero"`
	ParentID     Opt[string]         `json:"parent_id,omitzero" nullable:"true" doc:"Moves the subtree under this item; null: to the project's root"`
	Before       Opt[string]         `json:"before,omitzero" doc:"Place it directly before this item"`
	After        Opt[string]         `json:"after,omitzero" doc:"Place it directly after this item"`
}

// Patch converts the body to the patch type of package svc.
func (b PatchWorkItem) Patch() (svc.WorkItemPatch, error) {
	var bad svc.Problems
	p := svc.WorkItemPatch{
		Title:        given(&bad, "title", b.Title),
		Description:  given(&bad, "description", b.Description),
		Kind:         given(&bad, "kind", b.Kind),
		Status:       given(&bad, "status", b.Status),
		Confidence:   given(&bad, "confidence", b.Confidence),
		AutoMarkDone: given(&bad, "auto_mark_done", b.AutoMarkDone),
		Before:       given(&bad, "before", b.Before),
		After:        given(&bad, "after", b.After),
	}
	if b.ParentID.Set {
		p.Parent = &svc.ParentChange{ID: orNull(b.ParentID)}
	}
	return p, bad.Err()
}
