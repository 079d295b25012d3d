package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"svc"
)

// ChangeQuery selects a change.
type ChangeQuery struct {
	Checkpoint int    // its number; 0: the newest that the orchestrator has
	Since      int    // an earlier checkpoint to compare with; 0: the commit on which the work is based
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

// Change lists the files that a checkpoint of a workspace has changed.
func (c *Client) Change(ctx context.Context, id string, q ChangeQuery) (change svc.Change, err error) {
	err = c.do(ctx, call{method: http.MethodGet, path: at("/workspaces/%s/changes", id), query: q.values()}, &change)
	return change, err
}

// Diff reads the patch of a change. The caller must close the reader.
func (c *Client) Diff(ctx context.Context, id string, q ChangeQuery) (io.ReadCloser, error) {
	return c.download(ctx, at("/workspaces/%s/diff", id), q.values())
}
