package api

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"svc"
)

// CreateComment is the body of POST /workspaces/{id}/comments.
type CreateComment struct {
	Checkpoint int      `json:"checkpoint,omitzero" minimum:"1" doc:"The checkpoint to which the comment refers; absent: the newest that the orchestrator has"`
	Path       string   `json:"path" minLength:"1" doc:"Path as in the list of changes"`
	Side       svc.Side `json:"side,omitzero" enum:"old,new" doc:"The version of the file to which the lines refer; absent: new"`
	Line       *int     `json:"line,omitempty" minimum:"1" doc:"Absent: the whole file"`
	EndLine    *int     `json:"end_line,omitempty" minimum:"1" doc:"The last line of a range; absent: one line"`
	Body       string   `json:"body" minLength:"1" doc:"Up to 16 KiB"`
}

// New converts the body to the request type of package svc.
func (b CreateComment) New() svc.NewComment {
	return svc.NewComment{Checkpoint: b.Checkpoint, Path: b.Path, Side: b.Side, Line: b.Line, EndLine: b.EndLine, Body: b.Body}
}

// PatchComment is the body of PATCH /comments/{id}.
type PatchComment struct {
	Body  Opt[string]           `json:"body,omitzero" minLength:"1" doc:"Text of a draft"`
	State Opt[svc.CommentState] `json:"state,omitzero" enum:"draft,resolved" doc:"draft: can be sent again"`
}

// Patch converts the body to the patch type of package svc.
func (b PatchComment) Patch() (svc.CommentPatch, error) {
	var bad svc.Problems
	p := svc.CommentPatch{Body: given(&bad, "body", b.Body), State: given(&bad, "state", b.State)}
	return p, bad.Err()
}

// Comments returns one page of a workspace's comments, oldest first.
func (c *Client) Comments(ctx context.Context, workspaceID string, p svc.Page) (svc.List[svc.Comment], error) {
	return page[svc.List[svc.Comment]](ctx, c, at("/workspaces/%s/comments", workspaceID), url.Values{}, p)
}

// AllComments iterates over the comments of a workspace, oldest first.
func (c *Client) AllComments(ctx context.Context, workspaceID string) iter.Seq2[svc.Comment, error] {
	return walk(ctx, func(ctx context.Context, p svc.Page) (svc.List[svc.Comment], error) {
		return c.Comments(ctx, workspaceID, p)
	})
}

// CreateComment adds a comment to a workspace's change.
func (c *Client) CreateComment(ctx context.Context, workspaceID string, body CreateComment) (svc.Comment, error) {
	return fetch[svc.Comment](ctx, c, http.MethodPost, at("/workspaces/%s/comments", workspaceID), body)
}

// PatchComment changes a comment.
func (c *Client) PatchComment(ctx context.Context, id string, body PatchComment) (svc.Comment, error) {
	return fetch[svc.Comment](ctx, c, http.MethodPatch, at("/comments/%s", id), body)
}

// DeleteComment deletes a comment.
func (c *Client) DeleteComment(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: at("/comments/%s", id)}, nil)
}

// SendComments is the body of POST /workspaces/{id}/send.
type SendComments struct {
	CommentIDs []string `json:"comment_ids,omitempty" doc:"Drafts; absent: all of them"`
	Message    string   `json:"message,omitempty" doc:"Text before the comments, up to 16 KiB"`
}

// New converts the body to the request type of package svc.
func (b SendComments) New() svc.NewSend {
	return svc.NewSend{CommentIDs: b.CommentIDs, Message: b.Message}
}

// SendComments sends comments to the agent of a workspace. With preview it only returns the prompt and sends nothing.
func (c *Client) SendComments(ctx context.Context, workspaceID string, body SendComments, preview bool) (sent svc.Sent, err error) {
	q := url.Values{}
	if preview {
		q.Set("preview", "true")
	}
	err = c.do(ctx, call{method: http.MethodPost, path: at("/workspaces/%s/send", workspaceID), query: q, body: body}, &sent)
	return sent, err
}
