package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
)

// WorkItemPath holds the id or short name of a work item from a path.
type WorkItemPath struct {
	ID string `path:"id" doc:"Id of the work item, or its short name such as CHECKOUT-12"`
}

// WorkItemQuery filters a list of work items.
type WorkItemQuery struct {
	ProjectID string   `query:"project_id" doc:"Items of this project"`
	ParentID  string   `query:"parent_id" doc:"Children of this item; null: the roots"`
	Under     string   `query:"under" doc:"Everything below this item, without the item itself"`
	Status    []string `query:"status,explode" enum:"todo,doing,done,cancelled" doc:"Repeatable"`
	Kind      []string `query:"kind,explode" enum:"milestone,epic,task,subtask" doc:"Repeatable"`
}

func (f WorkItemQuery) filter() (svc.WorkItemFilter, error) {
	out := svc.WorkItemFilter{
		ProjectID: f.ProjectID,
		Under:     f.Under,
		Statuses:  manyOf[svc.ItemStatus](f.Status),
		Kinds:     manyOf[svc.Kind](f.Kind),
	}
	parent := f.ParentID
	switch parent {
	case "":
	case "null":
		out.Parent, parent = &svc.ParentChange{}, ""
	default:
		out.Parent = &svc.ParentChange{ID: &parent}
	}
	return out, checkIDs("project_id", f.ProjectID, "parent_id", parent, "under", f.Under)
}

func workItem(w svc.WorkItem, err error) (*record[svc.WorkItem], error) {
	if err != nil {
		return nil, err
	}
	return &record[svc.WorkItem]{Tagged: etag(w.Version), Body: w}, nil
}

func (s *Server) workItemVersion(id string) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) {
		w, err := s.Engine.WorkItem(ctx, id)
		return w.Version, err
	}
}

func (s *Server) workItemRoutes() {
	tags := []string{"Work items"}
	register(s, huma.Operation{
		OperationID: "list-work-items", Method: http.MethodGet, Path: "/work-items", Tags: tags,
		Summary: "List work items, by position; filters combine",
	}, func(ctx context.Context, in *struct {
		WorkItemQuery
		Paging
	}) (*list[svc.WorkItem], error) {
		f, err := in.filter()
		if err != nil {
			return nil, err
		}
		return listed(s.Engine.WorkItems(ctx, f, in.page()))
	})

	register(s, huma.Operation{
		OperationID: "create-work-item", Method: http.MethodPost, Path: "/work-items", Tags: tags,
		Summary: "Create a work item", DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct {
		Retryable
		Body api.CreateWorkItem
	}) (*made[svc.WorkItem], error) {
		n, err := in.Body.New()
		if err != nil {
			return nil, err
		}
		w, err := s.Engine.CreateWorkItem(ctx, n)
		if err != nil {
			return nil, err
		}
		return &made[svc.WorkItem]{etag(w.Version), api.Prefix + "/work-items/" + w.ID, w}, nil
	})

	register(s, huma.Operation{
		OperationID: "get-work-item", Method: http.MethodGet, Path: "/work-items/{id}", Tags: tags,
		Summary: "Read a work item",
	}, func(ctx context.Context, in *WorkItemPath) (*record[svc.WorkItem], error) {
		return workItem(s.Engine.WorkItem(ctx, in.ID))
	})

	register(s, huma.Operation{
		OperationID: "update-work-item", Method: http.MethodPatch, Path: "/work-items/{id}", Tags: tags,
		Summary:     "Change, move or mark a work item; absent fields do not change",
		Description: "parent_id moves the item with everything below it. before and after place it directly beside another item. confidence is allowed with status done.",
	}, func(ctx context.Context, in *struct {
		WorkItemPath
		Matching
		Body api.PatchWorkItem
	}) (*record[svc.WorkItem], error) {
		patch, err := in.Body.Patch()
		if err != nil {
			return nil, err
		}
		match, err := in.match(ctx, s.workItemVersion(in.ID))
		if err != nil {
			return nil, err
		}
		return workItem(s.Engine.UpdateWorkItem(ctx, in.ID, patch, match))
	})

	register(s, huma.Operation{
		OperationID: "delete-work-item", Method: http.MethodDelete, Path: "/work-items/{id}", Tags: tags,
		Summary: "Delete a work item", DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		WorkItemPath
		Matching
		Recursive bool `query:"recursive" doc:"Also delete everything below it; otherwise children are a 409 has_children"`
		Detach    bool `query:"detach" doc:"Remove the needs that other items have of it; otherwise they are a 409 needed"`
	}) (*struct{}, error) {
		match, err := in.match(ctx, s.workItemVersion(in.ID))
		if err != nil {
			return nil, err
		}
		return nil, s.Engine.DeleteWorkItem(ctx, in.ID, in.Recursive, in.Detach, match)
	})

	register(s, huma.Operation{
		OperationID: "add-need", Method: http.MethodPut, Path: "/work-items/{id}/needs/{other}", Tags: tags,
		Summary:       "Make a work item need another one",
		Description:   "Runs of the item and of everything below it wait until the other one is done. Both must be in one project, neither above nor below the other, and needs must not form a circle.",
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *NeedPath) (*struct{}, error) {
		return nil, s.Engine.AddNeed(ctx, in.ID, in.Other)
	})

	register(s, huma.Operation{
		OperationID: "remove-need", Method: http.MethodDelete, Path: "/work-items/{id}/needs/{other}", Tags: tags,
		Summary: "Remove a need of a work item", DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *NeedPath) (*struct{}, error) {
		return nil, s.Engine.RemoveNeed(ctx, in.ID, in.Other)
	})
}

// NeedPath holds the two work items of a need from a path.
type NeedPath struct {
	WorkItemPath
	Other string `path:"other" doc:"Id or short name of the work item that is needed"`
}
