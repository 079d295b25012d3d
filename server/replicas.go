package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"svc"
)

func (s *Server) replicaRoutes() {
	tags := []string{"Replicas"}
	register(s, huma.Operation{
		OperationID: "list-replicas", Method: http.MethodGet, Path: "/replicas", Tags: tags,
		Summary:     "List the orchestrator processes, newest first",
		Description: "Those that are gone stay in the list for a day.",
	}, func(ctx context.Context, in *struct{ Paging }) (*list[svc.Replica], error) {
		return listed(s.Engine.Replicas(ctx, in.page()))
	})
	register(s, needs(svc.RoleAdmin, huma.Operation{
		OperationID: "drain-replica", Method: http.MethodPost, Path: "/replicas/{id}/drain", Tags: tags,
		Summary: "Make an orchestrator hand its work over and exit",
		Description: "It makes its workers connect again, ends streams and sockets, answers requests meanwhile, and then exits with 0. It cannot be undone. " +
			"409 when it is gone already.",
		DefaultStatus: http.StatusAccepted,
	}), func(ctx context.Context, in *struct {
		ID string `path:"id" doc:"Id of the replica"`
		Retryable
	}) (*struct{ Body svc.Replica }, error) {
		r, err := s.Engine.DrainReplica(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return &struct{ Body svc.Replica }{r}, nil
	})
}
