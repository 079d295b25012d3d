package cli

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
	"svc/provider"
	"svc/rundir"
)

func (a *app) providerView() view[api.Provider] {
	return view[api.Provider]{
		name:  func(p api.Provider) string { return p.ID },
		empty: "no providers; `svc provider add PRESET` adds one to this machine's catalog",
		columns: []column[api.Provider]{
			{head: "PROVIDER", cell: func(p api.Provider) string { return p.ID }},
			{head: "NAME", cell: func(p api.Provider) string { return p.Name }},
			{head: "MODE", cell: modeWord},
			{head: "BINARY", cell: func(p api.Provider) string { return p.Bin }},
			{head: "CONTINUES", cell: continuesWord},
			{head: "AVAILABLE ON", cell: func(p api.Provider) string { return strings.Join(hostsWith(p, true), " ") }, flex: true,
				tone: func(api.Provider) tone { return good }},
			{head: "NOT ON", cell: func(p api.Provider) string { return strings.Join(hostsWith(p, false), " ") }, flex: true,
				tone: func(api.Provider) tone { return dim }},
		},
	}
}

// modeWord returns the mode of an entry whose tool has two modes.
func modeWord(p api.Provider) string {
	if p.Interactive {
		return "interactive mode of " + p.Tool
	}
	return ""
}

// continuesWord reports whether the tool can continue a conversation: on all hosts that have the tool, or on some.
// When no host has it, the orchestrator's own catalog decides.
func continuesWord(p api.Provider) string {
	have, can := 0, 0
	for _, h := range p.Hosts {
		if h.Available {
			have++
		}
		if h.Available && h.Resumes {
			can++
		}
	}
	switch {
	case have == 0 && p.Resumes, have > 0 && can == have:
		return "yes"
	case can > 0:
		return "on some"
	default:
		return "no"
	}
}

func hostsWith(p api.Provider, available bool) []string {
	var names []string
	for _, h := range p.Hosts {
		if h.Available == available {
			names = append(names, h.HostName)
		}
	}
	slices.Sort(names)
	return names
}

func (a *app) providerCommand() *cobra.Command {
	return group(&cobra.Command{Use: "provider", Short: "The agents' command-line tools"}, a.providerList(), a.providerDoctor(), a.providerAdd(), a.providerTest())
}

func (a *app) providerList() *cobra.Command {
	var all bool
	cmd := &cobra.Command{Use: "list", Short: "List providers, and the hosts that have them", Args: takes(), RunE: a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
		list, err := c.Providers(ctx)
		if err != nil {
			return err
		}
		if !all {
			list = slices.DeleteFunc(list, func(p api.Provider) bool { return hiddenProvider(p.ID, availableSomewhere(p)) })
		}
		return printList(a, a.providerView(), list)
	})}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also show standard ids that no host has")
	return a.reading(cmd)
}

// finding is the result of a check of one provider.
type finding struct {
	Provider  string `json:"provider"`
	Binary    string `json:"binary"`
	Version   string `json:"version"`
	Available bool   `json:"available"`
	Optional  bool   `json:"optional"`
	Reason    string `json:"reason"` // why it is not available
	AsksTrust bool   `json:"asks_trust"`
}

func (f finding) verdict() string {
	switch {
	case f.Available:
		return "✓ available"
	case f.Optional:
		return "- absent (optional)"
	default:
		return "✕ unavailable"
	}
}

func (f finding) tone() tone {
	switch {
	case f.Available:
		return good
	case f.Optional:
		return dim
	default:
		return bad
	}
}

func findingView() view[finding] {
	return view[finding]{
		name:  func(f finding) string { return f.Provider },
		empty: "the catalog is empty; `svc provider add PRESET` adds to it",
		columns: []column[finding]{
			{head: "PROVIDER", cell: func(f finding) string { return f.Provider }},
			{head: "BINARY", cell: func(f finding) string { return f.Binary }},
			{head: "VERSION", cell: func(f finding) string { return f.Version }, flex: true},
			{head: "VERDICT", cell: finding.verdict, tone: finding.tone},
			{head: "WHAT TO DO", cell: finding.whatToDo, flex: true},
		},
	}
}

