package api

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"svc"
)

// Projects returns one page of the projects, by name.
func (c *Client) Projects(ctx context.Context, p svc.Page) (svc.List[svc.Project], error) {
	return page[svc.List[svc.Project]](ctx, c, "/projects", nil, p)
}

// AllProjects iterates over all projects, by name.
func (c *Client) AllProjects(ctx context.Context) iter.Seq2[svc.Project, error] {
	return walk(ctx, c.Projects)
}

// WorkItems returns one page of the work items, by position.
func (c *Client) WorkItems(ctx context.Context, f svc.WorkItemFilter, p svc.Page) (svc.List[svc.WorkItem], error) {
	q := url.Values{}
	put(q, "project_id", f.ProjectID)
	put(q, "under", f.Under)
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
	return page[svc.List[svc.WorkItem]](ctx, c, "/work-items", q, p)
}

// AllWorkItems iterates over the work items that match the filter, by position.
func (c *Client) AllWorkItems(ctx context.Context, f svc.WorkItemFilter) iter.Seq2[svc.WorkItem, error] {
	return walk(ctx, func(ctx context.Context, p svc.Page) (svc.List[svc.WorkItem], error) { return c.WorkItems(ctx, f, p) })
}

// Runs returns one page of the runs, newest first.
func (c *Client) Runs(ctx context.Context, f svc.RunFilter, p svc.Page) (svc.List[svc.RunSummary], error) {
	return page[svc.List[svc.RunSummary]](ctx, c, "/runs", runQuery(f), p)
}

// AllQueuedRuns iterates over the pending runs that match the filter, in the order in which they will be placed.
func (c *Client) AllQueuedRuns(ctx context.Context, f svc.RunFilter) iter.Seq2[svc.RunSummary, error] {
	f.Statuses = []svc.RunStatus{svc.RunPending}
	return walk(ctx, func(ctx context.Context, p svc.Page) (svc.List[svc.RunSummary], error) {
		q := runQuery(f)
		q.Set("order", "queue")
		return page[svc.List[svc.RunSummary]](ctx, c, "/runs", q, p)
	})
}

// CountRuns counts the runs that match the filter, by status.
func (c *Client) CountRuns(ctx context.Context, f svc.RunFilter) (svc.RunCounts, error) {
	var out svc.RunCounts
	err := c.do(ctx, call{method: http.MethodGet, path: "/runs/counts", query: runQuery(f)}, &out)
	return out, err
}

func runQuery(f svc.RunFilter) url.Values {
	q := url.Values{}
	put(q, "project_id", f.ProjectID)
	put(q, "task_id", f.TaskID)
	put(q, "host_id", f.HostID)
	for _, s := range f.Statuses {
		q.Add("status", string(s))
	}
	if f.NeedsInput != nil {
		q.Set("needs_input", strconv.FormatBool(*f.NeedsInput))
	}
	put(q, "provider", f.Provider)
	put(q, "created_by", f.CreatedBy)
	return q
}

// AllRuns iterates over the runs that match the filter, newest first.
func (c *Client) AllRuns(ctx context.Context, f svc.RunFilter) iter.Seq2[svc.RunSummary, error] {
	return walk(ctx, func(ctx context.Context, p svc.Page) (svc.List[svc.RunSummary], error) { return c.Runs(ctx, f, p) })
}

// Hosts returns one page of the hosts, by name.
func (c *Client) Hosts(ctx context.Context, p svc.Page) (svc.List[svc.Host], error) {
	return page[svc.List[svc.Host]](ctx, c, "/hosts", nil, p)
}

// AllHosts iterates over all hosts, by name.
func (c *Client) AllHosts(ctx context.Context) iter.Seq2[svc.Host, error] { return walk(ctx, c.Hosts) }

// Events returns one page of the journal, newest first.
func (c *Client) Events(ctx context.Context, f svc.EventFilter, p svc.Page) (svc.EventList, error) {
	return page[svc.EventList](ctx, c, "/events", eventQuery(f), p)
}

// AllEvents iterates over the journal, newest first.
func (c *Client) AllEvents(ctx context.Context, f svc.EventFilter) iter.Seq2[svc.Event, error] {
	return walk(ctx, func(ctx context.Context, p svc.Page) (svc.List[svc.Event], error) {
		l, err := c.Events(ctx, f, p)
		return svc.List[svc.Event]{Items: l.Items, NextCursor: l.NextCursor}, err
	})
}

func eventQuery(f svc.EventFilter) url.Values {
	q := url.Values{}
	for _, t := range f.Topics {
		q.Add("topic", t)
	}
	for _, s := range f.Fields() {
		put(q, s.Name, *s.ID)
	}
	return q
}

func put(q url.Values, key, value string) {
	if value != "" {
		q.Set(key, value)
	}
}

// page reads one page of a list. With a limit of 0 the server chooses the size.
func page[L any](ctx context.Context, c *Client, path string, q url.Values, p svc.Page) (L, error) {
	if q == nil {
		q = url.Values{}
	}
	if p.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	put(q, "cursor", p.Cursor)
	var out L
	err := c.do(ctx, call{method: http.MethodGet, path: path, query: q}, &out)
	return out, err
}

// walk iterates over all pages. An error is yielded once and ends the iteration.
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
