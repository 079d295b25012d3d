package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
)

// CommentPath holds the id of a comment from a path.
type CommentPath struct {
	ID string `path:"id" doc:"Id of the comment"`
}

func comment(c svc.Comment, err error) (*record[svc.Comment], error) {
	if err != nil {
		return nil, err
	}
	return &record[svc.Comment]{Tagged: etag(c.Version), Body: c}, nil
}

func (s *Server) commentVersion(id string) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) {
		c, err := s.Engine.Comment(ctx, id)
		return c.Version, err
	}
}

func (s *Server) commentRoutes() {
	tags := []string{"Comments"}
	register(s, huma.Operation{
		OperationID: "list-comments", Method: http.MethodGet, Path: "/workspaces/{id}/comments", Tags: tags,
		Summary:     "List the comments on a workspace's change, oldest first",
		Description: "Drafts are visible to all users. anchor describes where a comment's lines are in the newest checkpoint.",
	}, func(ctx context.Context, in *struct {
		WorkspacePath
		Paging
	}) (*list[svc.Comment], error) {
		return listed(s.Engine.Comments(ctx, in.ID, in.page()))
	})
	register(s, huma.Operation{
		OperationID: "create-comment", Method: http.MethodPost, Path: "/workspaces/{id}/comments", Tags: tags,
		Summary:     "Comment on lines of a change, or on a file of it",
		Description: "The lines are quoted from the patch of the checkpoint; lines that are not in the patch are a 400.", DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct {
		WorkspacePath
		Retryable
		Body api.CreateComment
	}) (*made[svc.Comment], error) {
		c, err := s.Engine.CreateComment(ctx, in.ID, in.Body.New())
		if err != nil {
			return nil, err
		}
		return &made[svc.Comment]{Tagged: etag(c.Version), Location: api.Prefix + "/comments/" + c.ID, Body: c}, nil
	})
	register(s, huma.Operation{
		OperationID: "update-comment", Method: http.MethodPatch, Path: "/comments/{id}", Tags: tags,
		Summary:     "Change the text of a draft, resolve a comment, or make it a draft again",
		Description: "The states sent and handled are set by sending and by the agent.",
	}, func(ctx context.Context, in *struct {
		CommentPath
		Matching
		Body api.PatchComment
	}) (*record[svc.Comment], error) {
		patch, err := in.Body.Patch()
		if err != nil {
			return nil, err
		}
		match, err := in.match(ctx, s.commentVersion(in.ID))
		if err != nil {
			return nil, err
		}
		return comment(s.Engine.UpdateComment(ctx, in.ID, patch, match))
	})
	register(s, huma.Operation{
		OperationID: "delete-comment", Method: http.MethodDelete, Path: "/comments/{id}", Tags: tags,
		Summary: "Delete a comment", DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		CommentPath
		Matching
	}) (*struct{}, error) {
		match, err := in.match(ctx, s.commentVersion(in.ID))
		if err != nil {
			return nil, err
		}
		return nil, s.Engine.DeleteComment(ctx, in.ID, match)
	})
}

func (s *Server) sendRoute() {
	register(s, huma.Operation{
		OperationID: "send-comments", Method: http.MethodPost, Path: "/workspaces/{id}/send", Tags: []string{"Comments"},
		Summary:     "Send drafts to the agent of a workspace",
		Description: "The prompt consists of the message, then each comment with its number, file, lines, quote and text. With preview=true the response contains the prompt and nothing changes. Otherwise it is sent as a message to the active run in the workspace, if its provider takes messages. Else, when the newest run in the workspace is over, a run is created with this prompt that resumes its conversation. The drafts become sent together with that message or run. 409 no_conversation when neither is possible, and nothing is sent; 409 lease_held and needs_input as for messages. Without a draft and a message it is a 400.",
	}, func(ctx context.Context, in *struct {
		WorkspacePath
		Retryable
		Preview bool `query:"preview" doc:"Only compose the prompt"`
		Body    api.SendComments
	}) (*struct{ Body svc.Sent }, error) {
		send := s.Engine.SendComments
		if in.Preview {
			send = s.Engine.PreviewSend
		}
		sent, err := send(ctx, in.ID, in.Body.New())
		return &struct{ Body svc.Sent }{sent}, err
	})
}

// handleComment handles the agent's report that it has dealt with a comment.
func (s *Server) handleComment(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Note string `json:"note"`
	}
	err := s.internalJSON(w, r, &body)
	if err == nil {
		_, err = s.Engine.HandleComment(r.Context(), reporterOf(r.Context()), r.PathValue("id"), r.PathValue("comment"), body.Note)
	}
	answerInternal(w, r, struct{}{}, err)
}
