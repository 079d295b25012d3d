package cli

import (
	"context"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
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
				{"project", p.Slug}, {"name", p.Name}, {"id", p.ID}, {"status", string(p.Status)}, {"cwd", p.Cwd},
				{"created", a.whenExactly(&p.CreatedAt)}, {"updated", a.whenExactly(&p.UpdatedAt)},
				{"archived", a.whenExactly(p.ArchivedAt)}, {"about", p.Description},
			}
		},
	}
}

func (a *app) projectCommand() *cobra.Command {
	return group(&cobra.Command{Use: "project", Short: "Bodies of work"},
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

// projectFlags are what a person may set.
type projectFlags struct{ name, slug, description, cwd string }

func (f *projectFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.slug, "slug", "", "short `NAME` for commands and addresses: a-z, 0-9 and -")
	cmd.Flags().StringVarP(&f.description, "description", "d", "", "what it is about")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "`DIR` in which its runs work, on their hosts")
}

// given is a flag's value when the flag was given.
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
		p, err := c.CreateProject(ctx, api.CreateProject{
			Name: args[0], Slug: given(cmd, "slug", f.slug), Description: given(cmd, "description", f.description), Cwd: given(cmd, "cwd", f.cwd),
		})
		if err != nil {
			return err
		}
		return printDone(a, a.projectView(), p, "made project %s", p.Slug)
	})
	f.add(cmd)
	return a.both(cmd)
}

func (a *app) projectUpdate() *cobra.Command {
	var f projectFlags
	cmd := &cobra.Command{Use: "update PROJECT", Short: "Change a project", Args: takes("PROJECT"), ValidArgsFunction: a.completes(projectNames)}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		patch := api.PatchProject{
			Name: given(cmd, "name", f.name), Slug: given(cmd, "slug", f.slug),
			Description: given(cmd, "description", f.description), Cwd: given(cmd, "cwd", f.cwd),
		}
		if patch == (api.PatchProject{}) {
			return nothingToChange(cmd)
		}
		p, err := a.project(ctx, c, args[0])
		if err != nil {
			return err
		}
		if p, err = c.UpdateProject(ctx, p.ID, patch); err != nil {
			return err
		}
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
