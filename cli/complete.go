package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"svc"
	"svc/api"
)

// completionWithin bounds how long a person waits for names after pressing Tab.
const completionWithin = 2 * time.Second

// names returns the values that an argument can have.
type names func(context.Context, *api.Client) []string

// completes offers names that the orchestrator has for the first argument. Without an orchestrator it offers none,
// and prints no message.
func (a *app) completes(find names) cobra.CompletionFunc { return a.completesUpTo(1, find) }

// completesUpTo is completes for a command that takes up to most names. Names that are already on the line are not
// offered again.
func (a *app) completesUpTo(most int, find names) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(given) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
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
		offered := slices.DeleteFunc(find(ctx, c), func(line string) bool {
			name, _, _ := strings.Cut(line, "\t")
			return slices.Contains(given, name)
		})
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlag offers names that the orchestrator has for a flag's value.
func (a *app) completeFlag(cmd *cobra.Command, flag string, find names) {
	register(cmd, flag, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.completes(find)(cmd, nil, typed)
	})
}

// completeWords offers fixed words for a flag's value.
func completeWords[T ~string](cmd *cobra.Command, flag string, words []T) {
	offered := make([]string, len(words))
	for i, w := range words {
		offered[i] = string(w)
	}
	register(cmd, flag, cobra.FixedCompletions(offered, cobra.ShellCompDirectiveNoFileComp))
}

// completeChoices calls completeWords for every choice flag of a command and of its subcommands.
func completeChoices(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if c, ok := f.Value.(*choice); ok {
			completeWords(cmd, f.Name, c.words)
		}
	})
	for _, c := range cmd.Commands() {
		completeChoices(c)
	}
}

func register(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag does not exist, or has a completion already
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
		out = append(out, cobra.CompletionWithDesc(w.Ref(), w.Title))
	}
	return out
}

// runNames offers the newest runs: active ones first.
func runNames(ctx context.Context, c *api.Client) []string {
	page, err := c.Runs(ctx, svc.RunFilter{}, svc.Page{Limit: svc.DefaultLimit})
	if err != nil {
		return nil
	}
	var active, ended []string
	for _, r := range page.Items {
		line := cobra.CompletionWithDesc(shortRun(r.ID), string(r.Status)+" "+r.Provider+" "+r.TaskTitle)
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
		if !hiddenProvider(p.ID, availableSomewhere(p)) {
			out = append(out, cobra.CompletionWithDesc(p.ID, p.Name))
		}
	}
	return out
}
