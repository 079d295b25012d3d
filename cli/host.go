package cli

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

// hostWord returns a host's state in one word. When several apply, it returns the worst.
func hostWord(h svc.Host) string {
	if h.InstanceSuspect && h.Status != svc.HostOffline {
		return "suspect"
	}
	if h.Refusing != nil && h.Status == svc.HostOnline {
		return "cooling down"
	}
	return string(h.Status)
}

func hostTone(h svc.Host) tone {
	switch hostWord(h) {
	case "online":
		if !h.Connected {
			return warn
		}
		return good
	case "offline":
		return bad
	case "suspect", "cooling down":
		return warn
	default:
		return dim
	}
}

// notConnected says for how long a host that still counts as alive has had no connection. It is empty when the host
// is connected, when it is offline, and when it was never seen.
func (a *app) notConnected(h svc.Host) string {
	switch {
	case h.Connected || h.Status == svc.HostOffline || h.Status == svc.HostRegistered:
		return ""
	case h.DisconnectedSince == nil:
		return "not connected"
	}
	return "not connected for " + age(svc.TimeOf(a.now()).Sub(*h.DisconnectedSince))
}

// hostState returns a host's state and, when it has no connection, since when.
func (a *app) hostState(h svc.Host) string {
	if away := a.notConnected(h); away != "" {
		return hostWord(h) + ", " + away
	}
	return hostWord(h)
}

func availableOn(h svc.Host) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(h.Providers)) {
		if h.Providers[id].Available {
			ids = append(ids, id)
		}
	}
	return ids
}

func (a *app) hostView() view[svc.Host] {
	return view[svc.Host]{
		name:  func(h svc.Host) string { return h.Name },
		empty: "no hosts yet; `svc host create NAME` makes one",
		columns: []column[svc.Host]{
			{head: "HOST", cell: func(h svc.Host) string { return h.Name }},
			{head: "STATUS", cell: a.hostState, tone: hostTone},
			{head: "RUNS", cell: func(h svc.Host) string {
				if h.MaxRuns == nil {
					return strconv.Itoa(h.ActiveRuns)
				}
				return fmt.Sprintf("%d of %d", h.ActiveRuns, *h.MaxRuns)
			}},
			{head: "SEEN", cell: func(h svc.Host) string { return a.when(h.LastSeenAt) }},
			{head: "PLATFORM", cell: func(h svc.Host) string { return h.Platform }},
			{head: "PROVIDERS", cell: func(h svc.Host) string { return strings.Join(availableOn(h), " ") }, flex: true},
		},
		fields: a.hostFields,
	}
}

func (a *app) hostFields(h svc.Host) []field {
	fields := []field{
		{"host", h.Name}, {"id", h.ID}, {"status", a.hostState(h)}, {"last seen", a.whenExactly(h.LastSeenAt)},
		{"active runs", strconv.Itoa(h.ActiveRuns)}, {"max runs", "no limit"}, {"platform", h.Platform},
		{"worker", h.WorkerVersion}, {"labels", joinPairs(h.Labels)}, {"instance", deref(h.InstanceID)},
		{"suspect instance", deref(h.SuspectInstanceID)}, {"worker key", deref(h.WorkerKey)}, {"suspect key", suspectKey(h)},
		{"disk free", diskWords(h)}, {"containment", h.Containment}, {"scopes", h.Scopes}, {"catalog", h.CatalogHash}, {"created", a.whenExactly(&h.CreatedAt)},
	}
	if h.MaxRuns != nil {
		fields[5].text = strconv.Itoa(*h.MaxRuns)
	}
	if h.InstanceSuspect {
		fields = append(fields, field{"what to do", suspectAdvice(h.Name)})
	}
	if h.Refusing != nil {
		fields = append(fields, field{"takes no runs", h.Refusing.Message + "; it checks again " + a.whenExactly(&h.Refusing.Until)})
	}
	if h.CatalogError != "" {
		fields = append(fields, field{"catalog error", h.CatalogError + "; the last good one is in force"})
	}
	for _, id := range slices.Sorted(maps.Keys(h.Providers)) {
		r := h.Providers[id]
		word := "✓ " + r.Version
		if !r.Available {
			word = "✕ " + r.Reason
		}
		fields = append(fields, field{"provider " + id, word})
	}
	return fields
}

