package cli

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

// runFlags are what a person may say about a new run.
type runFlags struct {
	provider, prompt, host, model, cwd, policy string
	env                                        pairs
	restarts                                   int
	args                                       []string
	wait                                       bool
	cmd                                        *cobra.Command
}

func (f *runFlags) add(cmd *cobra.Command) {
	f.cmd, f.env = cmd, pairs{}
	cmd.Flags().StringVar(&f.provider, "provider", "", "`ID` of the agent (default: the only one that is installed)")
	cmd.Flags().StringVar(&f.prompt, "prompt", "", "what the agent is told; @FILE reads a file (default: the task's title and description)")
	cmd.Flags().StringVar(&f.host, "host", "", "run on this `HOST` and no other")
	cmd.Flags().StringVar(&f.model, "model", "", "`NAME` of the model, if the provider takes one")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "`DIR` to work in, on the host")
	cmd.Flags().Var(f.env, "env", "a variable `NAME=VALUE` of the session; may be repeated")
	cmd.Flags().Var(newChoice(&f.policy, string(svc.RestartNever), "never", "on_failure", "always"), "restart", "start again: `WHEN` is never, on_failure or always")
	cmd.Flags().IntVar(&f.restarts, "max-restarts", svc.DefaultMaxRestarts, "at most `N` times")
	cmd.Flags().StringArrayVar(&f.args, "arg", nil, "an `ARGUMENT` for the agent; may be repeated")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait for its end, and exit with it")
}

func (a *app) runStart() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "start TASK [-- ARGUMENT…]", Short: "Start an agent on a task", Args: takes("TASK", "[ARGUMENT…]"), ValidArgsFunction: a.completes(taskNames),
		Long: "Start an agent on a task. The run is admitted at once and waits for a host;\n" +
			"what stands behind -- are arguments for the agent.",
		Example: "  svc run start 0190f3c2-7a1b --provider claude --wait\n  svc run start 0190f3c2-7a1b --provider demo -- --ask",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		w, err := a.task(ctx, c, args[0])
		if err != nil {
			return err
		}
		f.args = append(f.args, args[1:]...)
		return a.startRun(ctx, c, w, f)
	})
	f.add(cmd)
	a.completeFlag(cmd, "provider", providerNames)
	a.completeFlag(cmd, "host", hostNames)
	return a.both(cmd)
}

// startRun admits a run of a task and, when asked to, waits for its end.
func (a *app) startRun(ctx context.Context, c *api.Client, w svc.WorkItem, f runFlags) error {
	body, err := a.newRun(ctx, c, w, f)
	if err != nil {
		return err
	}
	r, err := c.CreateRun(ctx, body)
	if err != nil {
		return err
	}
	if f.wait {
		a.note("started run %s with %s", r.ID, r.Provider)
		return a.watch(ctx, c, r.ID)
	}
	if a.output == "table" {
		defer a.note("watch it with: svc run watch %s", shortRun(r.ID))
	}
	return printDone(a, a.runView(nil), r, "started run %s with %s", r.ID, r.Provider)
}

func (a *app) newRun(ctx context.Context, c *api.Client, w svc.WorkItem, f runFlags) (body api.CreateRun, err error) {
	body.TaskID = w.ID
	if body.Provider, err = a.pickProvider(ctx, c, f.provider); err != nil {
		return body, err
	}
	prompt, err := promptOf(f, w)
	if err != nil {
		return body, err
	}
	body.Prompt = api.Some(prompt)
	if f.host != "" {
		h, err := a.host(ctx, c, f.host)
		if err != nil {
			return body, err
		}
		body.HostID = api.Some(h.ID)
	}
	if len(f.args) > 0 {
		body.Args = api.Some(f.args)
	}
	if len(f.env) > 0 {
		body.Env = api.Some(map[string]string(f.env))
	}
	body.Model, body.Cwd = given(f.cmd, "model", f.model), given(f.cmd, "cwd", f.cwd)
	body.RestartPolicy = api.Some(svc.RestartPolicy(f.policy))
	body.MaxRestarts = api.Some(f.restarts)
	return body, nil
}

// promptOf is what the agent is told: the flag, a file that it names, or the
// task itself.
func promptOf(f runFlags, w svc.WorkItem) (string, error) {
	if !f.cmd.Flags().Changed("prompt") {
		return strings.TrimSpace(w.Title + "\n\n" + w.Description), nil
	}
	if file, ok := strings.CutPrefix(f.prompt, "@"); ok {
		text, err := os.ReadFile(file)
		return string(text), err
	}
	return f.prompt, nil
}

func (a *app) runRetry() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use: "retry RUN", Short: "Start a new run with everything that an ended one had", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		old, err := a.theRun(ctx, c, args[0])
		if err != nil {
			return err
		}
		if old.Status.Active() {
			return &problem{what: "run " + shortRun(old.ID) + " has not ended: it is " + string(old.Status), next: "svc run stop " + shortRun(old.ID), exit: exitConflict}
		}
		r, err := c.CreateRun(ctx, again(old))
		if err != nil {
			return err
		}
		if wait {
			a.note("started run %s", r.ID)
			return a.watch(ctx, c, r.ID)
		}
		return printDone(a, a.runView(nil), r, "started run %s with %s", r.ID, r.Provider)
	})
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for its end, and exit with it")
	return a.both(cmd)
}

// again is a run like an older one.
func again(r svc.Run) api.CreateRun {
	body := api.CreateRun{
		TaskID: r.TaskID, Provider: r.Provider, HostID: api.Maybe(r.PinnedHostID), Prompt: api.Some(r.Prompt), Model: api.Some(r.Model),
		Cwd: api.Some(r.Cwd), RestartPolicy: api.Some(r.RestartPolicy), MaxRestarts: api.Some(r.MaxRestarts),
	}
	if len(r.Args) > 0 {
		body.Args = api.Some(r.Args)
	}
	if len(r.Env) > 0 {
		body.Env = api.Some(r.Env)
	}
	return body
}
