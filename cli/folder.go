package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"svc"
	"svc/api"
	"svc/config"
)

// localHost returns the host that is this machine: the one whose worker stores its identity in this data dir, else
// the one with this machine's name. nil: no host is this machine, or it is not known.
func (a *app) localHost(hosts []svc.Host) *svc.Host {
	if a.loaded == nil {
		return nil
	}
	var instances []string
	for _, dir := range []string{a.loaded.WorkerDir(), a.loaded.DataDir} { // the folders of svc up and of svc worker
		if id := config.InstanceID(dir); id != "" {
			instances = append(instances, id)
		}
	}
	var named *svc.Host
	for i, h := range hosts {
		switch {
		case h.InstanceID != nil && slices.Contains(instances, *h.InstanceID):
			return &hosts[i]
		case h.Name == a.loaded.Worker.HostName:
			named = &hosts[i]
		}
	}
	return named
}

// folderHere returns the current folder when a run of this user goes to this machine: to the host that hostID names,
// or, when it is empty, because this machine is the only host that takes runs. Otherwise it returns an empty string:
// a folder of this machine means nothing on another one.
func (a *app) folderHere(ctx context.Context, c *api.Client, hostID string) (string, error) {
	hosts, err := collect(c.AllHosts(ctx))
	if err != nil {
		return "", err
	}
	here := a.localHost(hosts)
	if here == nil || hostID != "" && hostID != here.ID {
		return "", nil
	}
	for _, h := range hosts {
		if hostID == "" && h.ID != here.ID && h.Status != svc.HostDisabled {
			return "", nil
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", nil //nolint:nilerr // a folder that was removed is none
	}
	return dir, nil
}

// isHome reports whether a folder must not become a project: it is the home folder, a folder above it, or the root.
func (a *app) isHome(dir string) bool {
	return dir == "/" || inside(a.getenv("HOME"), dir)
}

// inside reports whether a path is a folder or lies below it.
func inside(path, folder string) bool {
	if path == "" || folder == "" {
		return false
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// errNoProject means that a project must be made first.
var errNoProject = &problem{what: "there is no project yet", next: "`svc project create NAME` makes one, `svc init` one for this folder", exit: exitNotFound}

// pickProject returns the project that ref names. With an empty ref it returns the project around the current folder,
// else the only project.
func (a *app) pickProject(ctx context.Context, c *api.Client, ref string) (svc.Project, error) {
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
	if p := projectAround(active); p != nil {
		return *p, nil
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
		what: "there are several projects", why: strings.Join(slugs, ", "), next: "choose one with --project, or run the command in the folder of one", exit: exitUsage,
	}
}

// projectAround returns the project whose folder is the nearest one at or above the current folder; nil: there is
// none.
func projectAround(projects []svc.Project) *svc.Project {
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	var nearest *svc.Project
	for i, p := range projects {
		if p.Cwd != "" && inside(dir, p.Cwd) && (nearest == nil || len(p.Cwd) > len(nearest.Cwd)) {
			nearest = &projects[i]
		}
	}
	return nearest
}

// planProject is pickProject for a command that makes something in the project. When there is no project at all, it
// returns a plan of the project to make, so that nothing is made before everything was checked.
func (a *app) planProject(ctx context.Context, c *api.Client, ref string) (svc.Project, *projectPlan, error) {
	p, err := a.pickProject(ctx, c, ref)
	if !errors.Is(err, errNoProject) {
		return p, nil, err
	}
	here, err := a.folderHere(ctx, c, "")
	if err != nil {
		return p, nil, err
	}
	plan := projectPlan{CreateProject: api.CreateProject{Name: "First project"}}
	if dir, err := os.Getwd(); err == nil && !a.isHome(dir) { // a removed folder counts as no folder
		if of := a.projectFor(ctx, dir, here != ""); here != "" || of.Repo.Set { // when runs may go to other machines, the folder is of use only through its repository
			plan = of
		}
	}
	n, err := plan.New()
	if err != nil {
		return p, nil, err
	}
	p = svc.Project{Cwd: n.Cwd}
	return p, &plan, p.SetSource(n.Source)
}

// makeProject makes the project of a plan. A nil plan means that p exists already.
func (a *app) makeProject(ctx context.Context, c *api.Client, p svc.Project, plan *projectPlan) (svc.Project, error) {
	if plan == nil {
		return p, nil
	}
	p, err := c.CreateProject(ctx, plan.CreateProject)
	if err != nil {
		return p, err
	}
	a.note("made project %s, since there was none%s", p.Slug, worksIn(p))
	if plan.noCopies != "" {
		a.note("its runs get no copies of their own: %s", noCopiesSentence(p, plan.noCopies))
	}
	return p, nil
}