// whatToDo returns the last part of the reason. The part before it is the PATH, which is the same for all.
func (f finding) whatToDo() string {
	if f.Available && f.AsksTrust {
		return "attach to its first run in each new folder: it asks whether the folder is trusted"
	}
	reason := strings.TrimSuffix(f.Reason, "; run: svc provider doctor "+f.Provider) // the user has just called that
	if i := strings.LastIndex(reason, "; "); i >= 0 && reason == f.Reason {
		return reason[i+2:]
	}
	return reason
}

func (a *app) providerDoctor() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "doctor [ID]", Short: "Check whether this machine has the providers' tools", Args: takes("[ID]"), ValidArgsFunction: a.completes(providerNames),
		Long: "Check whether this machine has the tools of its provider catalog, in the way in which its worker finds them.\n" +
			"A worker on this machine checks again, too, and reports the result to the orchestrator.\n" +
			"The exit code is 0 when every provider that is not optional is available, 1 otherwise.",
		RunE: func(cmd *cobra.Command, args []string) error {
			findings, err := a.examine(cmd.Context(), args)
			if err != nil {
				return err
			}
			if err := a.askWorkerToProbe(); err != nil {
				a.note("the worker of this machine could not be asked to look again: %v", err)
			}
			shown := findings
			if !all && len(args) == 0 {
				shown = slices.DeleteFunc(slices.Clone(findings), func(f finding) bool { return hiddenProvider(f.Provider, f.Available) })
			}
			if err := printList(a, findingView(), shown); err != nil {
				return err
			}
			if hidden := len(findings) - len(shown); hidden > 0 && a.output == "table" {
				a.note("%d of the standard ids are not installed; --all shows them", hidden)
			}
			if slices.ContainsFunc(findings, func(f finding) bool { return !f.Available && !f.Optional }) {
				if a.output == "table" {
					self, _ := os.Executable() // examine has found it before
					a.note("looked in PATH %s", a.searchPath(self))
				}
				return exitCode(exitFailed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also show standard ids that are not installed")
	return a.answering(cmd)
}

// examine probes all providers of this machine's catalog, or one of them.
func (a *app) examine(ctx context.Context, only []string) ([]finding, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	catalog := provider.Defaults()
	if registry, err := provider.Open(cfg.CatalogPath, provider.Options{}); err == nil {
		catalog = registry.Current()
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	path := a.searchPath(self)
	reports := map[string]svc.ProviderReport{}
	if len(only) > 0 {
		entry, err := catalog.Entry(only[0])
		if err != nil {
			return nil, missing("provider", only[0])
		}
		reports[entry.ID] = provider.Probe(ctx, entry, path)
	} else {
		reports = provider.ProbeAll(ctx, catalog, path)
	}
	var findings []finding
	for _, id := range slices.Sorted(maps.Keys(reports)) {
		entry, err := catalog.Entry(id)
		if err != nil {
			return nil, err
		}
		r := reports[id]
		findings = append(findings, finding{id, entry.Bin, r.Version, r.Available, entry.Optional, r.Reason, entry.AsksTrust})
	}
	return findings, ctx.Err()
}

// askWorkerToProbe asks the workers that run on this data directory to look for their tools again.
func (a *app) askWorkerToProbe() error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	for _, dir := range []rundir.Dir{rundir.Dir(cfg.DataDir), rundir.Dir(cfg.WorkerDir())} {
		if dir.WorkerAlive() {
			err = errors.Join(err, dir.AskProbe())
		}
	}
	return err
}

func (a *app) providerAdd() *cobra.Command {
	return &cobra.Command{
		Use: "add PRESET", Short: "Add a well-known tool to this machine's catalog", Args: takes("PRESET"), ValidArgs: provider.PresetNames(),
		Long: "Add a well-known tool to this machine's provider catalog. Presets: " + strings.Join(provider.PresetNames(), ", ") + ".\n" +
			"A worker on this machine notices the change without a restart.",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			ids, err := provider.Add(cfg.CatalogPath, args[0])
			if err != nil {
				return err
			}
			for _, id := range ids {
				a.out.println(id)
			}
			a.note("added to %s; `svc provider doctor %s` checks whether the tool is installed", cfg.CatalogPath, ids[0])
			return nil
		},
	}
}
