package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
)

// RunPath names a run in a path.
type RunPath struct {
	ID string `path:"id" doc:"Id of the run"`
}

// RunQuery filters a list of runs.
type RunQuery struct {
	ProjectID string   `query:"project_id" doc:"Runs of this project"`
	TaskID    string   `query:"task_id" doc:"Runs of this work item"`
	HostID    string   `query:"host_id" doc:"Runs that this host was given"`
	Status    []string `query:"status,explode" enum:"pending,spawning,running,exited,failed,stopped" doc:"Repeatable"`
}

func (f RunQuery) filter() (svc.RunFilter, error) {
	out := svc.RunFilter{ProjectID: f.ProjectID, TaskID: f.TaskID, HostID: f.HostID, Statuses: manyOf[svc.RunStatus](f.Status)}
	return out, checkIDs("project_id", f.ProjectID, "task_id", f.TaskID, "host_id", f.HostID)
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
	}, func(ctx context.Context, in *struct {
		RunQuery
		Paging
	}) (*list[svc.Run], error) {
		f, err := in.filter()
		if err != nil {
			return nil, err
		}
		return listed(s.Engine.Runs(ctx, f, in.page()))
	})

	register(s, huma.Operation{
		OperationID: "create-run", Method: http.MethodPost, Path: "/runs", Tags: tags,
		Summary:       "Admit a run",
		Description:   "The run is pending: a host is found for it later. It is never refused for want of a host.",
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *struct {
		Retryable
		Body api.CreateRun
	}) (*made[svc.Run], error) {
		n, err := in.Body.New()
		if err != nil {
			return nil, err
		}
		r, err := s.Engine.CreateRun(ctx, n)
		if err != nil {
			return nil, err
		}
		return &made[svc.Run]{etag(r.Version), api.Prefix + "/runs/" + r.ID, r}, nil
	})

	register(s, huma.Operation{
		OperationID: "get-run", Method: http.MethodGet, Path: "/runs/{id}", Tags: tags,
		Summary: "Read a run, with why it waits and what proves its states",
	}, func(ctx context.Context, in *RunPath) (*record[svc.RunDetail], error) {
		d, err := s.Engine.RunDetail(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return &record[svc.RunDetail]{Tagged: etag(d.Version), Body: d}, nil
	})

	register(s, huma.Operation{
		OperationID: "stop-run", Method: http.MethodPost, Path: "/runs/{id}/stop", Tags: tags,
		Summary:       "Stop a run",
		Description:   "The run is stopped at once. Its session is ended after that; session_ended_at tells when it was.",
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *struct {
		RunPath
		Retryable
	}) (*record[svc.Run], error) {
		return run(s.Engine.StopRun(ctx, in.ID))
	})

	register(s, huma.Operation{
		OperationID: "send-keys", Method: http.MethodPost, Path: "/runs/{id}/keys", Tags: tags,
		Summary:       "Type into a run's session",
		Description:   "Each element is a run of letters and digits, or exactly Enter, or exactly Ctrl+C. The worker judges them.",
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		RunPath
		Retryable
		Body api.SendKeys
	}) (*struct{}, error) {
		return nil, s.Engine.SendKeys(ctx, in.ID, in.Body.Keys)
	})
}
