package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

// runFlags are the properties of a new run that flags can set.
type runFlags struct {
	provider, prompt, host, model, cwd, policy, workspace string
	env                                                   pairs
	restarts                                              int
	args                                                  []string
	wait, watch, interactive, ignoreNeeds                 bool
	priority                                              int
	notBefore                                             string
	labels                                                pairs
	cmd                                                   *cobra.Command
}

func (f *runFlags) add(cmd *cobra.Command) {
	f.cmd, f.env, f.labels = cmd, pairs{}, pairs{}
	cmd.Flags().StringVar(&f.provider, "provider", "", "`ID` of the agent (default: the project's, that of [runs], or the only one that is installed)")
	cmd.Flags().BoolVarP(&f.interactive, "interactive", "i", false, "start the agent's interactive mode, to attach to")
	cmd.Flags().StringVar(&f.prompt, "prompt", "", "the agent's prompt; @FILE reads a file (default: the task's title and description)")
	cmd.Flags().StringVar(&f.host, "host", "", "run on this `HOST` and no other")
	cmd.Flags().StringVar(&f.workspace, "workspace", "", "run in this `WORKSPACE`, or in that of a run, on its host; waits while another run is active in it")
	cmd.Flags().StringVar(&f.model, "model", "", "`NAME` of the model, if the provider takes one (default: the project's, then that of [runs])")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "`DIR` to work in, on the host (default: the project's, or the current one when the run goes to this machine)")
	cmd.Flags().Var(f.env, "env", "a variable `NAME=VALUE` of the session; may be repeated")
	cmd.Flags().Var(newChoice(&f.policy, string(svc.RestartNever), "never", "on_failure", "always"), "restart", "start again: `WHEN` is never, on_failure or always")
	cmd.Flags().IntVar(&f.restarts, "max-restarts", svc.DefaultMaxRestarts, "at most `N` times")
	cmd.Flags().StringArrayVar(&f.args, "arg", nil, "an `ARGUMENT` for the agent; may be repeated")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "let it wait in the queue as long as it takes, without a dispatch timeout")
	cmd.Flags().IntVar(&f.priority, "priority", 0, "`N` from -2 to 2; higher goes first")
	cmd.Flags().StringVar(&f.notBefore, "not-before", "", "start at this `TIME` or later: RFC 3339, or a duration from now such as 2h")
	cmd.Flags().Var(f.labels, "label", "only on hosts with this label, `NAME=VALUE`; may be repeated")
	cmd.Flags().BoolVar(&f.ignoreNeeds, "ignore-needs", false, "start although the task needs others")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "wait for its end; the exit code is its outcome")
}

func (a *app) runStart() *cobra.Command {
	var (
		f       runFlags
		all     bool
		project string
	)
	cmd := &cobra.Command{
		Use: "start TASK [-- ARGUMENT…]", Short: "Start an agent on a task", ValidArgsFunction: a.completes(taskNames),
		Long: "Start an agent on a task. The run is admitted at once and waits for a host;\n" +
			"everything after -- goes to the agent.\n\n" +
			"With --all instead of TASK, start a run of every task and subtask of a project with the status todo and no active run.",
		Example: "  svc run start CHECKOUT-12 --provider claude --watch\n  svc run start CHECKOUT-12 --provider demo -- --ask\n" +
			"  svc run start --all --project checkout --wait",
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		named, _ := splitAtDash(cmd, args)
		if all {
			if len(named) > 0 {
				return usage("leave TASK out, or --all", "--all takes no TASK, but %q is named", named[0])
			}
			return nil
		}
		if len(named) > 1 {
			return usage("start each task by a command of its own; what is for the agent follows --", "`%s` starts one task, but %q is named too", cmd.CommandPath(), named[1])
		}
		return takes("TASK")(cmd, named)
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		named, rest := splitAtDash(cmd, args)
		f.args = append(f.args, rest...)
		switch {
		case all:
			return a.startAll(ctx, c, project, f)
		case project != "":
			return usage("name a TASK alone, or --all --project PROJECT", "--project goes with --all")
		}
		w, err := a.task(ctx, c, named[0])
		if err != nil {
			return err
		}
		p, err := c.Project(ctx, w.ProjectID)
		if err != nil {
			return err
		}
		body, err := a.newRun(ctx, c, p, w, f)
		if err != nil {
			return err
		}
		body.TaskID = w.ID
		return a.startRun(ctx, c, body, f.watch, nil)
	})
	f.add(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "every task of a project with the status todo and no active run")
	cmd.Flags().StringVarP(&project, "project", "p", "", "the `PROJECT` of --all (default: that of the current folder, or the only one)")
	a.completeFlag(cmd, "project", projectNames)
	a.completeFlag(cmd, "provider", providerNames)
	a.completeFlag(cmd, "host", hostNames)
	return a.both(cmd)
}

