package cli

import (
	"context"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
	"svc/provider"
)

func (a *app) projectView() view[svc.Project] {
	return view[svc.Project]{
		name:  func(p svc.Project) string { return p.Slug },
		empty: "no projects yet; `svc project create NAME` makes one",
		columns: []column[svc.Project]{
			{head: "PROJECT", cell: func(p svc.Project) string { return p.Slug }},
			{head: "NAME", cell: func(p svc.Project) string { return p.Name }, flex: true},
			{head: "STATUS", cell: func(p svc.Project) string { return string(p.Status) }, tone: func(p svc.Project) tone {
				if p.Status == svc.ProjectArchived {
					return dim
				}
				return plain
			}},
			{head: "CWD", cell: func(p svc.Project) string { return p.Cwd }, flex: true},
			{head: "CREATED", cell: func(p svc.Project) string { return a.when(&p.CreatedAt) }},
		},
		fields: func(p svc.Project) []field {
			return []field{
				{"project", p.Slug}, {"name", p.Name}, {"id", p.ID}, {"status", string(p.Status)}, {"cwd", p.Cwd}, {"provider", p.Provider}, {"model", p.Model},
				{"repo", p.Repo}, {"base", p.Base}, {"isolation", isolationWord(p)}, {"setup", p.Setup}, {"done when", doneWords(p)},
				{"created", a.whenExactly(&p.CreatedAt)}, {"updated", a.whenExactly(&p.UpdatedAt)},
				{"archived", a.whenExactly(p.ArchivedAt)}, {"about", p.Description},
			}
		},
	}
}

// isolationWord returns how a project's working copies are made; empty for a project without them.
func isolationWord(p svc.Project) string {
	if !p.Isolates() {
		return ""
	}
	return string(p.Isolation)
}

// doneWords returns what makes the project's tasks done; empty for the default.
func doneWords(p svc.Project) string {
	if p.DoneWhen == svc.DoneCompleted {
		return ""
	}
	return string(p.DoneWhen)
}

func (a *app) projectCommand() *cobra.Command {
	return group(&cobra.Command{Use: "project", Short: "Projects, each with a tree of work items"},
		a.projectList(), a.projectShow(), a.projectCreate(), a.projectUpdate(), a.projectArchive())
}

func (a *app) projectList() *cobra.Command {
	var all bool
	cmd := &cobra.Command{Use: "list", Short: "List projects, by name", Args: takes(), RunE: a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
		var shown []svc.Project
		for p, err := range c.AllProjects(ctx) {
			if err != nil {
				return err
			}
			if all || p.Status != svc.ProjectArchived {
				shown = append(shown, p)
			}
		}
		return printList(a, a.projectView(), shown)
	})}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "show archived ones too")
	return a.reading(cmd)
}

func (a *app) projectShow() *cobra.Command {
	return a.reading(&cobra.Command{
		Use: "show PROJECT", Short: "Show a project", Args: takes("PROJECT"), ValidArgsFunction: a.completes(projectNames),
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			p, err := a.project(ctx, c, args[0])
			if err != nil {
				return err
			}
			return printOne(a, a.projectView(), p)
		}),
	})
}

// projectFlags are the settings of a project that flags can set.
type projectFlags struct {
	name, slug, description, cwd, provider, model, maxRuns string
	repo, base, isolation, setup, setupTimeout, doneWhen   string
	keepDays                                               int
}

func (f *projectFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.slug, "slug", "", "short `NAME` for commands and addresses: a-z, 0-9 and -")
	cmd.Flags().StringVarP(&f.description, "description", "d", "", "what it is about")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "`DIR` in which its runs work, on their hosts")
	cmd.Flags().StringVar(&f.provider, "provider", "", "`ID` of the default agent of its runs")
	cmd.Flags().StringVar(&f.model, "model", "", "`NAME` of the default model of its runs, for that agent")
	cmd.Flags().StringVar(&f.maxRuns, "max-runs", "", "at most `N` of its runs at once; none removes the limit")
	cmd.Flags().StringVar(&f.repo, "repo", "", "repository that each run gets a working copy of: `URL`, or absolute path on the host")
	cmd.Flags().StringVar(&f.base, "base", "", "`BRANCH` that working copies begin at; default: the repository's own")
	cmd.Flags().Var(newChoice(&f.isolation, "", "none", "clone", "worktree"), "isolation", "what a working copy is: `HOW` is none, clone or worktree")
	cmd.Flags().StringVar(&f.setup, "setup", "", "shell `SCRIPT` that is run in each new working copy before the agent starts")
	cmd.Flags().StringVar(&f.setupTimeout, "setup-timeout", "", "`TIME` that the script may take, as in 10m")
	cmd.Flags().IntVar(&f.keepDays, "keep-days", 0, "`N` days after which a landed or discarded working copy is removed")
	cmd.Flags().Var(newChoice(&f.doneWhen, "", "completed", "landed"), "done-when", "what marks a task as done: `WHAT` is completed or landed")
}

// source returns the settings about working copies that were given as flags.
func (f *projectFlags) source(cmd *cobra.Command) api.Source {
	s := api.Source{
		Repo: given(cmd, "repo", f.repo), Base: given(cmd, "base", f.base), Isolation: given(cmd, "isolation", f.isolation),
		Setup: given(cmd, "setup", f.setup), SetupTimeout: given(cmd, "setup-timeout", f.setupTimeout),
	}
	if cmd.Flags().Changed("keep-days") {
		s.KeepDays = api.Some(f.keepDays)
	}
	return s
}

