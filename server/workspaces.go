package server

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
	"svc/engine"
	"svc/wire"
)

// WorkspacePath holds the id of a workspace from a path.
type WorkspacePath struct {
	ID string `path:"id" doc:"Id of the workspace"`
}

// WorkspaceQuery filters a list of workspaces.
type WorkspaceQuery struct {
	ProjectID string   `query:"project_id" doc:"Workspaces of this project"`
	TaskID    string   `query:"task_id" doc:"Workspaces of this work item"`
	HostID    string   `query:"host_id" doc:"Workspaces on this host"`
	State     []string `query:"state,explode" enum:"preparing,ready,busy,failed,missing,removed" doc:"Repeatable"`
}

func (f WorkspaceQuery) filter() (svc.WorkspaceFilter, error) {
	out := svc.WorkspaceFilter{ProjectID: f.ProjectID, TaskID: f.TaskID, HostID: f.HostID, States: manyOf[svc.WorkspaceState](f.State)}
	return out, checkIDs("project_id", f.ProjectID, "task_id", f.TaskID, "host_id", f.HostID)
}

func workspace(w svc.Workspace, err error) (*record[svc.Workspace], error) {
	if err != nil {
		return nil, err
	}
	return &record[svc.Workspace]{Tagged: etag(w.Version), Body: w}, nil
}

func (s *Server) workspaceRoutes() {
	tags := []string{"Workspaces"}
	register(s, huma.Operation{
		OperationID: "list-workspaces", Method: http.MethodGet, Path: "/workspaces", Tags: tags,
		Summary: "List the working copies of runs, newest first; filters combine",
	}, func(ctx context.Context, in *struct {
		WorkspaceQuery
		Paging
	}) (*list[svc.Workspace], error) {
		f, err := in.filter()
		if err != nil {
			return nil, err
		}
		return listed(s.Engine.Workspaces(ctx, f, in.page()))
	})

	register(s, huma.Operation{
		OperationID: "get-workspace", Method: http.MethodGet, Path: "/workspaces/{id}", Tags: tags,
		Summary: "Read a workspace",
	}, func(ctx context.Context, in *WorkspacePath) (*record[svc.Workspace], error) {
		return workspace(s.Engine.Workspace(ctx, in.ID))
	})

	type change struct {
		WorkspacePath
		Retryable
	}
	register(s, huma.Operation{
		OperationID: "checkpoint-workspace", Method: http.MethodPost, Path: "/workspaces/{id}/checkpoint", Tags: tags,
		Summary:       "Make the host create a checkpoint now",
		Description:   "The event workspace.checkpointed reports the result; when nothing has changed since the newest checkpoint, there is none.",
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *change) (*record[svc.Workspace], error) {
		return workspace(s.Engine.CheckpointWorkspace(ctx, in.ID))
	})
	register(s, huma.Operation{
		OperationID: "discard-workspace", Method: http.MethodPost, Path: "/workspaces/{id}/discard", Tags: tags,
		Summary:     "Mark a workspace as not wanted",
		Description: "It is removed after the project's keep_days, if no work is lost by it. An open landing is given up: it fails with given_up, but an outcome that its host reports later still counts.",
	}, func(ctx context.Context, in *change) (*record[svc.Workspace], error) {
		return workspace(s.Engine.DiscardWorkspace(ctx, in.ID, false))
	})
	register(s, huma.Operation{
		OperationID: "keep-workspace", Method: http.MethodPost, Path: "/workspaces/{id}/keep", Tags: tags,
		Summary: "Undo a discard",
	}, func(ctx context.Context, in *change) (*record[svc.Workspace], error) {
		return workspace(s.Engine.DiscardWorkspace(ctx, in.ID, true))
	})
	register(s, huma.Operation{
		OperationID: "restore-workspace", Method: http.MethodPost, Path: "/workspaces/{id}/restore", Tags: tags,
		Summary: "Create a workspace on a host from the newest relayed checkpoint",
		Description: "Also when the workspace's own host is gone. The response is the new workspace, which its host prepares next; workspace.ready reports the end of that. " +
			"404 not_relayed when no checkpoint was relayed, 503 when the host is not connected.",
		DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct {
		WorkspacePath
		Retryable
		Body api.RestoreWorkspace
	}) (*made[svc.Workspace], error) {
		w, err := s.Engine.RestoreWorkspace(ctx, in.ID, in.Body.HostID)
		if err != nil {
			return nil, err
		}
		return &made[svc.Workspace]{Tagged: etag(w.Version), Location: api.Prefix + "/workspaces/" + w.ID, Body: w}, nil
	})
	register(s, huma.Operation{
		OperationID: "land-workspace", Method: http.MethodPost, Path: "/workspaces/{id}/land", Tags: tags,
		Summary: "Make the host bring a checkpoint into the workspace's repository, exactly once",
		Description: "The outcome is reported by workspace.landed or workspace.land_failed, and in the record's landing. 409 change_moved with details.checkpoint when there is " +
			"a newer checkpoint, 409 workspace_busy while a run is active in it. A landing that fails, for example with a conflict, changes nothing.",
		DefaultStatus: http.StatusAccepted,
	}, func(ctx context.Context, in *struct {
		WorkspacePath
		Retryable
		Body api.LandWorkspace
	}) (*record[svc.Workspace], error) {
		n, err := in.Body.New()
		if err != nil {
			return nil, err
		}
		return workspace(s.Engine.LandWorkspace(ctx, in.ID, n))
	})
	register(s, huma.Operation{
		OperationID: "remove-workspace", Method: http.MethodDelete, Path: "/workspaces/{id}", Tags: tags,
		Summary: "Remove a workspace from its host, if no work is lost by it",
		Description: "409 workspace_not_safe with details.reasons otherwise. tree is the hash of the tree that is given up; it overrides only not_relayed. " +
			"The orchestrator's copy of its checkpoints stays readable.", DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		WorkspacePath
		Tree string `query:"tree" pattern:"^[0-9a-f]{40,64}$" doc:"Hash of the tree that is given up"`
	}) (*struct{}, error) {
		_, err := s.Engine.RemoveWorkspace(ctx, in.ID, in.Tree)
		return nil, err
	})
	s.checkpointFile(fileRoute{
		name: "bundle", media: "application/x-git-bundle", summary: "The git bundle of a checkpoint, on top of the base commit; also when the host is gone",
		open: func(ctx context.Context, id string, number int, _ url.Values) (*os.File, error) {
			f, _, err := s.Engine.CheckpointFile(ctx, id, number, engine.CheckpointBundle)
			return f, err
		},
	})
	s.changeRoutes()
}

