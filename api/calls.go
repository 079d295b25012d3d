package api

import (
	"context"
	"net/http"
	"net/url"

	"svc"
)

// fetch sends a request whose response is one record.
func fetch[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var out T
	err := c.do(ctx, call{method: method, path: path, body: body}, &out)
	return out, err
}

// CreateProject creates a project.
func (c *Client) CreateProject(ctx context.Context, b CreateProject) (svc.Project, error) {
	return fetch[svc.Project](ctx, c, http.MethodPost, "/projects", b)
}

// Project reads a project by id or slug.
func (c *Client) Project(ctx context.Context, idOrSlug string) (svc.Project, error) {
	return fetch[svc.Project](ctx, c, http.MethodGet, at("/projects/%s", idOrSlug), nil)
}

// UpdateProject changes what the patch sets.
func (c *Client) UpdateProject(ctx context.Context, idOrSlug string, b PatchProject) (svc.Project, error) {
	return fetch[svc.Project](ctx, c, http.MethodPatch, at("/projects/%s", idOrSlug), b)
}

// ArchiveProject archives a project. It stays readable.
func (c *Client) ArchiveProject(ctx context.Context, idOrSlug string) (svc.Project, error) {
	return fetch[svc.Project](ctx, c, http.MethodDelete, at("/projects/%s", idOrSlug), nil)
}

// CreateWorkItem creates a work item.
func (c *Client) CreateWorkItem(ctx context.Context, b CreateWorkItem) (svc.WorkItem, error) {
	return fetch[svc.WorkItem](ctx, c, http.MethodPost, "/work-items", b)
}

// WorkItem reads a work item.
func (c *Client) WorkItem(ctx context.Context, id string) (svc.WorkItem, error) {
	return fetch[svc.WorkItem](ctx, c, http.MethodGet, at("/work-items/%s", id), nil)
}

// UpdateWorkItem changes what the patch sets.
func (c *Client) UpdateWorkItem(ctx context.Context, id string, b PatchWorkItem) (svc.WorkItem, error) {
	return fetch[svc.WorkItem](ctx, c, http.MethodPatch, at("/work-items/%s", id), b)
}

// DeleteWorkItem deletes a work item. recursive also deletes its descendants. detach removes the needs that other items
// have of the deleted ones; without it such a need is an error.
func (c *Client) DeleteWorkItem(ctx context.Context, id string, recursive, detach bool) error {
	r := call{method: http.MethodDelete, path: at("/work-items/%s", id), query: url.Values{}}
	if recursive {
		r.query.Set("recursive", "true")
	}
	if detach {
		r.query.Set("detach", "true")
	}
	return c.do(ctx, r, nil)
}

// AddNeed adds a need: the item id needs the item other.
func (c *Client) AddNeed(ctx context.Context, id, other string) error {
	return c.do(ctx, call{method: http.MethodPut, path: at("/work-items/%s/needs/%s", id, other)}, nil)
}

// RemoveNeed removes a need.
func (c *Client) RemoveNeed(ctx context.Context, id, other string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: at("/work-items/%s/needs/%s", id, other)}, nil)
}

// CreateRun creates a run.
func (c *Client) CreateRun(ctx context.Context, b CreateRun) (svc.Run, error) {
	return fetch[svc.Run](ctx, c, http.MethodPost, "/runs", b)
}

// Run reads a run.
func (c *Client) Run(ctx context.Context, id string) (svc.Run, error) {
	return fetch[svc.Run](ctx, c, http.MethodGet, at("/runs/%s", id), nil)
}

// RunDetail reads a run with the reasons why it waits and the evidence for its states.
func (c *Client) RunDetail(ctx context.Context, id string) (svc.RunDetail, error) {
	return fetch[svc.RunDetail](ctx, c, http.MethodGet, at("/runs/%s", id), nil)
}

// StopRun stops a run. Its status changes at once; its session may take longer to end.
func (c *Client) StopRun(ctx context.Context, id string) (svc.Run, error) {
	return fetch[svc.Run](ctx, c, http.MethodPost, at("/runs/%s/stop", id), nil)
}

