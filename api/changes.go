package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"svc"
)

// ChangeQuery names a change.
type ChangeQuery struct {
	Checkpoint int    // its number; 0: the newest that the orchestrator has
	Since      int    // an earlier checkpoint to compare with; 0: the commit that the work stands on
	Path       string // of a patch: only this file; empty: all
}

func (q ChangeQuery) values() url.Values {
	v := url.Values{}
	for name, number := range map[string]int{"checkpoint": q.Checkpoint, "since": q.Since} {
		if number != 0 {
			v.Set(name, strconv.Itoa(number))
		}
	}
	put(v, "path", q.Path)
	return v
}

// Change lists what a checkpoint of a workspace has changed.
func (c *Client) Change(ctx context.Context, id string, q ChangeQuery) (change svc.Change, err error) {
	err = c.do(ctx, call{method: http.MethodGet, path: at("/workspaces/%s/changes", id), query: q.values()}, &change)
	return change, err
}

// Diff reads the patch of a change. The reader is the caller's to close.
func (c *Client) Diff(ctx context.Context, id string, q ChangeQuery) (io.ReadCloser, error) {
	return c.download(ctx, at("/workspaces/%s/diff", id), q.values())
}