// suspectKey returns the key that a second worker used instead of the pinned one.
func suspectKey(h svc.Host) string {
	if h.SuspectWorkerKey != nil && *h.SuspectWorkerKey == "" {
		return "none: it came without one"
	}
	return deref(h.SuspectWorkerKey)
}

// suspectAdvice says what to do about two workers with one name. Clearing accepts the newer worker, so it is right
// only when the newer one is to stay.
func suspectAdvice(host string) string {
	return "if the host was moved or reinstalled: end the old worker, then `svc host clear-suspect " + host + "` accepts the new one; " +
		"if it was copied: end the copy's worker, give it a name of its own with `svc host create`, and then clear it here"
}

// diskWords returns the disk space that is free on the host; empty: the host did not report it.
func diskWords(h svc.Host) string {
	if h.DiskFreeBytes == nil {
		return ""
	}
	return sizeWords(*h.DiskFreeBytes)
}

func deref[T ~string](p *T) string {
	if p == nil {
		return ""
	}
	return string(*p)
}

func joinPairs(m map[string]string) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		words = append(words, k+"="+m[k])
	}
	return strings.Join(words, " ")
}

func (a *app) hostCommand() *cobra.Command {
	return group(&cobra.Command{Use: "host", Short: "Machines on which runs are started"},
		a.hostList(), a.hostShow(), a.hostCreate(),
		a.hostAction("enable", "Let a host take new runs again", "%s gets new runs again", (*api.Client).EnableHost),
		a.hostAction("disable", "Let a host take no new runs; its active runs continue", "%s gets no new runs; nothing was stopped", (*api.Client).DisableHost),
		a.hostAction("clear-suspect", "Accept the new identity of a suspect host", "%s is trusted again", (*api.Client).ClearSuspect),
		a.hostUpdate(), a.hostDrain(), a.hostRotateToken(), a.hostDelete())
}

func (a *app) hostList() *cobra.Command {
	return a.reading(&cobra.Command{Use: "list", Short: "List hosts, by name", Args: takes(), RunE: a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
		hosts, err := collect(c.AllHosts(ctx))
		if err != nil {
			return err
		}
		return printList(a, a.hostView(), hosts)
	})})
}

func (a *app) hostShow() *cobra.Command {
	return a.reading(&cobra.Command{
		Use: "show HOST", Short: "Show a host", Args: takes("HOST"), ValidArgsFunction: a.completes(hostNames),
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			h, err := a.host(ctx, c, args[0])
			if err != nil {
				return err
			}
			return printOne(a, a.hostView(), h)
		}),
	})
}

// newHost is a host together with what its worker needs to join.
type newHost struct {
	svc.Host
	Token   string `json:"token"`
	Command string `json:"command"` // the command to paste on the new host
}

func (a *app) hostCreate() *cobra.Command {
	var maxRuns int
	labels := pairs{}
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a host, and print the command that joins it", Args: takes("NAME"),
		Long: "Make a host and print the command to paste on it. The token in the command is valid only for this host;\n" +
			"for a host that exists, the command is printed again. The address in it is the one that was given\n" +
			"with --server, else an address of this machine at which the orchestrator answers.",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		body := api.CreateHost{Name: args[0]}
		if cmd.Flags().Changed("max-runs") {
			body.MaxRuns = api.Some(maxRuns)
		}
		if len(labels) > 0 {
			body.Labels = api.Some(map[string]string(labels))
		}
		h, err := c.CreateHost(ctx, body)
		if svc.CodeOf(err) == svc.CodeConflict && !body.MaxRuns.Set && !body.Labels.Set {
			h, err = c.Host(ctx, args[0])
		}
		if err != nil {
			return err
		}
		token, err := c.HostToken(ctx, h.ID)
		if err != nil {
			return err
		}
		return a.printJoin(ctx, c, h, token)
	})
	cmd.Flags().IntVar(&maxRuns, "max-runs", 0, "at most `N` runs at once (default: no limit)")
	cmd.Flags().Var(labels, "label", "a label `NAME=VALUE`; may be repeated")
	return a.both(cmd)
}

