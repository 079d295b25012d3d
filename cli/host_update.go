package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) hostUpdate() *cobra.Command {
	var (
		name    string
		maxRuns int
		remove  []string
	)
	labels := pairs{}
	cmd := &cobra.Command{
		Use: "update HOST", Short: "Change a host's name, labels or limit", Args: takes("HOST"), ValidArgsFunction: a.completes(hostNames),
		Long: "Change a host's name, labels or limit. A worker joins by the name of its host, so after a change of the name its\nworker must be started with the new one.",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		flags := cmd.Flags()
		if !flags.Changed("name") && !flags.Changed("max-runs") && len(labels)+len(remove) == 0 {
			return nothingToChange(cmd)
		}
		h, err := a.host(ctx, c, args[0])
		if err != nil {
			return err
		}
		patch := api.PatchHost{Name: given(cmd, "name", name)}
		switch {
		case maxRuns > 0:
			patch.MaxRuns = api.Some(maxRuns)
		case flags.Changed("max-runs"):
			patch.MaxRuns = api.Null[int]()
		}
		if len(labels)+len(remove) > 0 {
			all := maps.Clone(h.Labels)
			maps.Copy(all, labels)
			for _, gone := range remove {
				delete(all, gone)
			}
			patch.Labels = api.Some(all)
		}
		if h, err = c.UpdateHost(ctx, h.ID, patch); err != nil {
			return err
		}
		return printDone(a, a.hostView(), h, "changed host %s", h.Name)
	})
	cmd.Flags().StringVar(&name, "name", "", "the new name")
	cmd.Flags().IntVar(&maxRuns, "max-runs", 0, "at most `N` runs at once; 0: no limit")
	cmd.Flags().Var(labels, "label", "set a label `NAME=VALUE`; may be repeated")
	cmd.Flags().StringSliceVar(&remove, "remove-label", nil, "remove the label with this `NAME`; may be repeated")
	return a.both(cmd)
}

// drainPoll is the time between two reads of the host during a drain.
const drainPoll = 500 * time.Millisecond

func (a *app) hostDrain() *cobra.Command {
	return a.both(&cobra.Command{
		Use: "drain HOST", Short: "Disable a host, and wait until its runs have ended", Args: takes("HOST"), ValidArgsFunction: a.completes(hostNames),
		Long: "Disable a host and wait until its runs have ended; nothing is stopped. At --timeout it ends with\n" +
			"exit code 8; the host stays disabled. `svc host enable` gives it new runs again.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			h, err := a.host(ctx, c, args[0])
			if err != nil {
				return err
			}
			if h, err = c.DisableHost(ctx, h.ID); err != nil {
				return err
			}
			if h, err = a.drained(ctx, c, h); err != nil {
				return err
			}
			return printDone(a, a.hostView(), h, "%s has no runs any more and gets no new ones", h.Name)
		}),
	})
}

// drained waits until a host has no active runs.
func (a *app) drained(ctx context.Context, c *api.Client, h svc.Host) (svc.Host, error) {
	wait := a.spin()
	defer wait.stop()
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for last := 0; h.ActiveRuns > 0; {
		wait.say(fmt.Sprintf("%s still has %d active runs", h.Name, h.ActiveRuns))
		if h.ActiveRuns != last && !isTerminal(a.err) {
			a.note("%s gets no new runs; waiting for %d that it has", h.Name, h.ActiveRuns)
		}
		last = h.ActiveRuns
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return h, &problem{
					what: fmt.Sprintf("%s still has %d active runs after %s", h.Name, h.ActiveRuns, a.timeout), why: "it is disabled, and nothing was stopped",
					next: "`" + a.self() + " run list --active --host " + h.Name + "` shows them", exit: exitPending, err: ctx.Err(),
				}
			}
			return h, ctx.Err()
		case <-tick.C:
		}
		err := patiently(ctx, func() (err error) {
			now, err := c.Host(ctx, h.ID)
			if err == nil {
				h = now
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			return h, err
		}
	}
	return h, nil
}
