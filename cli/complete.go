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

// names finds what may stand for an argument.
type names func(context.Context, *api.Client) []string

// completes offers live names for the first argument. Without an orchestrator
// there are none, and no message either.
func (a *app) completes(find names) cobra.CompletionFunc { return a.completesUpTo(1, find) }

// completesUpTo is for commands that take more than one such name. Those that
// stand there already are not offered again.
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

// completeFlag offers live names for a flag's value.
func (a *app) completeFlag(cmd *cobra.Command, flag string, find names) {
	register(cmd, flag, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.completes(find)(cmd, nil, typed)
	})
}

// completeWords offers the words that a flag knows.
func completeWords[T ~string](cmd *cobra.Command, flag string, words []T) {
	offered := make([]string, len(words))
	for i, w := range words {
		offered[i] = string(w)
	}
	register(cmd, flag, cobra.FixedCompletions(offered, cobra.ShellCompDirectiveNoFileComp))
}

// completeChoices does it for every choice of a command and of those below it.
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
		panic(err) // a flag that is not there, or twice
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

// runNames offers recent runs, those that go on first.
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
