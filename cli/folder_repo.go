package cli

import (
	"context"

	"svc/api"
	"svc/git"
)

// repoHere is the repository of the folder that the person stands in, for a new project: the folder itself when runs go to this machine,
// else where it was cloned from. Nothing: it is none, has no commit, or git is missing or too old for working copies.
func (a *app) repoHere(ctx context.Context, local bool) api.Source {
	if _, err := (git.Program{}).Version(ctx); err != nil {
		return api.Source{}
	}
	if _, err := a.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return api.Source{}
	}
	if !local {
		origin, err := a.git(ctx, "remote", "get-url", "origin")
		if err != nil || origin == "" {
			return api.Source{}
		}
		return api.Source{Repo: api.Some(origin)}
	}
	top, err := a.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil || top == "" {
		return api.Source{}
	}
	source := api.Source{Repo: api.Some(top)}
	if branch, err := a.git(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); err == nil && branch != "" {
		source.Base = api.Some(branch)
	}
	return source
}
