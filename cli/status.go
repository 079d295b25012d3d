package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

// status is the answer of `svc status`.
type status struct {
	Server   string           `json:"server"`
	Trouble  string           `json:"trouble,omitempty"`  // why the orchestrator cannot write; empty: it can
	Warnings []string         `json:"warnings,omitempty"` // what an operator should check at the orchestrator
	Hosts    []svc.Host       `json:"hosts"`
	NeedsYou []svc.RunSummary `json:"needs_you"`
	Active   []svc.RunSummary `json:"active"`
	Failed   []svc.RunSummary `json:"failed"` // the latest ones
}

func (a *app) statusCommand() *cobra.Command {
	return a.reading(&cobra.Command{
		Use: "status", Short: "One screen: server, hosts, what needs you, what runs", Args: takes(),
		RunE: a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
			s, err := a.readStatus(ctx, c)
			if err != nil {
				return err
			}
			if a.output != "table" {
				return printMachine(a, view[status]{name: func(s status) string { return s.Server }}, s)
			}
			a.printStatus(s)
			return nil
		}),
	})
}

// latestFailed is how many failed runs are shown.
const latestFailed = 3

func (a *app) readStatus(ctx context.Context, c *api.Client) (status, error) {
	s := status{Server: c.BaseURL, Hosts: []svc.Host{}, NeedsYou: []svc.RunSummary{}, Active: []svc.RunSummary{}}
	hosts, err := collect(c.AllHosts(ctx))
	if err != nil {
		return s, err
	}
	s.Hosts = append(s.Hosts, hosts...)
	if state, err := readiness(ctx, c.BaseURL); err == nil {
		s.Warnings = state.warnings
		if state.trouble != nil {
			s.Trouble = a.explain(state.trouble).what
		}
	}
	for r, err := range c.AllRuns(ctx, svc.RunFilter{Statuses: []svc.RunStatus{svc.RunPending, svc.RunSpawning, svc.RunRunning}}) {
		if err != nil {
			return s, err
		}
		if r.NeedsInput {
			s.NeedsYou = append(s.NeedsYou, r)
		} else {
			s.Active = append(s.Active, r)
		}
	}
	failed, err := c.Runs(ctx, svc.RunFilter{Statuses: []svc.RunStatus{svc.RunFailed}}, svc.Page{Limit: latestFailed})
	s.Failed = failed.Items
	return s, err
}

// mostAway bounds the hosts that are named because they are not connected or their catalog has an error.
const mostAway = 5

func (a *app) printStatus(s status) {
	st := a.stylesFor(a.out)
	if s.Trouble == "" {
		a.out.printf("%s %s\n", st.good.Render("✓"), s.Server)
	} else {
		a.out.printf("%s %s: %s\n", st.bad.Render("✗"), s.Server, s.Trouble)
	}
	for _, w := range s.Warnings {
		a.out.printf("  %s\n", st.warn.Render(w))
	}
	counts, byID := map[string]int{}, map[string]svc.Host{}
	var away []string
	for _, h := range s.Hosts {
		counts[hostWord(h)]++
		if a.notConnected(h) != "" {
			away = append(away, h.Name+" "+a.notConnected(h))
		} else if h.CatalogError != "" {
			away = append(away, h.Name+": the provider catalog has an error, and the last good one is in force: "+h.CatalogError)
		}
		byID[h.ID] = h
	}
	var words []string
	for _, word := range []string{"offline", "suspect", "cooling down", "disabled", "registered", "online"} {
		if counts[word] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[word], word))
		}
	}
	if len(words) == 0 {
		words = []string{"none yet; svc host create NAME"}
	}
	a.out.printf("  hosts: %s\n", strings.Join(words, ", "))
	for _, line := range away[:min(len(away), mostAway)] {
		a.out.printf("    %s\n", st.warn.Render(line))
	}
	a.printPart("needs you", s.NeedsYou, byID)
	a.printPart("active", s.Active, byID)
	a.printPart("failed last", s.Failed, byID)
	if len(s.NeedsYou)+len(s.Active)+len(s.Failed) == 0 {
		a.out.println("  nothing runs")
	}
}

func (a *app) printPart(title string, runs []svc.RunSummary, hosts map[string]svc.Host) {
	if len(runs) == 0 {
		return
	}
	a.out.printf("\n%s (%d)\n", a.stylesFor(a.out).bold.Render(title), len(runs))
	columns := a.summaryView(hosts).columns
	folder := column[svc.RunSummary]{head: "CWD", cell: func(r svc.RunSummary) string { return a.tilde(r.Cwd) }, flex: true}
	printTable(a, slices.Insert(columns, len(columns)-1, folder), runs)
}
