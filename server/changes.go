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
		Description: "Compared with the commit on which the work is based, or with an earlier checkpoint. It uses the relayed checkpoints, also when the host is away, " +
			"and never changes. 404 not_relayed when the orchestrator does not have a checkpoint: not all older ones are kept.",
	}, func(ctx context.Context, in *struct {
		WorkspacePath
		Checkpoint int `query:"checkpoint" minimum:"1" doc:"Number of the checkpoint; absent: the newest that the orchestrator has"`
		Since      int `query:"since" minimum:"1" doc:"An earlier checkpoint to compare with; absent: the commit on which the work is based"`
	}) (*struct{ Body svc.Change }, error) {
		c, err := s.Engine.Change(ctx, in.ID, in.Checkpoint, in.Since)
		return &struct{ Body svc.Change }{c}, err
	})
	s.checkpointFile(fileRoute{
		name: "diff", media: "text/x-diff; charset=utf-8", summary: "The patch of a checkpoint, for git apply",
		description: "Compared with the commit on which the work is based, or with an earlier checkpoint; of all files, or of one. Also when the host is away.",
		params: []*huma.Param{
			checkpointParam("since", "An earlier checkpoint to compare with; absent: the commit on which the work is based"),
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
