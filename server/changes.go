package server

import (
	"context"
	"net/http"
	"net/url"
	"os"

	"github.com/danielgtaylor/huma/v2"

	"svc"
)

// changeRoutes registers the routes for the changes of checkpoints. They use the relayed checkpoints, so they also
// work while the host is away.
func (s *Server) changeRoutes() {
	register(s, huma.Operation{
		OperationID: "get-workspace-changes", Method: http.MethodGet, Path: "/workspaces/{id}/changes", Tags: []string{"Workspaces"},
		Summary: "List what a checkpoint has changed",
		Description: "Against the commit that the work stands on, or since an earlier checkpoint. It is answered from what was relayed, also when the host is away, " +
			"and never changes. 404 not_relayed when a checkpoint is not here: of older ones not all are kept.",
	}, func(ctx context.Context, in *struct {
		WorkspacePath
		Checkpoint int `query:"checkpoint" minimum:"1" doc:"Its number; absent: the newest that is here"`
		Since      int `query:"since" minimum:"1" doc:"An earlier checkpoint to compare with; absent: the commit that the work stands on"`
	}) (*struct{ Body svc.Change }, error) {
		c, err := s.Engine.Change(ctx, in.ID, in.Checkpoint, in.Since)
		return &struct{ Body svc.Change }{c}, err
	})
	s.checkpointFile(fileRoute{
		name: "diff", media: "text/x-diff; charset=utf-8", summary: "The patch of a checkpoint, as git apply takes it",
		description: "Against the commit that the work stands on, or since an earlier checkpoint; of all files, or of one. Also when the host is away.",
		params: []*huma.Param{
			checkpointParam("since", "An earlier checkpoint to compare with; absent: the commit that the work stands on"),
			{Name: "path", In: "query", Description: "Only this file, named as in the list of changes", Schema: &huma.Schema{Type: huma.TypeString}},
		},
		open: func(ctx context.Context, id string, number int, query url.Values) (*os.File, error) {
			since, err := checkpointNumber(query, "since")
			if err != nil {
				return nil, err
			}
			return s.Engine.Diff(ctx, id, number, since, query.Get("path"))
		},
	})
}
