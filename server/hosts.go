package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
)

// HostPath holds the id or name of a host from a path.
type HostPath struct {
	ID string `path:"id" doc:"Id or name"`
}

func host(h svc.Host, err error) (*record[svc.Host], error) {
	if err != nil {
		return nil, err
	}
	return &record[svc.Host]{Tagged: etag(h.Version), Body: h}, nil
}

// hostID returns the id of the host that a path names by id or by name.
func (s *Server) hostID(ctx context.Context, idOrName string) (string, error) {
	if svc.IsID(idOrName) {
		return idOrName, nil
	}
	h, err := s.Engine.Host(ctx, idOrName)
	return h.ID, err
}

func (s *Server) hostVersion(id string) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) {
		h, err := s.Engine.Host(ctx, id)
		return h.Version, err
	}
}

func (s *Server) hostRoutes() {
	tags := []string{"Hosts"}
	register(s, huma.Operation{
		OperationID: "list-hosts", Method: http.MethodGet, Path: "/hosts", Tags: tags,
		Summary: "List hosts, by name",
	}, func(ctx context.Context, in *struct{ Paging }) (*list[svc.Host], error) {
		return listed(s.Engine.Hosts(ctx, in.page()))
	})

	register(s, needs(svc.RoleAdmin, huma.Operation{
		OperationID: "create-host", Method: http.MethodPost, Path: "/hosts", Tags: tags,
		Summary: "Provision a host", DefaultStatus: http.StatusCreated,
	}), func(ctx context.Context, in *struct {
		Retryable
		Body api.CreateHost
	}) (*made[svc.Host], error) {
		n, err := in.Body.New()
		if err != nil {
			return nil, err
		}
		h, err := s.Engine.CreateHost(ctx, n)
		if err != nil {
			return nil, err
		}
		return &made[svc.Host]{etag(h.Version), api.Prefix + "/hosts/" + h.ID, h}, nil
	})

	register(s, huma.Operation{
		OperationID: "get-host", Method: http.MethodGet, Path: "/hosts/{id}", Tags: tags,
		Summary: "Read a host",
	}, func(ctx context.Context, in *HostPath) (*record[svc.Host], error) {
		return host(s.Engine.Host(ctx, in.ID))
	})

	register(s, huma.Operation{
		OperationID: "update-host", Method: http.MethodPatch, Path: "/hosts/{id}", Tags: tags,
		Summary: "Change a host; absent fields do not change",
	}, func(ctx context.Context, in *struct {
		HostPath
		Matching
		Body api.PatchHost
	}) (*record[svc.Host], error) {
		patch, err := in.Body.Patch()
		if err != nil {
			return nil, err
		}
		id, match, err := s.hostMatch(ctx, in.ID, in.Matching)
		if err != nil {
			return nil, err
		}
		return host(s.Engine.UpdateHost(ctx, id, patch, match))
	})

	register(s, needs(svc.RoleAdmin, huma.Operation{
		OperationID: "delete-host", Method: http.MethodDelete, Path: "/hosts/{id}", Tags: tags,
		Summary: "Delete a host that has no active runs; with force also one that has", DefaultStatus: http.StatusNoContent,
	}), func(ctx context.Context, in *struct {
		HostPath
		Matching
		Force bool `query:"force" doc:"First end its runs: active runs fail with host_lost, then their restart policy applies; sessions of runs that are over count as ended. Without it open sessions are a 409 active_runs"`
	}) (*struct{}, error) {
		id, match, err := s.hostMatch(ctx, in.ID, in.Matching)
		if err != nil {
			return nil, err
		}
		if in.Force {
			return nil, s.Engine.ForceDeleteHost(ctx, id, match)
		}
		return nil, s.Engine.DeleteHost(ctx, id, match)
	})
	s.hostActions(tags)
}

// hostMatch returns the id of a host and the version that a change of it expects.
func (s *Server) hostMatch(ctx context.Context, idOrName string, in Matching) (string, *int64, error) {
	id, err := s.hostID(ctx, idOrName)
	if err != nil {
		return "", nil, err
	}
	match, err := in.match(ctx, s.hostVersion(id))
	return id, match, err
}

// hostInput is a request with a host in its path and no other input.
type hostInput struct {
	HostPath
	Retryable
}

func (s *Server) hostActions(tags []string) {
	for _, action := range []struct {
		name, summary string
		do            func(context.Context, string) (svc.Host, error)
	}{
		{"enable", "Give a host new runs again", s.Engine.EnableHost},
		{"disable", "Give a host no new runs; what runs on it goes on", s.Engine.DisableHost},
		{"clear-suspect", "Accept the new identity of a suspect host", s.Engine.ClearSuspect},
	} {
		register(s, huma.Operation{
			OperationID: action.name + "-host", Method: http.MethodPost, Path: "/hosts/{id}/" + action.name, Tags: tags,
			Summary: action.summary,
		}, func(ctx context.Context, in *hostInput) (*record[svc.Host], error) {
			id, err := s.hostID(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			return host(action.do(ctx, id))
		})
	}

	for _, op := range []struct {
		name, path, summary, doc string
		token                    func(context.Context, string) (string, error)
	}{
		{"host-token", "token", "Get the token that lets a worker join as this host alone",
			"The token is derived, so every call gives the same one until it is rotated.", s.Engine.HostToken},
		{"rotate-host-token", "rotate-token", "Make a new token for this host",
			"The former token works for 10 more minutes, then never again.", s.Engine.RotateHostToken},
	} {
		register(s, needs(svc.RoleAdmin, huma.Operation{
			OperationID: op.name, Method: http.MethodPost, Path: "/hosts/{id}/" + op.path, Tags: tags,
			Summary: op.summary, Description: op.doc,
		}), func(ctx context.Context, in *hostInput) (*struct{ Body api.Token }, error) {
			id, err := s.hostID(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			token, err := op.token(ctx, id)
			if err != nil {
				return nil, err
			}
			return &struct{ Body api.Token }{api.Token{Token: token}}, nil
		})
	}
}