// limit parses --max-runs.
func (f *projectFlags) limit() (api.Opt[int], error) {
	switch n, err := strconv.Atoi(f.maxRuns); {
	case f.maxRuns == "":
		return api.Opt[int]{}, nil
	case f.maxRuns == "none":
		return api.Null[int](), nil
	case err != nil:
		return api.Opt[int]{}, usage("a number, or none", "--max-runs %q is no number", f.maxRuns)
	default:
		return api.Some(n), nil
	}
}

// given returns a flag's value, or an unset Opt when the flag was not given.
func given(cmd *cobra.Command, flag, value string) api.Opt[string] {
	if cmd.Flags().Changed(flag) {
		return api.Some(value)
	}
	return api.Opt[string]{}
}

func (a *app) projectCreate() *cobra.Command {
	var f projectFlags
	cmd := &cobra.Command{Use: "create NAME", Short: "Make a project", Args: takes("NAME")}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		limit, err := f.limit()
		if err != nil {
			return err
		}
		cwd, err := a.projectFolder(ctx, c, given(cmd, "cwd", f.cwd))
		if err != nil {
			return err
		}
		p, err := c.CreateProject(ctx, api.CreateProject{
			Name: args[0], Slug: given(cmd, "slug", f.slug), Description: given(cmd, "description", f.description), Cwd: cwd,
			Provider: given(cmd, "provider", f.provider), Model: given(cmd, "model", f.model), MaxRuns: limit, DoneWhen: given(cmd, "done-when", f.doneWhen), Source: f.source(cmd),
		})
		if err != nil {
			return err
		}
		if dir, err := os.Getwd(); err == nil && !p.Isolates() && !cmd.Flags().Changed("isolation") {
			if source, _ := a.repoHere(ctx, dir, p.Cwd != ""); source.Repo.Set {
				a.note("this folder is in a git repository; to give each run a working copy of its own: %s project update %s --repo %s", a.self(), p.Slug, shellQuote(source.Repo.Value))
			}
		}
		a.noteUnknownProvider(ctx, c, f.provider)
		return printDone(a, a.projectView(), p, "made project %s%s", p.Slug, worksIn(p))
	})
	f.add(cmd)
	return a.both(cmd)
}

// noteUnknownProvider warns that no catalog has a project's default provider. That is allowed, because a project may
// be set up before the host with that tool joins. Until then its runs are refused.
func (a *app) noteUnknownProvider(ctx context.Context, c *api.Client, id string) {
	if id == "" || slices.Contains(provider.StandardIDs(), id) {
		return
	}
	list, err := c.Providers(ctx)
	if err != nil || has(list, id) { // the change was made already, so an error here is ignored
		return
	}
	a.note("warning: no catalog has the provider %q: runs of this project are refused until one has; `%s provider list` shows what there is", id, a.self())
}

// projectFolder returns the folder of a new project: the one of --cwd, else the current one when runs go to this
// machine. --cwd "" sets no folder.
func (a *app) projectFolder(ctx context.Context, c *api.Client, said api.Opt[string]) (api.Opt[string], error) {
	if said.Set {
		dir, err := a.fullPath(ctx, c, "", said.Value)
		return api.Some(dir), err
	}
	dir, err := a.folderHere(ctx, c, "")
	if err != nil || dir == "" || a.isHome(dir) {
		return said, err
	}
	return api.Some(dir), nil
}

func worksIn(p svc.Project) string {
	switch {
	case p.Isolates():
		return "; each of its runs works in a copy of " + p.Repo
	case p.Cwd == "":
		return ""
	default:
		return "; its runs work in " + p.Cwd
	}
}

func (a *app) projectUpdate() *cobra.Command {
	var f projectFlags
	cmd := &cobra.Command{Use: "update PROJECT", Short: "Change a project", Args: takes("PROJECT"), ValidArgsFunction: a.completes(projectNames)}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		limit, err := f.limit()
		if err != nil {
			return err
		}
		patch := api.PatchProject{
			Name: given(cmd, "name", f.name), Slug: given(cmd, "slug", f.slug),
			Description: given(cmd, "description", f.description), Cwd: given(cmd, "cwd", f.cwd),
			Provider: given(cmd, "provider", f.provider), Model: given(cmd, "model", f.model), MaxRuns: limit, DoneWhen: given(cmd, "done-when", f.doneWhen), Source: f.source(cmd),
		}
		if patch == (api.PatchProject{}) {
			return nothingToChange(cmd)
		}
		p, err := a.project(ctx, c, args[0])
		if err != nil {
			return err
		}
		if patch.Cwd.Set {
			if patch.Cwd.Value, err = a.fullPath(ctx, c, "", patch.Cwd.Value); err != nil {
				return err
			}
		}
		if p, err = c.UpdateProject(ctx, p.ID, patch); err != nil {
			return err
		}
		a.noteUnknownProvider(ctx, c, f.provider)
		return printDone(a, a.projectView(), p, "changed project %s", p.Slug)
	})
	cmd.Flags().StringVar(&f.name, "name", "", "the new name")
	f.add(cmd)
	return a.both(cmd)
}

func nothingToChange(cmd *cobra.Command) error {
	return usage("`"+cmd.CommandPath()+" --help` lists what can be changed", "there is nothing to change")
}

func (a *app) projectArchive() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "archive PROJECT", Short: "Close a project for good; it stays readable", Args: takes("PROJECT"), ValidArgsFunction: a.completes(projectNames),
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			p, err := a.project(ctx, c, args[0])
			if err != nil {
				return err
			}
			if err := a.confirm(yes, "Archive project %s? Nothing in it can be changed afterwards.", p.Slug); err != nil {
				return err
			}
			if p, err = c.ArchiveProject(ctx, p.ID); err != nil {
				return err
			}
			return printDone(a, a.projectView(), p, "archived project %s", p.Slug)
		}),
	}
	addYes(cmd, &yes)
	return a.both(cmd)
}
