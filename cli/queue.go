package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

// waitingRun is a pending run and, with --why, the reasons for which it waits.
type waitingRun struct {
	svc.RunSummary
	Waiting *svc.Waiting `json:"waiting,omitempty"`
}

func (a *app) queueCommand() *cobra.Command {
	var (
		project, task string
		why           bool
		limit         int
	)
	cmd := &cobra.Command{
		Use: "queue", Short: "List the runs that wait, in the order in which they will start", Args: takes(),
		Long: "List the runs that wait, in the order in which they will start. Runs that lack more than a host\n" +
			"come last; --why says what holds them back, and for the others why no host has taken them.",
		Example: "  svc queue --why\n  svc queue --project website",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
		filter, err := a.runFilter(ctx, c, project, task, "")
		if err != nil {
			return err
		}
		runs, err := first(c.AllQueuedRuns(ctx, filter), limit)
		if err != nil {
			return err
		}
		waiting := make([]waitingRun, 0, len(runs))
		for _, r := range runs {
			w := waitingRun{RunSummary: r}
			if why {
				d, err := c.RunDetail(ctx, r.ID)
				if err != nil {
					return err
				}
				w.Waiting = d.Waiting // nil: it was placed meanwhile
			}
			waiting = append(waiting, w)
		}
		return printList(a, a.queueView(why), waiting)
	})
	cmd.Flags().StringVarP(&project, "project", "p", "", "only of this `PROJECT`")
	cmd.Flags().StringVar(&task, "task", "", "only of this `TASK`")
	cmd.Flags().BoolVar(&why, "why", false, "say why each waits")
	addLimit(cmd, &limit, svc.DefaultLimit)
	a.completeFlag(cmd, "project", projectNames)
	a.completeFlag(cmd, "task", taskNames)
	return a.reading(cmd)
}

func (a *app) queueView(why bool) view[waitingRun] {
	v := view[waitingRun]{
		name:  func(r waitingRun) string { return r.ID },
		empty: "nothing waits",
		columns: []column[waitingRun]{
			{head: "RUN", cell: func(r waitingRun) string { return a.short(r.ID, shortRun) }},
			{head: "TASK", cell: func(r waitingRun) string { return r.TaskRef() }},
			{head: "TITLE", cell: func(r waitingRun) string { return r.TaskTitle }, flex: true},
			{head: "PRIORITY", cell: func(r waitingRun) string { return strconv.Itoa(r.Priority) }},
			{head: "SINCE", cell: func(r waitingRun) string { return a.when(&r.PendingSince) }},
		},
	}
	if why {
		v.columns = append(v.columns,
			column[waitingRun]{head: "PLACE", cell: func(r waitingRun) string { return placeOf(r.Waiting) }},
			column[waitingRun]{head: "WHY", cell: func(r waitingRun) string { return whyWaits(r.Run, r.Waiting) }, flex: true})
	}
	return v
}

func placeOf(w *svc.Waiting) string {
	if w == nil || w.Position == nil {
		return ""
	}
	return strconv.Itoa(*w.Position)
}

// whyWaits describes the wait in one line: the reasons that hold the run back, else how many hosts do not take it,
// and why.
func whyWaits(r svc.Run, w *svc.Waiting) string {
	if w == nil {
		return "it was just placed"
	}
	var words []string
	for _, hold := range w.Why {
		words = append(words, hold.Message)
	}
	if len(words) > 0 {
		return strings.Join(words, "; ")
	}
	if w.HostsTotal == 0 {
		return "there is no host"
	}
	if len(w.Hosts) == 0 {
		return "which host could take it is known to an orchestrator that cannot be reached now"
	}
	reasons := map[string]int{}
	for _, h := range w.Hosts {
		reasons[h.Why]++
	}
	for reason, n := range reasons {
		text := strings.ReplaceAll(reason, "_", " ")
		if reason == "labels_missing" {
			text += " (" + joinPairs(r.HostLabels) + ")"
		}
		words = append(words, fmt.Sprintf("%s: %s", count(n, "host"), text))
	}
	slices.Sort(words)
	if more := w.HostsTotal - len(w.Hosts); more > 0 { // only some of many hosts have a reason in the answer
		words = append(words, count(more, "host")+" more")
	}
	return strings.Join(words, ", ")
}

