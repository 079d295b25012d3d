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
	Project *svc.Project  `json:"project"` // of the current folder; null: there is none
	Made    bool          `json:"made"`    // the project was made just now
	Missing []string      `json:"missing"` // what stands in the way of a first run, and what to do
}

func (a *app) initCommand() *cobra.Command {
	return a.both(&cobra.Command{
		Use: "init", Short: "Find the agents of this machine and make a project for the current folder", Args: takes(),
		Long: "Look for agent tools on the PATH and add them to this machine's catalog, ask the model gateway whether it answers,\n" +
			"make a project for the current folder unless it has one, and say what is missing. It can be repeated at any time.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			s, err := a.setUp(cmd.Context(), cfg)
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
		s.Missing = append(s.Missing, "no agent that svc knows is on the PATH; install one, for example: npm install -g @anthropic-ai/claude-code")
	}
	if s.Gateway = a.askGateway(ctx, cfg); s.Gateway.Reason != "" {
		s.Missing = append(s.Missing, "the gateway "+s.Gateway.URL+" cannot be used: "+s.Gateway.Reason)
	}
	if err := a.askWorkerToProbe(); err != nil {
		a.note("the worker of this machine was not asked to look again: %v", err)
	}
	c, err := a.client()
	if err == nil {
		s.Project, s.Made, err = a.projectOfFolder(ctx, c, working(s.Tools))
	}
	if err != nil {
		p := a.explain(err)
		if p.exit != exitUnreachable && p.exit != exitUnauthorized {
			return s, err
		}
		s.Missing = append(s.Missing, p.what+"; start one with `svc up`, or name it with --server, then call `svc init` again")
	} else if s.Project == nil {
		s.Missing = append(s.Missing, "this folder is no project's; go to the folder that agents shall work in and call `svc init` there")
	}
	return s, nil
}

// projectOfFolder is the project of the current folder, made when there is none. It gets a provider when several tools are there: a
// run that names none must not have to ask.
func (a *app) projectOfFolder(ctx context.Context, c *api.Client, tools []string) (*svc.Project, bool, error) {
	projects, err := collect(c.AllProjects(ctx))
	if err != nil {
		return nil, false, err
	}
	active := projects[:0:0]
	for _, p := range projects {
		if p.Status == svc.ProjectActive {
			active = append(active, p)
		}
	}
	if p := projectAround(active); p != nil {
		if tool := preferredTool(tools); p.Provider == "" && tool != "" {
			changed, err := c.UpdateProject(ctx, p.ID, api.PatchProject{Provider: api.Some(tool)})
			return &changed, false, err
		}
		return p, false, nil
	}
	dir, err := os.Getwd()
	if err != nil || a.isHome(dir) {
		return nil, false, nil //nolint:nilerr // a folder that was removed is none
	}
	body := projectFor(dir, false)
	here, err := a.folderHere(ctx, c, "")
	if err != nil {
		return nil, false, err
	}
	body.Source = a.repoHere(ctx, here != "")
	if tool := preferredTool(tools); tool != "" {
		body.Provider = api.Some(tool)
	}
	p, err := c.CreateProject(ctx, body)
	return &p, true, err
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
	a.printFields(fields)
	for _, line := range s.Missing {
		a.out.printf("missing  %s\n", line)
	}
	if len(s.Missing) == 0 {
		a.out.printf("next     svc task add \"Say hello\" --run\n")
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