// startRun creates a run and, if wait is set, waits for its end. It calls admitted, unless that is nil, after the run
// was created.
func (a *app) startRun(ctx context.Context, c *api.Client, body api.CreateRun, wait bool, admitted func(svc.Run)) error {
	r, err := c.CreateRun(ctx, body)
	if err != nil {
		return err
	}
	if admitted != nil {
		admitted(r)
	}
	begun, why := a.startedOrQueued(ctx, c, r)
	if wait {
		a.note("%s run %s with %s%s%s", begun, r.ID, r.Provider, worksWhere(ctx, c, r), why)
		return a.watch(ctx, c, r.ID)
	}
	if a.output == "table" {
		defer a.note("watch it with: %s run watch %s", a.self(), shortRun(r.ID))
	}
	return printDone(a, a.runView(nil), r, "%s run %s with %s%s%s", begun, r.ID, r.Provider, worksWhere(ctx, c, r), why)
}

// startedOrQueued describes a run that was just created: "started" when a host can take it, else "queued" with the
// reason.
func (a *app) startedOrQueued(ctx context.Context, c *api.Client, r svc.Run) (word, why string) {
	if a.output != "table" {
		return "", "" // the words are printed for people only
	}
	d, err := c.RunDetail(ctx, r.ID)
	if err != nil || d.Waiting == nil || len(d.Waiting.Why) == 0 && mayBeTaken(d.Waiting) {
		return "started", ""
	}
	return "queued", "; it waits: " + whyWaits(r, d.Waiting)
}

// mayBeTaken reports whether a host can take the run. A host without an explanation counts as one that can.
func mayBeTaken(w *svc.Waiting) bool {
	return w.HostsTotal > len(w.Hosts) || slices.ContainsFunc(w.Hosts, func(h svc.HostWithheld) bool { return h.Why == "eligible" })
}

// worksWhere names the folder in which a run works, as far as it is known before the run is on a host.
func worksWhere(ctx context.Context, c *api.Client, r svc.Run) string {
	if filepath.IsAbs(r.Cwd) {
		return " in " + r.Cwd
	}
	p, err := c.Project(ctx, r.ProjectID)
	switch {
	case err != nil || !p.Isolates() || r.WorkspaceID != nil:
		return ""
	case r.Cwd == "":
		return " in a copy of " + p.Repo
	default:
		return " in " + r.Cwd + " of a copy of " + p.Repo
	}
}

// newRun returns the request for a run of an item in a project, after it has checked everything that can be checked.
// The caller sets the item.
func (a *app) newRun(ctx context.Context, c *api.Client, p svc.Project, w svc.WorkItem, f runFlags) (body api.CreateRun, err error) {
	if body.Provider, err = a.pickProvider(ctx, c, p, f.provider, f.interactive); err != nil {
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
	if f.workspace != "" {
		w, err := a.theWorkspace(ctx, c, f.workspace)
		if err != nil {
			return body, err
		}
		body.WorkspaceID = api.Some(w.ID)
	}
	if len(f.args) > 0 {
		body.Args = api.Some(f.args)
	}
	if len(f.env) > 0 {
		body.Env = api.Some(map[string]string(f.env))
	}
	body.Model = given(f.cmd, "model", f.model)
	if body.Cwd, err = a.runFolder(ctx, c, p, body.HostID.Value, f); err != nil {
		return body, err
	}
	body.RestartPolicy = api.Some(svc.RestartPolicy(f.policy))
	body.MaxRestarts = api.Some(f.restarts)
	return body, a.queueing(&body.Queueing, f)
}

// queueing sets the fields about waiting from the flags.
func (a *app) queueing(q *api.Queueing, f runFlags) error {
	if f.wait {
		q.Wait = api.Some(true)
	}
	if f.priority != 0 {
		q.Priority = api.Some(f.priority)
	}
	if f.ignoreNeeds {
		q.IgnoreNeeds = api.Some(true)
	}
	if len(f.labels) > 0 {
		q.HostLabels = api.Some(map[string]string(f.labels))
	}
	if f.notBefore == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, f.notBefore)
	if after, isSpan := time.ParseDuration(f.notBefore); isSpan == nil {
		at, err = a.now().Add(after), nil
	}
	if err != nil {
		return usage("a time such as 2026-01-31T09:00:00Z, or a duration such as 2h", "--not-before %q is no time", f.notBefore)
	}
	q.NotBefore = api.Some(svc.TimeOf(at))
	return nil
}

