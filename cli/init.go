package cli

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
	"svc/config"
)

// setup is what `svc init` found and made.
type setup struct {
	Tools   []foundTool   `json:"tools"`
	Gateway gatewayReport `json:"gateway"`
	Project *svc.Project  `json:"project"` // the project of the current folder; null: there is none
	Made    bool          `json:"made"`    // the project was made just now
	// NoCopies is why runs of the new project get no working copies. It is empty when they get them, and when the
	// folder is in no repository.
	NoCopies string   `json:"no_copies"`
	Missing  []string `json:"missing"` // what prevents a first run, and what to do about it
}

func (a *app) initCommand() *cobra.Command {
	return a.both(&cobra.Command{
		Use: "init", Short: "Find the agents of this machine and make a project for the current folder", Args: takes(),
		Long: "Look for agent tools on the PATH and add them to this machine's catalog, ask the model gateway whether it answers,\n" +
			"make a project for the current folder unless it has one, and say what is missing. It can be repeated at any time.\n" +
			"In a folder of a git repository, each run of that project gets a working copy of its own.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			ctx, cancel := a.limited(cmd.Context())
			defer cancel()
			s, err := a.setUp(ctx, cfg)
			if err != nil {
				return err
			}
			if a.output != "table" {
				return printMachine(a, view[setup]{name: func(s setup) string { return projectSlug(s.Project) }}, s)
			}
			a.printSetup(s)
			return nil
		},
	})
}

func projectSlug(p *svc.Project) string {
	if p == nil {
		return ""
	}
	return p.Slug
}

func (a *app) setUp(ctx context.Context, cfg *config.Config) (s setup, err error) {
	s.Missing = []string{}
	if s.Tools, err = a.adoptTools(ctx, cfg); err != nil {
		return s, err
	}
	if len(working(s.Tools)) == 0 {
		s.Missing = append(s.Missing, "no supported agent is on the PATH; install one, for example: npm install -g @anthropic-ai/claude-code")
	}
	if s.Gateway = a.askGateway(ctx, cfg); s.Gateway.Reason != "" {
		s.Missing = append(s.Missing, "the gateway "+s.Gateway.URL+" cannot be used: "+s.Gateway.Reason)
	}
	if err := a.askWorkerToProbe(); err != nil {
		a.note("the worker of this machine could not be asked to look again: %v", err)
	}
	c, err := a.client()
	if err == nil {
		err = a.projectOfFolder(ctx, c, &s)
	}
	if err != nil {
		p := a.explain(err)
		if p.exit != exitUnreachable && p.exit != exitUnauthorized {
			return s, err
		}
		s.Missing = append(s.Missing, p.what+"; start one with `svc up`, or name it with --server, then call `svc init` again")
	} else if s.Project == nil {
		s.Missing = append(s.Missing, "this folder has no project; go to the folder in which agents shall work, and run `svc init` there")
	}
	return s, nil
}

// projectOfFolder finds the project of the current folder, and makes one when there is none. When several tools are
// installed, the project gets a default provider, so that `svc task add --run` works without --provider.
func (a *app) projectOfFolder(ctx context.Context, c *api.Client, s *setup) error {
	projects, err := collect(c.AllProjects(ctx))
	if err != nil {
		return err
	}
	active := projects[:0:0]
	for _, p := range projects {
		if p.Status == svc.ProjectActive {
			active = append(active, p)
		}
	}
	tool := preferredTool(working(s.Tools))
	if s.Project = projectAround(active); s.Project != nil {
		if s.Project.Provider == "" && tool != "" {
			*s.Project, err = c.UpdateProject(ctx, s.Project.ID, api.PatchProject{Provider: api.Some(tool)})
		}
		return err
	}
	dir, err := os.Getwd()
	if err != nil || a.isHome(dir) {
		return nil //nolint:nilerr // a folder that was removed is none
	}
	here, err := a.folderHere(ctx, c, "")
	if err != nil {
		return err
	}
	plan := a.projectFor(ctx, dir, here != "")
	if tool != "" {
		plan.Provider = api.Some(tool)
	}
	p, err := c.CreateProject(ctx, plan.CreateProject)
	if err != nil {
		return err
	}
	s.Project, s.Made, s.NoCopies = &p, true, plan.noCopies
	return nil
}

func (a *app) printSetup(s setup) {
	var fields []field
	tools := toolWords(s.Tools)
	if tools == "" {
		tools = "none found"
	}
	fields = append(fields, field{"agents", tools}, field{"gateway", s.Gateway.words()})
	if s.Project != nil {
		fields = append(fields, field{"project", projectSentence(*s.Project, s.Made)})
	}
	if s.NoCopies != "" {
		fields = append(fields, field{"copies", "none: " + noCopiesSentence(*s.Project, s.NoCopies)})
	}
	a.printFields(fields)
	for _, line := range s.Missing {
		a.out.printf("missing  %s\n", line)
	}
	if len(s.Missing) == 0 {
		a.out.printf("next     %s task add \"Say hello\" --run\n", a.self())
	}
}

func projectSentence(p svc.Project, made bool) string {
	words := []string{p.Slug}
	if made {
		words = append(words, "(new)")
	}
	if p.Isolates() {
		words = append(words, "gives each run a", string(p.Isolation), "of", p.Repo)
	} else {
		words = append(words, "works in", p.Cwd)
	}
	if p.Provider != "" {
		words = append(words, "with", p.Provider+"; for another: svc project update "+p.Slug+" --provider ID")
	}
	return strings.Join(words, " ")
}

// noCopiesSentence says why runs of a project get no working copies, and how to change that.
func noCopiesSentence(p svc.Project, why string) string {
	return why + "; when it can be cloned: svc project update " + p.Slug + " --repo REPOSITORY"
}
