package cli

import (
	"context"
	"slices"
	"strings"

	"svc"
	"svc/api"
	"svc/provider"
)

// demoProvider is the scripted agent that every installation has.
const demoProvider = "demo"

// pickProvider returns the provider of a new run. The order is: the flag, the project's, that of [runs], the only
// tool that some host has, the demo.
func (a *app) pickProvider(ctx context.Context, c *api.Client, p svc.Project, asked string, interactive bool) (string, error) {
	list, err := c.Providers(ctx)
	if err != nil {
		return "", err
	}
	id, err := a.namedProvider(list, p, asked)
	if err != nil {
		return "", err
	}
	if !interactive || id == "" {
		return id, nil
	}
	if !has(list, svc.InteractiveID(id)) {
		return "", &problem{what: id + " has no interactive mode", why: "no catalog has " + svc.InteractiveID(id),
			next: "leave --interactive out; `svc provider list` shows the modes", exit: exitUsage}
	}
	return svc.InteractiveID(id), nil
}

func (a *app) namedProvider(list []api.Provider, p svc.Project, asked string) (string, error) {
	if asked != "" && !has(list, asked) && !slices.Contains(provider.StandardIDs(), asked) {
		return "", svc.Errorf(svc.CodeUnknownProvider, "provider: no catalog has %q", asked)
	}
	if asked != "" {
		return asked, nil
	}
	if p.Provider != "" {
		return p.Provider, nil
	}
	for _, each := range list {
		if each.Default {
			return each.ID, nil
		}
	}
	return a.onlyTool(list, p)
}

// onlyTool returns the tool to use when the user named none: the only one that is available, or the demo when there
// is none.
func (a *app) onlyTool(list []api.Provider, p svc.Project) (string, error) {
	tools := availableTools(list)
	switch {
	case len(tools) == 1:
		return tools[0], nil
	case len(tools) > 1:
		return "", &problem{what: "there are several providers", why: strings.Join(tools, ", "),
			next: "choose one with --provider; or for all runs of the project: svc project update " + projectWord(p) + " --provider " + tools[0], exit: exitUsage}
	case slices.ContainsFunc(list, func(p api.Provider) bool { return p.ID == demoProvider && availableSomewhere(p) }):
		a.note("no agent is installed on any host, so the demo runs; `svc init` looks for agents and says what is missing")
		return demoProvider, nil
	}
	return "", &problem{
		what: "no host has any provider", why: "no worker has reported one yet",
		next: "`svc host list` shows the hosts; or choose a provider with --provider", exit: exitFailed,
	}
}

// availableTools returns the agents that some host has, in the order of the catalog. Of a tool with two modes it
// returns the mode that takes a prompt, if that is available. The demo does not count.
func availableTools(list []api.Provider) []string {
	var ids []string
	for _, p := range list {
		if p.ID == demoProvider || !availableSomewhere(p) {
			continue
		}
		if !slices.ContainsFunc(ids, func(id string) bool { return svc.ToolOf(id) == p.Tool }) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

func availableSomewhere(p api.Provider) bool {
	for _, h := range p.Hosts {
		if h.Available {
			return true
		}
	}
	return false
}

func has(list []api.Provider, id string) bool {
	return slices.ContainsFunc(list, func(p api.Provider) bool { return p.ID == id })
}

// projectWord returns a project's name for use in a command. A project that was not made yet has no name.
func projectWord(p svc.Project) string {
	if p.Slug == "" {
		return "PROJECT"
	}
	return p.Slug
}
