package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) notifyCommand() *cobra.Command {
	return group(&cobra.Command{Use: "notify", Short: "Notifications: the sinks that inbox entries are sent to"}, a.notifyList(), a.notifyTest())
}

func (a *app) sinkView() view[svc.SinkState] {
	return view[svc.SinkState]{
		name:  func(s svc.SinkState) string { return s.Name },
		empty: "there are no sinks for notifications; [[notify]] in the orchestrator's config.toml adds one",
		columns: []column[svc.SinkState]{
			{head: "SINK", cell: func(s svc.SinkState) string { return s.Name }},
			{head: "KIND", cell: func(s svc.SinkState) string { return string(s.Kind) }},
			{head: "WAITING", cell: func(s svc.SinkState) string { return strconv.Itoa(s.Waiting) }},
			{head: "SENT", cell: func(s svc.SinkState) string { return a.when(s.SentAt) }},
			{head: "FAILED", cell: func(s svc.SinkState) string { return a.when(s.FailedAt) }},
			{head: "ERROR", cell: func(s svc.SinkState) string { return s.Error }, tone: func(svc.SinkState) tone { return bad }, flex: true},
		},
	}
}

func (a *app) notifyList() *cobra.Command {
	return a.reading(&cobra.Command{
		Use: "list", Short: "List the sinks of notifications, with their state and last error", Args: takes(),
		RunE: a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
			sinks, err := c.Sinks(ctx)
			if err != nil {
				return err
			}
			return printList(a, a.sinkView(), sinks)
		}),
	})
}

func (a *app) notifyTest() *cobra.Command {
	return a.asking(&cobra.Command{
		Use: "test NAME", Short: "Send a test message to a sink", Args: takes("NAME"), ValidArgsFunction: a.completes(sinkNames),
		Long: "Send a test message to a sink of the orchestrator's config.toml, at once, and print whether the sink accepted it.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			err := c.TestSink(ctx, args[0])
			if svc.CodeOf(err) == svc.CodeNotFound {
				return &problem{what: fmt.Sprintf("there is no sink %q", args[0]), next: "`svc notify list` lists the existing ones", exit: exitNotFound, err: err}
			}
			if err != nil {
				return err
			}
			a.out.printf("sink %s accepted the message\n", args[0])
			return nil
		}),
	})
}

func sinkNames(ctx context.Context, c *api.Client) []string {
	var out []string
	sinks, _ := c.Sinks(ctx) // on an error, no names are offered
	for _, s := range sinks {
		out = append(out, cobra.CompletionWithDesc(s.Name, string(s.Kind)))
	}
	return out
}

// checkSinks checks the places that notifications go to.
func (a *app) checkSinks(ctx context.Context, c *api.Client) []checkup {
	sinks, err := c.Sinks(ctx)
	if err != nil {
		return nil // an older orchestrator, or an error that the check of the hosts reports too
	}
	var out []checkup
	for _, s := range sinks {
		name := "notify " + s.Name
		if s.Error == "" {
			out = append(out, checkup{name, fine, a.lastSent(s), ""})
			continue
		}
		out = append(out, checkup{name, warning, fmt.Sprintf("%s (%s, %d waiting)", s.Error, count(s.Failures, "failure"), s.Waiting),
			"correct its [[notify]] in the orchestrator's config.toml; `svc notify test " + s.Name + "` tries it"})
	}
	return out
}

// lastSent describes a sink without failures.
func (a *app) lastSent(s svc.SinkState) string {
	if s.SentAt == nil {
		return "no notification was sent to it yet; `svc notify test " + s.Name + "` tries it"
	}
	return "accepts notifications (last: " + a.when(s.SentAt) + ")"
}