// fileRoute describes the route of a checkpoint's file.
type fileRoute struct {
	name, media, summary, description string
	params                            []*huma.Param // besides checkpoint
	open                              func(ctx context.Context, id string, number int, query url.Values) (*os.File, error)
}

func checkpointParam(name, text string) *huma.Param {
	minimum := 1.0
	return &huma.Param{Name: name, In: "query", Description: text, Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &minimum}}
}

// checkpointFile registers the route of a relayed file of a checkpoint.
func (s *Server) checkpointFile(route fileRoute) {
	op := huma.Operation{
		OperationID: "get-workspace-" + route.name, Method: http.MethodGet, Path: "/workspaces/{id}/" + route.name, Tags: []string{"Workspaces"},
		Summary: route.summary, Description: route.description,
		Parameters: append([]*huma.Param{
			{Name: "id", In: "path", Required: true, Description: "Id of the workspace", Schema: &huma.Schema{Type: huma.TypeString}},
			checkpointParam("checkpoint", "Number of the checkpoint; absent: the newest that the orchestrator has"),
		}, route.params...),
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{route.media: {Schema: &huma.Schema{Type: huma.TypeString}}}}},
	}
	s.route(s.document(op), s.longLivedRoute(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		number, err := checkpointNumber(query, "checkpoint")
		var f *os.File
		if err == nil {
			f, err = route.open(r.Context(), r.PathValue("id"), number, query)
		}
		if err != nil {
			writeError(w, r, err)
			return
		}
		defer f.Close()
		w.Header().Set("Content-Type", route.media)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		http.ServeContent(w, r, "", time.Time{}, f)
	}))
}

// checkpointNumber parses the number of a checkpoint; 0: there is none.
func checkpointNumber(query url.Values, name string) (int, error) {
	text := query.Get(name)
	if text == "" {
		return 0, nil
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return 0, svc.Invalid(name, "must be the number of a checkpoint")
	}
	return number, nil
}

