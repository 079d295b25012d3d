package cli

import (
	"context"

	"github.com/spf13/cobra"

	"svc/api"
)

func (a *app) taskNeed() *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use: "need TASK OTHER", Short: "Let a task wait until another one is done", Args: takes("TASK", "OTHER"), ValidArgsFunction: a.completesUpTo(2, taskNames),
		Long: "Let a task wait until another one is done: runs of TASK, and of everything below it, start only then.\n" +
			"Runs that were made with --ignore-needs do not wait.",
		Example: "  svc task need CHECKOUT-12 CHECKOUT-11\n  svc task need CHECKOUT-12 CHECKOUT-11 --remove",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		w, err := a.task(ctx, c, args[0])
		if err != nil {
			return err
		}
		other, err := a.task(ctx, c, args[1])
		if err != nil {
			return err
		}
		if remove {
			if err := c.RemoveNeed(ctx, w.ID, other.ID); err != nil {
				return err
			}
			a.out.printf("%s no longer needs %s\n", w.Ref(), other.Ref())
			return nil
		}
		if err := c.AddNeed(ctx, w.ID, other.ID); err != nil {
			return err
		}
		a.out.printf("%s needs %s\n", w.Ref(), other.Ref())
		return nil
	})
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the need")
	return a.asking(cmd)
}
