package api

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"

	"svc"
)

// Workspaces returns one page of the working copies of runs, newest first.
func (c *Client) Workspaces(ctx context.Context, f svc.WorkspaceFilter, p svc.Page) (svc.List[svc.Workspace], error) {
	q := url.Values{}
	put(q, "project_id", f.ProjectID)
	put(q, "task_id", f.TaskID)
	put(q, "host_id", f.HostID)
	for _, s := range f.States {
		q.Add("state", string(s))
	}
	return page[svc.List[svc.Workspace]](ctx, c, "/workspaces", q, p)
}

// AllWorkspaces iterates over the workspaces that match the filter, newest first.
func (c *Client) AllWorkspaces(ctx context.Context, f svc.WorkspaceFilter) iter.Seq2[svc.Workspace, error] {
	return walk(ctx, func(ctx context.Context, p svc.Page) (svc.List[svc.Workspace], error) { return c.Workspaces(ctx, f, p) })
}

// Workspace reads a workspace.
func (c *Client) Workspace(ctx context.Context, id string) (svc.Workspace, error) {
	return fetch[svc.Workspace](ctx, c, http.MethodGet, at("/workspaces/%s", id), nil)
}

// DiscardWorkspace marks a workspace as not wanted.
func (c *Client) DiscardWorkspace(ctx context.Context, id string) (svc.Workspace, error) {
	return fetch[svc.Workspace](ctx, c, http.MethodPost, at("/workspaces/%s/discard", id), nil)
}

// KeepWorkspace undoes a discard.
func (c *Client) KeepWorkspace(ctx context.Context, id string) (svc.Workspace, error) {
	return fetch[svc.Workspace](ctx, c, http.MethodPost, at("/workspaces/%s/keep", id), nil)
}

// RestoreWorkspace is the body of POST /workspaces/{id}/restore.
type RestoreWorkspace struct {
	HostID string `json:"host_id" doc:"Host of the new workspace"`
}

// RestoreWorkspace creates a workspace on a host from the newest relayed checkpoint of another workspace.
func (c *Client) RestoreWorkspace(ctx context.Context, id, hostID string) (svc.Workspace, error) {
	return fetch[svc.Workspace](ctx, c, http.MethodPost, at("/workspaces/%s/restore", id), RestoreWorkspace{HostID: hostID})
}

// LandWorkspace is the body of POST /workspaces/{id}/land.
type LandWorkspace struct {
	Checkpoint int         `json:"checkpoint" minimum:"1" doc:"Number of the checkpoint that you have read; it must be the newest"`
	How        string      `json:"how" enum:"squash,merge,push" doc:"One commit on top of the target; a merge commit; or the checkpoint as the workspace's own branch"`
	Into       Opt[string] `json:"into,omitzero" doc:"Branch of the repository; absent: the base's. Not for a push"`
	Message    Opt[string] `json:"message,omitzero" maxLength:"65536" doc:"Of the commit; absent: the work item's title"`
}

// New converts the body to the request type of package svc.
func (b LandWorkspace) New() (svc.NewLanding, error) {
	var bad svc.Problems
	n := svc.NewLanding{Checkpoint: b.Checkpoint, How: svc.LandHow(b.How), Into: orZero(&bad, "into", b.Into), Message: orZero(&bad, "message", b.Message)}
	return n, bad.Err()
}

// LandWorkspace makes the host bring a checkpoint into the workspace's repository. The outcome is reported by an
// event and stored in the record.
func (c *Client) LandWorkspace(ctx context.Context, id string, body LandWorkspace) (svc.Workspace, error) {
	return fetch[svc.Workspace](ctx, c, http.MethodPost, at("/workspaces/%s/land", id), body)
}

// RemoveWorkspace removes a workspace from its host if no work is lost by it. tree is the tree that the caller gives
// up; empty: none.
func (c *Client) RemoveWorkspace(ctx context.Context, id, tree string) error {
	q := url.Values{}
	put(q, "tree", tree)
	return c.do(ctx, call{method: http.MethodDelete, path: at("/workspaces/%s", id), query: q}, nil)
}

// Bundle reads a checkpoint as a git bundle on top of the base commit; number 0 is the newest that the orchestrator
// has. The caller must close the reader.
func (c *Client) Bundle(ctx context.Context, id string, number int) (io.ReadCloser, error) {
	return c.download(ctx, at("/workspaces/%s/bundle", id), ChangeQuery{Checkpoint: number}.values())
}

func (c *Client) download(ctx context.Context, path string, q url.Values) (io.ReadCloser, error) {
	res, err := c.send(ctx, call{method: http.MethodGet, path: path, query: q})
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}