// workspaceReports registers the routes for the workers' reports about workspaces.
func (s *Server) workspaceReports() {
	s.mux.HandleFunc("POST "+internalRoot+"/workspaces/{id}/report", func(w http.ResponseWriter, r *http.Request) {
		var report svc.WorkspaceReport
		err := s.internalJSON(w, r, &report)
		if err == nil {
			_, err = s.Engine.ReportWorkspace(r.Context(), reporterOf(r.Context()), r.PathValue("id"), report)
		}
		answerInternal(w, r, struct{}{}, err)
	})
	s.mux.HandleFunc("POST "+internalRoot+"/workspaces/{id}/landing", func(w http.ResponseWriter, r *http.Request) {
		var outcome svc.LandOutcome
		err := s.internalJSON(w, r, &outcome)
		if err == nil {
			_, err = s.Engine.ReportLanding(r.Context(), reporterOf(r.Context()), r.PathValue("id"), outcome)
		}
		answerInternal(w, r, struct{}{}, err)
	})
	s.mux.HandleFunc("POST "+internalRoot+"/workspaces/{id}/checkpoints/{number}/done", func(w http.ResponseWriter, r *http.Request) {
		var done wire.CheckpointDone
		err := s.internalJSON(w, r, &done)
		number, bad := strconv.Atoi(r.PathValue("number"))
		if err == nil && bad != nil {
			err = svc.Invalid("number", "must be the number of a checkpoint")
		}
		if err == nil {
			_, err = s.Engine.CheckpointRelayed(r.Context(), reporterOf(r.Context()), r.PathValue("id"), number, done)
		}
		answerInternal(w, r, struct{}{}, err)
	})
	s.mux.HandleFunc("POST "+internalRoot+"/workspaces/{id}/checkpoints/{number}/{kind}", func(w http.ResponseWriter, r *http.Request) {
		kept, err := s.Engine.TakeCheckpoint(r.Context(), reporterOf(r.Context()), r.PathValue("id"), func() (engine.Piece, error) { return s.piece(w, r) })
		answerInternal(w, r, kept, err)
	})
	s.mux.HandleFunc("GET "+internalRoot+"/workspaces/{id}/checkpoints/{number}/bundle", func(w http.ResponseWriter, r *http.Request) {
		number, err := strconv.Atoi(r.PathValue("number"))
		if err != nil || number < 1 {
			writeError(w, r, svc.Invalid("number", "must be the number of a checkpoint"))
			return
		}
		f, err := s.Engine.RestoreFile(r.Context(), reporterOf(r.Context()), r.PathValue("id"), r.URL.Query().Get("for"), number)
		if err != nil {
			writeError(w, r, err)
			return
		}
		defer f.Close()
		http.ServeContent(w, r, "", time.Time{}, f)
	})
}

func (s *Server) internalJSON(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := s.internalBody(w, r)
	if err != nil {
		return err
	}
	return wire.StrictJSON(body, into)
}

func answerInternal(w http.ResponseWriter, r *http.Request, body any, err error) {
	if err != nil {
		writeError(w, r, err)
		return
	}
	writeJSON(w, r, http.StatusOK, body)
}

// piece reads a part of a checkpoint's file from a request.
func (s *Server) piece(w http.ResponseWriter, r *http.Request) (engine.Piece, error) {
	q := r.URL.Query()
	p := engine.Piece{Kind: engine.CheckpointKind(r.PathValue("kind")), Hash: q.Get("sha256")}
	var bad [3]error
	p.Number, bad[0] = strconv.Atoi(r.PathValue("number"))
	p.Offset, bad[1] = strconv.ParseInt(q.Get("offset"), 10, 64)
	p.Total, bad[2] = strconv.ParseInt(q.Get("total"), 10, 64)
	if bad != [3]error{} || p.Offset < 0 {
		return p, svc.Errorf(svc.CodeValidation, "number, offset and total must be numbers")
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(s.bodyLimit)) // best effort: test recorders do not support it
	var err error
	if p.Bytes, err = io.ReadAll(io.LimitReader(r.Body, wire.MaxPiece+1)); err != nil {
		return p, s.readError(err)
	}
	_ = rc.SetReadDeadline(time.Time{})
	if len(p.Bytes) > wire.MaxPiece {
		return p, svc.Errorf(svc.CodeTooLarge, "a piece has at most %d bytes", wire.MaxPiece)
	}
	return p, nil
}
