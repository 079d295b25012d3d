package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

// completionWithin bounds how long a person waits for names after pressing Tab.
const completionWithin = 2 * time.Second

// names finds what may stand for an argument.
type names func(context.Context, *api.Client) []string

// completes offers live names for every argument. Without an orchestrator there
// are none, and no message either.
func (a *app) completes(find names) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		c, err := a.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		parent := cmd.Context()
		if parent == nil {
			parent = context.Background()
		}
		ctx, cancel := context.WithTimeout(parent, completionWithin)
		defer cancel()
		return find(ctx, c), cobra.ShellCompDirectiveNoFileComp
	}
}

func projectNames(ctx context.Context, c *api.Client) []string {
	var out []string
	for p, err := range c.AllProjects(ctx) {
		if err != nil {
			break
		}
		if p.Status == svc.ProjectActive {
			out = append(out, cobra.CompletionWithDesc(p.Slug, p.Name))
		}
	}
	return out
}

func hostNames(ctx context.Context, c *api.Client) []string {
	var out []string
	for h, err := range c.AllHosts(ctx) {
		if err != nil {
			break
		}
		out = append(out, cobra.CompletionWithDesc(h.Name, hostWord(h)))
	}
	return out
}

func taskNames(ctx context.Context, c *api.Client) []string {
	var out []string
	for w, err := range c.AllWorkItems(ctx, svc.WorkItemFilter{Statuses: []svc.ItemStatus{svc.ItemTodo, svc.ItemDoing}}) {
		if err != nil {
			break
		}
		out = append(out, cobra.CompletionWithDesc(w.ID, oneLine(w.Title)))
	}
	return out
}

// runNames offers recent runs, those that go on first.
func runNames(ctx context.Context, c *api.Client) []string {
	page, err := c.Runs(ctx, svc.RunFilter{}, svc.Page{Limit: svc.DefaultLimit})
	if err != nil {
		return nil
	}
	var active, ended []string
	for _, r := range page.Items {
		line := cobra.CompletionWithDesc(shortRun(r.ID), string(r.Status)+" "+r.Provider)
		if r.Status.Active() {
			active = append(active, line)
		} else {
			ended = append(ended, line)
		}
	}
	return append(active, ended...)
}

func providerNames(ctx context.Context, c *api.Client) []string {
	list, err := c.Providers(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, p := range list {
		out = append(out, cobra.CompletionWithDesc(p.ID, p.Name))
	}
	return out
}
