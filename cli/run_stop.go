package cli

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) runStop() *cobra.Command {
	var (
		project, task, host string
		all                 bool
	)
	cmd := &cobra.Command{
		Use: "stop [RUN…]", Short: "Stop runs", Args: takes("[RUN…]"), ValidArgsFunction: a.completesUpTo(math.MaxInt, runNames),
		Long: "Stop runs: those that are named, or all active runs of a task and everything below it, of a project or on a host.\n" +
			"Each counts as stopped at once; its session is ended with Ctrl-C, then SIGTERM, then SIGKILL,\n" +
			"and until it has ended the run is shown as stopping.",
		Example: "  svc run stop 1a2b3c4d\n  svc run stop --all --task CHECKOUT-12",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		places := 0
		for _, place := range []string{project, task, host} {
			if place != "" {
				places++
			}
		}
		scoped := places > 0
		switch {
		case places > 1:
			return usage("use one of --task, --project and --host", "more than one of --task, --project and --host is used")
		case scoped && len(args) > 0:
			return usage("name runs, or a task, a project or a host", "both runs and a task, a project or a host are named")
		case scoped:
			return a.stopAll(ctx, c, project, task, host)
		case all:
			return usage("add --task, --project or --host", "--all needs a task, a project or a host")
		case len(args) == 0:
			return usage("`svc run list --active` shows them", "no run is named")
		}
		return a.stopNamed(ctx, c, args)
	})
	cmd.Flags().BoolVar(&all, "all", false, "all active runs of --task, of --project or on --host")
	cmd.Flags().StringVar(&task, "task", "", "active runs of this `TASK` and of everything below it")
	cmd.Flags().StringVarP(&project, "project", "p", "", "active runs of this `PROJECT`")
	cmd.Flags().StringVar(&host, "host", "", "active runs on this `HOST`")
	a.completeFlag(cmd, "project", projectNames)
	a.completeFlag(cmd, "task", taskNames)
	a.completeFlag(cmd, "host", hostNames)
	return a.both(cmd)
}

func (a *app) stopNamed(ctx context.Context, c *api.Client, refs []string) error {
	for _, ref := range refs {
		r, err := a.theRun(ctx, c, ref)
		if err != nil {
			return err
		}
		if r, err = c.StopRun(ctx, r.ID); err != nil {
			return err
		}
		if err := printDone(a, a.runView(nil), r, "%s run %s", runWord(r), a.short(r.ID, shortRun)); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) stopAll(ctx context.Context, c *api.Client, project, task, host string) error {
	f, err := a.runFilter(ctx, c, project, task, host)
	if err != nil {
		return err
	}
	stopped, err := c.StopRuns(ctx, api.StopRuns{TaskID: f.TaskID, ProjectID: f.ProjectID, HostID: f.HostID})
	if err != nil {
		return err
	}
	if a.output != "table" {
		return printMachine(a, view[api.StoppedRuns]{name: func(s api.StoppedRuns) string { return fmt.Sprint(len(s.Stopped)) }}, stopped)
	}
	a.out.printf("stopped %s\n", count(len(stopped.Stopped), "run"))
	return nil
}

// count returns a number with its noun, such as "2 runs".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// queueWords describes how a run waits, as far as it differs from the default.
func queueWords(r svc.Run) string {
	words := ""
	add := func(format string, args ...any) {
		if words != "" {
			words += ", "
		}
		words += fmt.Sprintf(format, args...)
	}
	if r.Priority != 0 {
		add("priority %d", r.Priority)
	}
	if r.Wait {
		add("waits as long as it takes")
	}
	switch {
	case svc.Held(r.NotBefore):
		add("held until it is released")
	case r.NotBefore != nil:
		add("not before %s", r.NotBefore)
	}
	if len(r.HostLabels) > 0 {
		add("on hosts with %s", joinPairs(r.HostLabels))
	}
	if r.IgnoreNeeds {
		add("whatever its task needs")
	}
	return words
}
