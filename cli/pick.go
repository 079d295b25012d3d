package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"svc"
	"svc/api"
)

// demoProvider is the scripted agent that every installation has.
const demoProvider = "demo"

// onlyProject is the project that a person means who named none: the only one.
func (a *app) onlyProject(ctx context.Context, c *api.Client, ref string) (svc.Project, error) {
	if ref != "" {
		return a.project(ctx, c, ref)
	}
	var active []svc.Project
	for p, err := range c.AllProjects(ctx) {
		if err != nil {
			return p, err
		}
		if p.Status == svc.ProjectActive {
			active = append(active, p)
		}
	}
	switch len(active) {
	case 0:
		return svc.Project{}, errNoProject
	case 1:
		return active[0], nil
	}
	var slugs []string
	for _, p := range active {
		slugs = append(slugs, p.Slug)
	}
	return svc.Project{}, &problem{
		what: "there are several projects", why: strings.Join(slugs, ", "), next: "say which one is meant", exit: exitUsage,
	}
}

var errNoProject = &problem{what: "there is no project yet", next: "`svc project create NAME` makes one", exit: exitNotFound}

// pickProject is onlyProject, but it makes the first one, so that the very
// first task needs no ceremony.
func (a *app) pickProject(ctx context.Context, c *api.Client, ref string) (svc.Project, error) {
	p, err := a.onlyProject(ctx, c, ref)
	if !errors.Is(err, errNoProject) {
		return p, err
	}
	p, err = c.CreateProject(ctx, api.CreateProject{Name: "First project"})
	if err == nil {
		a.note("made project %s, since there was none", p.Slug)
	}
	return p, err
}

// pickProvider is the provider that a person means who named none: the only
// one that some host has, or else the demo.
func (a *app) pickProvider(ctx context.Context, c *api.Client, id string) (string, error) {
	if id != "" {
		return id, nil
	}
	list, err := c.Providers(ctx)
	if err != nil {
		return "", err
	}
	var ready []string
	for _, p := range list {
		for _, h := range p.Hosts {
			if h.Available && !slices.Contains(ready, p.ID) {
				ready = append(ready, p.ID)
			}
		}
	}
	real := slices.DeleteFunc(slices.Clone(ready), func(id string) bool { return id == demoProvider })
	switch {
	case len(real) == 1:
		return real[0], nil
	case len(real) > 1:
		return "", &problem{what: "there are several providers", why: strings.Join(real, ", "), next: "say which with --provider", exit: exitUsage}
	case len(ready) == 1:
		a.note("no agent is installed on any host, so the demo runs; `svc provider doctor` tells more")
		return demoProvider, nil
	}
	return "", &problem{
		what: "no host has any provider", why: "no worker has reported one yet",
		next: "`svc host list` shows the hosts; or say which with --provider", exit: exitFailed,
	}
}