// UpdateRun changes the conditions under which a pending run waits.
func (c *Client) UpdateRun(ctx context.Context, id string, b PatchRun) (svc.Run, error) {
	return fetch[svc.Run](ctx, c, http.MethodPatch, at("/runs/%s", id), b)
}

// Rerun creates a new run with the fields of another one, except those that b sets.
func (c *Client) Rerun(ctx context.Context, id string, b Rerun) (svc.Run, error) {
	return fetch[svc.Run](ctx, c, http.MethodPost, at("/runs/%s/rerun", id), b)
}

// StopRuns stops the active runs of a scope.
func (c *Client) StopRuns(ctx context.Context, b StopRuns) (StoppedRuns, error) {
	return fetch[StoppedRuns](ctx, c, http.MethodPost, "/runs/stop", b)
}

// SendKeys types into a run's session.
func (c *Client) SendKeys(ctx context.Context, id string, keys []string) error {
	return c.do(ctx, call{method: http.MethodPost, path: at("/runs/%s/keys", id), body: SendKeys{Keys: keys}}, nil)
}

// Pane reads the latest screen of a run.
func (c *Client) Pane(ctx context.Context, id string) (Pane, error) {
	return fetch[Pane](ctx, c, http.MethodGet, at("/runs/%s/pane", id), nil)
}

// CreateHost creates a host.
func (c *Client) CreateHost(ctx context.Context, b CreateHost) (svc.Host, error) {
	return fetch[svc.Host](ctx, c, http.MethodPost, "/hosts", b)
}

// Host reads a host by id or name.
func (c *Client) Host(ctx context.Context, idOrName string) (svc.Host, error) {
	return fetch[svc.Host](ctx, c, http.MethodGet, at("/hosts/%s", idOrName), nil)
}

// UpdateHost changes what the patch sets.
func (c *Client) UpdateHost(ctx context.Context, idOrName string, b PatchHost) (svc.Host, error) {
	return fetch[svc.Host](ctx, c, http.MethodPatch, at("/hosts/%s", idOrName), b)
}

// DeleteHost deletes a host that has no active runs. With force, its active runs fail with host_lost first.
func (c *Client) DeleteHost(ctx context.Context, idOrName string, force bool) error {
	r := call{method: http.MethodDelete, path: at("/hosts/%s", idOrName)}
	if force {
		r.query = url.Values{"force": {"true"}}
	}
	return c.do(ctx, r, nil)
}

// EnableHost allows new runs to be placed on a host again.
func (c *Client) EnableHost(ctx context.Context, idOrName string) (svc.Host, error) {
	return fetch[svc.Host](ctx, c, http.MethodPost, at("/hosts/%s/enable", idOrName), nil)
}

// DisableHost stops the placement of new runs on a host. Its active runs continue.
func (c *Client) DisableHost(ctx context.Context, idOrName string) (svc.Host, error) {
	return fetch[svc.Host](ctx, c, http.MethodPost, at("/hosts/%s/disable", idOrName), nil)
}

// ClearSuspect accepts the new identity of a suspect host.
func (c *Client) ClearSuspect(ctx context.Context, idOrName string) (svc.Host, error) {
	return fetch[svc.Host](ctx, c, http.MethodPost, at("/hosts/%s/clear-suspect", idOrName), nil)
}

// HostToken returns the token with which a worker joins as this host only.
func (c *Client) HostToken(ctx context.Context, idOrName string) (string, error) {
	t, err := fetch[Token](ctx, c, http.MethodPost, at("/hosts/%s/token", idOrName), nil)
	return t.Token, err
}

// Providers lists the providers with the hosts that reported each of them.
func (c *Client) Providers(ctx context.Context) ([]Provider, error) {
	l, err := fetch[svc.List[Provider]](ctx, c, http.MethodGet, "/providers", nil)
	return l.Items, err
}