// runFolder returns the folder of a run: that of --cwd, else none when the project has one, else the current folder
// when the run goes to this machine. host is the id of the host that the run must go to; empty: any.
func (a *app) runFolder(ctx context.Context, c *api.Client, p svc.Project, host string, f runFlags) (api.Opt[string], error) {
	if p.Isolates() || f.workspace != "" { // the folder is relative to the run's working copy
		return given(f.cmd, "cwd", f.cwd), nil
	}
	if f.cmd.Flags().Changed("cwd") {
		dir, err := a.fullPath(ctx, c, host, f.cwd)
		return api.Some(dir), err
	}
	if p.Cwd != "" {
		return api.Opt[string]{}, nil
	}
	dir, err := a.folderHere(ctx, c, host)
	switch {
	case err != nil:
		return api.Opt[string]{}, err
	case dir == "":
		a.note("no folder is named, so the agent works in its host's own default folder; --cwd DIR names one,\nor for all runs of the project: %s project update %s --cwd DIR", a.self(), projectWord(p))
		return api.Opt[string]{}, nil
	case a.isHome(dir):
		a.note("project %s has no folder, so the agent works in the current one, %s; start it in a folder of its own, or use --cwd DIR", projectWord(p), dir)
	default:
		a.note("project %s has no folder, so the agent works in the current one; `%s project update %s --cwd .` keeps it", projectWord(p), a.self(), projectWord(p))
	}
	return api.Some(dir), nil
}

// fullPath makes a relative path absolute when it is a path on this machine.
func (a *app) fullPath(ctx context.Context, c *api.Client, host, dir string) (string, error) {
	if dir == "" || filepath.IsAbs(dir) {
		return dir, nil
	}
	here, err := a.folderHere(ctx, c, host)
	if err != nil || here == "" {
		return dir, err
	}
	return filepath.Join(here, dir), nil
}

// promptOf returns the prompt of a run: that of --prompt, which may name a file, or the title and description of the
// task.
func promptOf(f runFlags, w svc.WorkItem) (string, error) {
	if !f.cmd.Flags().Changed("prompt") {
		return strings.TrimSpace(w.Title + "\n\n" + w.Description), nil
	}
	return textOrFile(f.prompt)
}

// textOrFile returns a text, or for @FILE the content of the file.
func textOrFile(text string) (string, error) {
	if file, ok := strings.CutPrefix(text, "@"); ok {
		text, err := os.ReadFile(file)
		return string(text), err
	}
	return text, nil
}

func (a *app) runRetry() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use: "retry RUN", Short: "Start a new run with the same fields as one that has ended", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		old, err := a.theRun(ctx, c, args[0])
		if err != nil {
			return err
		}
		if old.Status.Active() {
			return &problem{what: "run " + shortRun(old.ID) + " has not ended: it is " + string(old.Status), next: a.self() + " run stop " + shortRun(old.ID), exit: exitConflict}
		}
		r, err := c.Rerun(ctx, old.ID, api.Rerun{})
		if err != nil {
			return err
		}
		return a.startedAgain(ctx, c, r, watch)
	})
	cmd.Flags().BoolVar(&watch, "watch", false, "wait for its end; the exit code is its outcome")
	return a.both(cmd)
}

// startedAgain prints a run that was made from another one, and follows it if watch is set.
func (a *app) startedAgain(ctx context.Context, c *api.Client, r svc.Run, watch bool) error {
	begun, why := a.startedOrQueued(ctx, c, r)
	if watch {
		a.note("%s run %s%s", begun, r.ID, why)
		return a.watch(ctx, c, r.ID)
	}
	return printDone(a, a.runView(nil), r, "%s run %s with %s%s", begun, r.ID, r.Provider, why)
}
