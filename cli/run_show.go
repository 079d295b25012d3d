package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) runShow() *cobra.Command {
	return a.reading(&cobra.Command{
		Use: "show RUN", Short: "Show a run, why it waits and the signals that led to its status", Args: takes("RUN"), ValidArgsFunction: a.completes(runNames),
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			r, err := a.theRun(ctx, c, args[0])
			if err != nil {
				return err
			}
			d, err := c.RunDetail(ctx, r.ID)
			if err != nil {
				return err
			}
			hosts, err := hostsByID(ctx, c)
			if err != nil {
				return err
			}
			return printOne(a, a.runDetailView(hosts), d)
		}),
	})
}

func (a *app) runDetailView(hosts map[string]svc.Host) view[svc.RunDetail] {
	return view[svc.RunDetail]{
		name: func(d svc.RunDetail) string { return d.ID },
		fields: func(d svc.RunDetail) []field {
			fields := a.runFields(d.Run, hosts)
			if d.Lease != nil {
				fields = append(fields, field{"keyboard", "held by " + d.Lease.Holder + " since " + a.whenExactly(&d.Lease.AttachedAt)})
			}
			return append(fields, field{"waits", a.waiting(d.Waiting)}, field{"evidence", a.evidence(d.Evidence)})
		},
	}
}

// waiting says why a pending run is not running, with a line for each host.
func (a *app) waiting(w *svc.Waiting) string {
	if w == nil {
		return ""
	}
	var lines []string
	if w.Position != nil {
		lines = append(lines, fmt.Sprintf("it is number %d in the queue", *w.Position))
	}
	for _, hold := range w.Why {
		lines = append(lines, hold.Message)
	}
	if w.TimesOutAt != nil {
		lines = append(lines, "fails at "+w.TimesOutAt.String()+" unless a host takes it")
	}
	if len(w.Hosts) == 0 {
		lines = append(lines, "there is no host; make one with: svc host create NAME")
	}
	for _, h := range w.Hosts {
		lines = append(lines, h.Name+": "+whyNot(h.Why))
	}
	if more := w.HostsTotal - len(w.Hosts); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more hosts", more))
	}
	return strings.Join(lines, "\n")
}

// whyNot describes why a host does not take a run, and what would change that.
func whyNot(why string) string {
	switch why {
	case "other_host_pinned":
		return "the run asks for another host"
	case "labels_missing":
		return "it does not have the labels that the run asks for"
	case "never_seen":
		return "its worker was never seen; start it there"
	case "offline":
		return "offline; look at the machine and its worker"
	case "disabled":
		return "disabled; svc host enable lets it take runs again"
	case "suspect":
		return "suspect: two workers claim to be it; `svc host show` says what to do"
	case "cooling_down":
		return "it cannot start runs and takes none for now; svc host show says why"
	case "disk_low":
		return "it has too little disk space free; svc host show says how much"
	case "no_workspaces":
		return "its worker cannot make working copies: update it, and install git 2.38 or newer"
	case "not_connected":
		return "its worker is not connected right now"
	case "refused":
		return "its worker refused this attempt"
	case "full":
		return "full: it has as many runs as it may"
	case "unconfirmed":
		return "it has not confirmed the runs it was given; they come first"
	case "provider_missing":
		return "it does not have the provider, and another host does"
	default:
		return "it can take the run"
	}
}

// evidence lists the signals that led to the run's status.
func (a *app) evidence(signals []svc.Evidence) string {
	lines := make([]string, len(signals))
	for i, e := range signals {
		source := string(e.Source)
		if e.By != nil {
			source = *e.By
		}
		lines[i] = fmt.Sprintf("attempt %d: %s from %s by %s, received %s", e.Attempt, e.Kind, source, e.Via, a.whenExactly(&e.ReceivedAt))
	}
	return strings.Join(lines, "\n")
}
