package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) replicaCommand() *cobra.Command {
	return group(&cobra.Command{Use: "replica", Short: "Orchestrator processes"}, a.replicaList(), a.replicaDrain())
}

func (a *app) replicaView() view[svc.Replica] {
	return view[svc.Replica]{
		name: func(r svc.Replica) string { return r.ID },
		columns: []column[svc.Replica]{
			{head: "REPLICA", cell: func(r svc.Replica) string { return r.ID }},
			{head: "STATE", cell: func(r svc.Replica) string { return string(r.State) }, tone: func(r svc.Replica) tone {
				return map[svc.ReplicaState]tone{svc.ReplicaReady: good, svc.ReplicaDraining: warn, svc.ReplicaGone: dim}[r.State]
			}},
			{head: "LEADER", cell: func(r svc.Replica) string {
				if r.Leader {
					return "yes"
				}
				return ""
			}},
			{head: "WORKERS", cell: func(r svc.Replica) string { return strconv.Itoa(r.Uplinks) }},
			{head: "VERSION", cell: func(r svc.Replica) string { return r.Version }},
			{head: "SINCE", cell: func(r svc.Replica) string { return a.when(&r.Since) }},
			{head: "SEEN", cell: func(r svc.Replica) string { return a.when(&r.LastSeenAt) }},
			{head: "ADDRESS", cell: func(r svc.Replica) string { return r.Address }},
		},
	}
}

func (a *app) replicaList() *cobra.Command {
	return a.reading(&cobra.Command{
		Use: "list", Short: "List the orchestrator processes, newest first", Args: takes(),
		Long: "List the orchestrator processes on the database, newest first. Those that are gone stay in the list for a day.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
			replicas, err := collect(c.AllReplicas(ctx))
			if err != nil {
				return err
			}
			return printList(a, a.replicaView(), replicas)
		}),
	})
}

func (a *app) replicaDrain() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "drain ID", Short: "End an orchestrator in order; its workers connect again", Args: takes("ID"), ValidArgsFunction: a.completes(replicaIDs),
		Long: "End an orchestrator in order: it asks its workers to connect again, ends streams and attached terminals, and exits with 0.\n" +
			"Runs continue. A drain cannot be undone: start the orchestrator again when it shall serve again.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			r, err := find(args[0], "replica", c.AllReplicas(ctx), func(r svc.Replica) candidate { return candidate{r.ID, "", string(r.State) + " " + r.Address} })
			if err != nil {
				return err
			}
			if err := a.confirmOnTerminal(yes, "Drain replica %s? It ends, and is not started again by svc.", r.ID); err != nil {
				return err
			}
			if r, err = c.DrainReplica(ctx, r.ID); err != nil {
				return err
			}
			a.out.printf("replica %s is draining\n", r.ID)
			return nil
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return a.asking(cmd)
}

func replicaIDs(ctx context.Context, c *api.Client) []string {
	var out []string
	for r, err := range c.AllReplicas(ctx) {
		if err != nil {
			break // the ids that were read so far are offered
		}
		if r.State != svc.ReplicaGone {
			out = append(out, cobra.CompletionWithDesc(r.ID, string(r.State)))
		}
	}
	return out
}
