package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
)

// ProjectPath holds the id or slug of a project from a path.
type ProjectPath struct {
	ID string `path:"id" doc:"Id or slug"`
}

// record is a response with one record.
type record[T any] struct {
	Tagged
	Body T
}

// made is a response with a record that was just created.
type made[T any] struct {
	Tagged
	Location string `header:"Location" doc:"Where the record is"`
	Body     T
}

// list is a response with one page of records.
type list[T any] struct{ Body svc.List[T] }

// listed returns a response with a page. An empty page is [] and never null.
func listed[T any](l svc.List[T], err error) (*list[T], error) {
	if err != nil {
		return nil, err
	}
	if l.Items == nil {
		l.Items = []T{}
	}
	return &list[T]{Body: l}, nil
}

func project(p svc.Project, err error) (*record[svc.Project], error) {
	if err != nil {
		return nil, err
	}
	return &record[svc.Project]{Tagged: etag(p.Version), Body: p}, nil
}

func (s *Server) projectVersion(id string) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) {
		p, err := s.Engine.Project(ctx, id)
		return p.Version, err
	}
}

func (s *Server) projectRoutes() {
	tags := []string{"Projects"}
	register(s, huma.Operation{
		OperationID: "list-projects", Method: http.MethodGet, Path: "/projects", Tags: tags,
		Summary: "List projects, by name",
	}, func(ctx context.Context, in *struct{ Paging }) (*list[svc.Project], error) {
		return listed(s.Engine.Projects(ctx, in.page()))
	})

	register(s, huma.Operation{
		OperationID: "create-project", Method: http.MethodPost, Path: "/projects", Tags: tags,
		Summary: "Create a project", DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct {
		Retryable
		Body api.CreateProject
	}) (*made[svc.Project], error) {
		n, err := in.Body.New()
		if err != nil {
			return nil, err
		}
		p, err := s.Engine.CreateProject(ctx, n)
		if err != nil {
			return nil, err
		}
		return &made[svc.Project]{etag(p.Version), api.Prefix + "/projects/" + p.ID, p}, nil
	})

	register(s, huma.Operation{
		OperationID: "get-project", Method: http.MethodGet, Path: "/projects/{id}", Tags: tags,
		Summary: "Read a project",
	}, func(ctx context.Context, in *ProjectPath) (*record[svc.Project], error) {
		return project(s.Engine.Project(ctx, in.ID))
	})

	register(s, huma.Operation{
		OperationID: "update-project", Method: http.MethodPatch, Path: "/projects/{id}", Tags: tags,
		Summary: "Change a project; absent fields do not change",
	}, func(ctx context.Context, in *struct {
		ProjectPath
		Matching
		Body api.PatchProject
	}) (*record[svc.Project], error) {
		patch, err := in.Body.Patch()
		if err != nil {
			return nil, err
		}
		match, err := in.match(ctx, s.projectVersion(in.ID))
		if err != nil {
			return nil, err
		}
		return project(s.Engine.UpdateProject(ctx, in.ID, patch, match))
	})

	register(s, huma.Operation{
		OperationID: "archive-project", Method: http.MethodDelete, Path: "/projects/{id}", Tags: tags,
		Summary: "Archive a project; it stays readable",
	}, func(ctx context.Context, in *struct {
		ProjectPath
		Matching
	}) (*record[svc.Project], error) {
		match, err := in.match(ctx, s.projectVersion(in.ID))
		if err != nil {
			return nil, err
		}
		return project(s.Engine.ArchiveProject(ctx, in.ID, match))
	})
}
