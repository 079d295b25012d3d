package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
	"svc/engine"
)

// RunPath holds the id of a run from a path.
type RunPath struct {
	ID string `path:"id" doc:"Id of the run"`
}

// RunQuery filters a list of runs.
type RunQuery struct {
	ProjectID string   `query:"project_id" doc:"Runs of this project"`
	TaskID    string   `query:"task_id" doc:"Runs of this work item"`
	HostID    string   `query:"host_id" doc:"Runs that were placed on this host"`
	Status    []string `query:"status,explode" enum:"pending,spawning,running,exited,failed,stopped" doc:"Repeatable"`

	NeedsInput string `query:"needs_input" enum:"true,false" doc:"Runs that wait for a person, or that do not"`
	Provider   string `query:"provider" doc:"Runs of this provider"`
	CreatedBy  string `query:"created_by" doc:"Runs that were created with the token of this name"`
}

func (f RunQuery) filter() (svc.RunFilter, error) {
	out := svc.RunFilter{ProjectID: f.ProjectID, TaskID: f.TaskID, HostID: f.HostID, Statuses: manyOf[svc.RunStatus](f.Status),
		Provider: f.Provider, CreatedBy: f.CreatedBy}
	if f.NeedsInput != "" {
		wanted := f.NeedsInput == "true"
		out.NeedsInput = &wanted
	}
	return out, checkIDs("project_id", f.ProjectID, "task_id", f.TaskID, "host_id", f.HostID)
}

// madeRun returns the response for a run that was created.
func madeRun(r svc.Run, err error) (*made[svc.Run], error) {
	if err != nil {
		return nil, err
	}
	return &made[svc.Run]{etag(r.Version), api.Prefix + "/runs/" + r.ID, r}, nil
}

func run(r svc.Run, err error) (*record[svc.Run], error) {
	if err != nil {
		return nil, err
	}
	return &record[svc.Run]{Tagged: etag(r.Version), Body: r}, nil
}

func (s *Server) runRoutes() {
	tags := []string{"Runs"}
	register(s, huma.Operation{
		OperationID: "list-runs", Method: http.MethodGet, Path: "/runs", Tags: tags,
		Summary: "List runs, newest first; filters combine",
		Description: "The items are summaries: the beginning of the prompt, and neither args nor env; GET /runs/{id} has all fields. " +
			"order=queue requires status=pending and lists them in the order in which they will be placed; those that something other than hosts holds back are last.",
	}, func(ctx context.Context, in *struct {
		RunQuery
		Order string `query:"order" enum:"newest,queue" default:"newest"`
		Paging
	}) (*list[svc.RunSummary], error) {
		f, err := in.filter()
		if err != nil {
			return nil, err
		}
		if in.Order != "queue" {
			return listed(s.Engine.Runs(ctx, f, in.page()))
		}
		if len(f.Statuses) != 1 || f.Statuses[0] != svc.RunPending {
			return nil, svc.Invalid("order", "queue is allowed only with status=pending")
		}
		return listed(s.Engine.QueuedRuns(ctx, f, in.page()))
	})

	register(s, huma.Operation{
		OperationID: "count-runs", Method: http.MethodGet, Path: "/runs/counts", Tags: tags,
		Summary: "Count runs by status; the filters are those of the list",
	}, func(ctx context.Context, in *RunQuery) (*struct{ Body svc.RunCounts }, error) {
		f, err := in.filter()
		if err != nil {
			return nil, err
		}
		counts, err := s.Engine.CountRuns(ctx, f)
		return &struct{ Body svc.RunCounts }{counts}, err
	})

	register(s, huma.Operation{
		OperationID: "create-run", Method: http.MethodPost, Path: "/runs", Tags: tags,
		Summary:       "Create a run",
		Description:   "The run is pending and is placed on a host later. It is never refused because no host is available.",
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *struct {
		Retryable
		Body api.CreateRun
	}) (*made[svc.Run], error) {
		n, err := in.Body.New()
		if err != nil {
			return nil, err
		}
		return madeRun(s.Engine.CreateRun(ctx, n))
	})

	register(s, huma.Operation{
		OperationID: "get-run", Method: http.MethodGet, Path: "/runs/{id}", Tags: tags,
		Summary: "Read a run, with the reasons why it waits and the evidence for its states",
	}, func(ctx context.Context, in *RunPath) (*record[svc.RunDetail], error) {
		d, err := s.Engine.RunDetail(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return &record[svc.RunDetail]{Tagged: etag(d.Version), Body: d}, nil
	})

	register(s, huma.Operation{
		OperationID: "update-run", Method: http.MethodPatch, Path: "/runs/{id}", Tags: tags,
		Summary: "Change the conditions under which a pending run waits; absent fields do not change",
	}, func(ctx context.Context, in *struct {
		RunPath
		Matching
		Body api.PatchRun
	}) (*record[svc.Run], error) {
		patch, err := in.Body.Patch()
		if err != nil {
			return nil, err
		}
		match, err := in.match(ctx, func(ctx context.Context) (int64, error) {
			r, err := s.Engine.Run(ctx, in.ID)
			return r.Version, err
		})
		if err != nil {
			return nil, err
		}
		return run(s.Engine.UpdateRun(ctx, in.ID, patch, match))
	})

	register(s, huma.Operation{
		OperationID: "rerun", Method: http.MethodPost, Path: "/runs/{id}/rerun", Tags: tags,
		Summary:       "Create a run with the fields of another one",
		Description:   "The body, which may be absent, overrides fields as in POST /runs.",
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *struct {
		RunPath
		Retryable
		Body *api.Rerun
	}) (*made[svc.Run], error) {
		return madeRun(s.Engine.Rerun(ctx, in.ID, func(n *svc.NewRun) error { return in.Body.Override(n) }))
	})

	register(s, huma.Operation{
		OperationID: "stop-runs", Method: http.MethodPost, Path: "/runs/stop", Tags: tags,
		Summary:       "Stop the active runs of a list, at and below a work item, in a project, or on a host",
		Description:   "Exactly one of the fields must be present.",
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *struct {
		Retryable
		Body api.StopRuns
	}) (*struct{ Body engine.Stopped }, error) {
		scope := engine.StopScope(in.Body)
		stopped, err := s.Engine.StopRuns(ctx, scope)
		if err != nil {
			return nil, err
		}
		return &struct{ Body engine.Stopped }{stopped}, nil
	})

	register(s, huma.Operation{
		OperationID: "stop-run", Method: http.MethodPost, Path: "/runs/{id}/stop", Tags: tags,
		Summary:       "Stop a run",
		Description:   "The run is stopped at once. Its session is ended after that; session_ended_at is the time of that end.",
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *struct {
		RunPath
		Retryable
	}) (*record[svc.Run], error) {
		return run(s.Engine.StopRun(ctx, in.ID))
	})

	register(s, huma.Operation{
		OperationID: "send-keys", Method: http.MethodPost, Path: "/runs/{id}/keys", Tags: tags,
		Summary: "Type into a run's session",
		Description: "Each element is a run of letters and digits, or exactly Enter, or exactly Ctrl+C. A worker with the capability keys2 also takes " +
			"Escape, Up, Down, Left, Right, Tab, Space, Backspace, Ctrl+ and a letter, and text: followed by literal text; with any other worker these are a 503. The worker validates the keys.",
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		RunPath
		Retryable
		Body api.SendKeys
	}) (*struct{}, error) {
		return nil, s.Engine.SendKeys(ctx, in.ID, in.Body.Keys)
	})
}