func (a *app) runPriority() *cobra.Command {
	return a.both(&cobra.Command{
		Use: "priority RUN PRIORITY", Short: "Change the priority of a waiting run", Args: takes("RUN", "PRIORITY"), ValidArgsFunction: a.completes(runNames),
		Long:    "Change the priority of a waiting run: -2 to 2, higher goes first. Write a negative priority after --.",
		Example: "  svc run priority 1a2b3c4d 2\n  svc run priority 1a2b3c4d -- -1",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			priority, err := strconv.Atoi(args[1])
			if err != nil {
				return usage("a number from -2 to 2", "%q is not a priority", args[1])
			}
			r, err := a.theRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			if r, err = c.UpdateRun(ctx, r.ID, api.PatchRun{Priority: api.Some(priority)}); err != nil {
				return err
			}
			return printDone(a, a.runView(nil), r, "run %s has priority %d", a.short(r.ID, shortRun), r.Priority)
		}),
	})
}

func (a *app) runHold() *cobra.Command {
	return a.runWait(&cobra.Command{
		Use: "hold RUN…", Short: "Keep waiting runs from starting until they are released",
		Long: "Keep waiting runs from starting until they are released, even when hosts have room. They keep their priority and their age,\n" +
			"and the dispatch timeout does not count meanwhile. A hold is a not_before in the year 9999.",
		Example: "  svc run hold 1a2b3c4d 5e6f7a8b",
	}, api.Some(svc.HeldUntil), "held")
}

func (a *app) runRelease() *cobra.Command {
	return a.runWait(&cobra.Command{
		Use: "release RUN…", Short: "Let held runs start as soon as a host takes them",
		Long:    "Let held runs start as soon as a host takes them. This also removes a time before which a run must not start.",
		Example: "  svc run release 1a2b3c4d 5e6f7a8b",
	}, api.Null[svc.Time](), "released")
}

// runWait completes a command that sets the same not_before on each run that is named.
func (a *app) runWait(cmd *cobra.Command, notBefore api.Opt[svc.Time], done string) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = takes("RUN…"), a.completesUpTo(math.MaxInt, runNames)
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		for _, ref := range args {
			r, err := a.theRun(ctx, c, ref)
			if err != nil {
				return err
			}
			if r, err = c.UpdateRun(ctx, r.ID, api.PatchRun{NotBefore: notBefore}); err != nil {
				return err
			}
			if err := printDone(a, a.runView(nil), r, "%s run %s", done, a.short(r.ID, shortRun)); err != nil {
				return err
			}
		}
		return nil
	})
	return a.both(cmd)
}

func (a *app) runRerun() *cobra.Command {
	var (
		prompt, provider, model string
		watch                   bool
	)
	cmd := &cobra.Command{
		Use: "rerun RUN", Short: "Make a new run with the fields of another one, except those that flags change", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		old, err := a.theRun(ctx, c, args[0])
		if err != nil {
			return err
		}
		r, err := c.Rerun(ctx, old.ID, api.Rerun{Prompt: given(cmd, "prompt", prompt), Provider: given(cmd, "provider", provider), Model: given(cmd, "model", model)})
		if err != nil {
			return err
		}
		return a.startedAgain(ctx, c, r, watch)
	})
	cmd.Flags().StringVar(&prompt, "prompt", "", "the agent's prompt")
	cmd.Flags().StringVar(&provider, "provider", "", "`ID` of the agent")
	cmd.Flags().StringVar(&model, "model", "", "`NAME` of the model")
	cmd.Flags().BoolVar(&watch, "watch", false, "wait for its end; the exit code is its outcome")
	a.completeFlag(cmd, "provider", providerNames)
	return a.both(cmd)
}
