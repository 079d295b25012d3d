package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"svc"
	"svc/api"
	"svc/git"
)

// projectPlan describes a project to make for a folder.
type projectPlan struct {
	api.CreateProject
	// noCopies is why its runs get no working copies although the folder is in a git repository. It is empty when
	// they get them, and when the folder is in no repository.
	noCopies string
}

// projectFor returns the plan of a project for the current folder, with the folder's name. Its runs work in the
// folder or, when the folder is in a repository that can be copied, in a copy each. Every command that makes a
// project for a folder uses it. local: runs go to this machine.
func (a *app) projectFor(ctx context.Context, dir string, local bool) projectPlan {
	p := projectPlan{CreateProject: api.CreateProject{Name: filepath.Base(dir), Cwd: api.Some(dir)}}
	p.Source, p.noCopies = a.repoHere(ctx, dir, local)
	return p
}

// repoHere returns the repository of the current folder, for a new project: the repository's own folder when runs go
// to this machine, else the URL that it was cloned from. Without a source, why is the reason; it is empty when the
// folder is in no repository.
func (a *app) repoHere(ctx context.Context, dir string, local bool) (source api.Source, why string) {
	inside, err := a.git(ctx, "rev-parse", "--is-inside-work-tree")
	if err != nil {
		return source, "" // there is no repository, or no git
	}
	if _, err := (git.Program{}).Version(ctx); err != nil {
		return source, err.Error()
	}
	if inside != "true" {
		return source, "this folder has no files of its repository, which is a bare one or this is its .git"
	}
	if _, err := a.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return source, "the repository has no commit yet"
	}
	if _, err := a.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD:./"); err != nil {
		return source, "this folder is not in the repository's newest commit"
	}
	if local {
		source, err = a.folderRepo(ctx, dir)
	} else {
		source, err = a.originRepo(ctx)
	}
	if err == nil {
		err = svc.Source{Repo: source.Repo.Value, Base: source.Base.Value}.OrDefaults().Validate()
	}
	if err != nil {
		return api.Source{}, err.Error()
	}
	return source, ""
}

// folderRepo returns the repository around the current folder, at the branch that is checked out.
func (a *app) folderRepo(ctx context.Context, dir string) (api.Source, error) {
	root, err := a.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return api.Source{}, err
	}
	up, err := a.git(ctx, "rev-parse", "--show-cdup")
	if err != nil {
		return api.Source{}, err
	}
	top := filepath.Join(dir, up) // the path as the user sees it; root is another one when dir has a symbolic link above it
	if _, err := git.FindForeign(top); err != nil || !sameFolder(top, root) {
		return api.Source{}, errors.New("the repository is not in a folder above this one")
	}
	branch, err := a.git(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return api.Source{}, errors.New("no branch of the repository is checked out")
	}
	return api.Source{Repo: api.Some(top), Base: api.Some(branch)}, nil
}

func sameFolder(one, other string) bool {
	a, err := os.Stat(one)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && os.SameFile(a, b)
}

// originRepo returns the URL that the current folder's repository was cloned from, at its default branch.
func (a *app) originRepo(ctx context.Context) (api.Source, error) {
	origin, err := a.git(ctx, "remote", "get-url", "origin")
	if err != nil || origin == "" {
		return api.Source{}, errors.New("runs may go to other machines, and the repository has no origin that they could clone")
	}
	return api.Source{Repo: api.Some(origin)}, nil
}