// printJoin prints the command that a new host's worker joins with.
func (a *app) printJoin(ctx context.Context, c *api.Client, h svc.Host, token string) error {
	server := outwardURL(ctx, c.BaseURL)
	made := newHost{Host: h, Token: token, Command: joinCommand(server, h.Name, token)}
	if a.output == "table" {
		a.noteJoin(server, h.Name)
	}
	return printDone(a, view[newHost]{name: func(h newHost) string { return h.Name }}, made, "%s", made.Command)
}

func (a *app) hostRotateToken() *cobra.Command {
	return a.both(&cobra.Command{
		Use: "rotate-token HOST", Short: "Make a new token for a host, and print the command that joins it", Args: takes("HOST"), ValidArgsFunction: a.completes(hostNames),
		Long: "Make a new token for a host. The former one works for 10 more minutes, so that there is time to give the new one to the worker.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			h, err := a.host(ctx, c, args[0])
			if err != nil {
				return err
			}
			token, err := c.RotateHostToken(ctx, h.ID)
			if err != nil {
				return err
			}
			return a.printJoin(ctx, c, h, token)
		}),
	})
}

func joinCommand(server, name, token string) string {
	return fmt.Sprintf("SVC_WORKER_TOKEN=%s svc worker --store-token --server %s --host-name %s", shellQuote(token), shellQuote(server), shellQuote(name))
}

func (a *app) noteJoin(server, name string) {
	a.note("Paste this on %s, where svc and tmux are installed; `svc worker install` there keeps it running:", name)
	if u, err := url.Parse(server); err == nil && isLoopback(u.Hostname()) {
		a.note("(replace %s by an address of this machine that %s can reach)", u.Hostname(), name)
	}
}

func (a *app) hostAction(verb, short, done string, act func(*api.Client, context.Context, string) (svc.Host, error)) *cobra.Command {
	return a.both(&cobra.Command{
		Use: verb + " HOST", Short: short, Args: takes("HOST"), ValidArgsFunction: a.completes(hostNames),
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			h, err := a.host(ctx, c, args[0])
			if err != nil {
				return err
			}
			if h, err = act(c, ctx, h.ID); err != nil {
				return err
			}
			return printDone(a, a.hostView(), h, done, h.Name)
		}),
	})
}

func (a *app) hostDelete() *cobra.Command {
	var yes, force bool
	cmd := &cobra.Command{
		Use: "delete HOST", Short: "Delete a host that has no active runs", Args: takes("HOST"), ValidArgsFunction: a.completes(hostNames),
		Long: "Delete a host that has no active runs. With --force, also delete one that never comes back: its active runs fail with\n" +
			"host_lost, those whose restart policy allows it start again on another host, and sessions that could not be ended count as ended.",
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			h, err := a.host(ctx, c, args[0])
			if err != nil {
				return err
			}
			if err := a.confirm(yes, "Delete host %s? Its worker cannot connect any more afterwards.%s", h.Name, endedBy(force, h)); err != nil {
				return err
			}
			if err := c.DeleteHost(ctx, h.ID, force); err != nil {
				return err
			}
			a.out.printf("deleted host %s\n", h.Name)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "first end its runs as host_lost, then delete it")
	addYes(cmd, &yes)
	return a.asking(cmd)
}

// endedBy says what a forced deletion of a host ends.
func endedBy(force bool, h svc.Host) string {
	if !force || h.ActiveRuns == 0 {
		return ""
	}
	text := fmt.Sprintf(" Its active runs (%d) fail with host_lost, and start again on another host if their restart policy allows it.", h.ActiveRuns)
	if h.Status == svc.HostOnline {
		text += " The host is online: stopping its runs first is the better way."
	}
	return text
}
