package api

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"svc"
)

// Projects is one page of the projects, by name.
func (c *Client) Projects(ctx context.Context, p svc.Page) (svc.List[svc.Project], error) {
	return page[svc.Project](ctx, c, "/projects", nil, p)
}

// AllProjects walks every project, by name.
func (c *Client) AllProjects(ctx context.Context) iter.Seq2[svc.Project, error] {
	return walk(ctx, c.Projects)
}

// WorkItems is one page of the work items, by position.
func (c *Client) WorkItems(ctx context.Context, f svc.WorkItemFilter, p svc.Page) (svc.List[svc.WorkItem], error) {
	q := url.Values{}
	set(q, "project_id", f.ProjectID)
	set(q, "under", f.Under)
	if f.Parent != nil {
		parent := "null"
		if f.Parent.ID != nil {
			parent = *f.Parent.ID
		}
		q.Set("parent_id", parent)
	}
	for _, s := range f.Statuses {
		q.Add("status", string(s))
	}
	for _, k := range f.Kinds {
		q.Add("kind", string(k))
	}
	return page[svc.WorkItem](ctx, c, "/work-items", q, p)
}

// AllWorkItems walks every work item that passes the filter, by position.
func (c *Client) AllWorkItems(ctx context.Context, f svc.WorkItemFilter) iter.Seq2[svc.WorkItem, error] {
	return walk(ctx, func(ctx context.Context, p svc.Page) (svc.List[svc.WorkItem], error) { return c.WorkItems(ctx, f, p) })
}

// Runs is one page of the runs, newest first.
func (c *Client) Runs(ctx context.Context, f svc.RunFilter, p svc.Page) (svc.List[svc.Run], error) {
	q := url.Values{}
	set(q, "project_id", f.ProjectID)
	set(q, "task_id", f.TaskID)
	set(q, "host_id", f.HostID)
	for _, s := range f.Statuses {
		q.Add("status", string(s))
	}
	return page[svc.Run](ctx, c, "/runs", q, p)
}

// AllRuns walks every run that passes the filter, newest first.
func (c *Client) AllRuns(ctx context.Context, f svc.RunFilter) iter.Seq2[svc.Run, error] {
	return walk(ctx, func(ctx context.Context, p svc.Page) (svc.List[svc.Run], error) { return c.Runs(ctx, f, p) })
}

// Hosts is one page of the hosts, by name.
func (c *Client) Hosts(ctx context.Context, p svc.Page) (svc.List[svc.Host], error) {
	return page[svc.Host](ctx, c, "/hosts", nil, p)
}

// AllHosts walks every host, by name.
func (c *Client) AllHosts(ctx context.Context) iter.Seq2[svc.Host, error] { return walk(ctx, c.Hosts) }

// Events is one page of the journal, newest first.
func (c *Client) Events(ctx context.Context, topics svc.Globs, p svc.Page) (svc.List[svc.Event], error) {
	q := url.Values{}
	for _, t := range topics {
		q.Add("topic", t)
	}
	return page[svc.Event](ctx, c, "/events", q, p)
}

// AllEvents walks the journal, newest first.
func (c *Client) AllEvents(ctx context.Context, topics svc.Globs) iter.Seq2[svc.Event, error] {
	return walk(ctx, func(ctx context.Context, p svc.Page) (svc.List[svc.Event], error) { return c.Events(ctx, topics, p) })
}

func set(q url.Values, key, value string) {
	if value != "" {
		q.Set(key, value)
	}
}

// page reads one page. A limit of 0 leaves the size to the server.
func page[T any](ctx context.Context, c *Client, path string, q url.Values, p svc.Page) (svc.List[T], error) {
	if q == nil {
		q = url.Values{}
	}
	if p.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	set(q, "cursor", p.Cursor)
	var out svc.List[T]
	err := c.do(ctx, call{method: http.MethodGet, path: path, query: q}, &out)
	return out, err
}

// walk reads page after page. An error is yielded once and ends the walk.
func walk[T any](ctx context.Context, next func(context.Context, svc.Page) (svc.List[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		p := svc.Page{Limit: svc.MaxLimit}
		for {
			l, err := next(ctx, p)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range l.Items {
				if !yield(item, nil) {
					return
				}
			}
			if l.NextCursor == nil {
				return
			}
			p.Cursor = *l.NextCursor
		}
	}
}
