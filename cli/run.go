package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

// runWord returns a run's state in one word. That it waits for a person, or is being stopped, takes precedence over
// its status.
func runWord(r svc.Run) string {
	switch {
	case r.NeedsInput && r.Status == svc.RunRunning:
		return "needs you"
	case r.Status == svc.RunStopped && r.SessionOpen():
		return "stopping"
	default:
		return string(r.Status)
	}
}

func runTone(r svc.Run) tone {
	switch runWord(r) {
	case "needs you", "stopping":
		return warn
	case "running":
		return good
	case "failed":
		return bad
	case "pending", "spawning":
		return plain
	default:
		return dim
	}
}

// runNote returns the text for a run's NOTE column: its progress, its hint, or how it ended.
func runNote(r svc.Run) string {
	switch {
	case r.Status.Active() && r.ProgressMessage != nil:
		if r.ProgressPercent != nil {
			return fmt.Sprintf("%d%% %s", min(*r.ProgressPercent, 100), *r.ProgressMessage)
		}
		return *r.ProgressMessage
	case r.Status.Active() && r.Hint != nil:
		return *r.Hint
	case r.Status.Active():
		return ""
	}
	return ending(r)
}

func (a *app) runView(hosts map[string]svc.Host) view[svc.Run] {
	return view[svc.Run]{
		name:  func(r svc.Run) string { return r.ID },
		empty: "no runs here; `svc run start TASK` starts one",
		columns: []column[svc.Run]{
			{head: "RUN", cell: func(r svc.Run) string { return a.short(r.ID, shortRun) }},
			{head: "TASK", cell: func(r svc.Run) string { return r.TaskRef() }},
			{head: "TITLE", cell: func(r svc.Run) string { return r.TaskTitle }, flex: true},
			{head: "STATUS", cell: runWord, tone: runTone},
			{head: "PROVIDER", cell: func(r svc.Run) string { return r.Provider }},
			{head: "HOST", cell: func(r svc.Run) string { return whereItRuns(hosts, r) }},
			{head: "TRY", cell: func(r svc.Run) string { return strconv.Itoa(r.Attempt) }},
			{head: "CREATED", cell: func(r svc.Run) string { return a.when(&r.CreatedAt) }},
			{head: "OUTPUT", cell: func(r svc.Run) string { return a.when(r.LastOutputAt) }},
			{head: "NOTE", cell: runNote, flex: true},
		},
		fields: func(r svc.Run) []field { return a.runFields(r, hosts) },
	}
}

// summaryView shows the runs of a list.
func (a *app) summaryView(hosts map[string]svc.Host) view[svc.RunSummary] {
	return viewOf(a.runView(hosts), func(r svc.RunSummary) svc.Run { return r.Run })
}

func hostName(hosts map[string]svc.Host, id *string) string {
	if id == nil {
		return ""
	}
	if h, ok := hosts[*id]; ok {
		return h.Name
	}
	return *id
}

// whereItRuns returns the name of a run's host. For an active run it adds whether the host is offline or not
// connected, because the state of the run is then as old as the host's last report.
func whereItRuns(hosts map[string]svc.Host, r svc.Run) string {
	name := hostName(hosts, r.HostID)
	if r.HostID == nil || !r.Status.Active() {
		return name
	}
	switch h, known := hosts[*r.HostID]; {
	case !known || h.Connected:
		return name
	case h.Status == svc.HostOffline:
		return name + " (offline)"
	default:
		return name + " (not connected)"
	}
}

func (a *app) runFields(r svc.Run, hosts map[string]svc.Host) []field {
	needs, restarts := "", ""
	if r.NeedsInput {
		needs = "an answer: svc attach " + shortRun(r.ID)
	}
	if r.RestartPolicy != svc.RestartNever {
		restarts = fmt.Sprintf("%s, at most %d times", r.RestartPolicy, r.MaxRestarts)
	}
	fields := []field{
		{"run", r.ID}, {"task", r.TaskRef() + " " + r.TaskTitle}, {"status", runWord(r)}, {"needs", needs}, {"looks odd", text(r.Hint)}, {"progress", progress(r)}, {"provider", r.Provider},
		{"model", r.Model}, {"project", r.ProjectSlug}, {"host", whereItRuns(hosts, r)}, {"pinned to", hostName(hosts, r.PinnedHostID)},
		{"session", r.SessionName}, {"attempt", strconv.Itoa(r.Attempt)}, {"restarts", restarts}, {"queue", queueWords(r)}, {"cwd", folderOf(r)},
		{"args", strings.Join(r.Args, " ")}, {"env", joinPairs(r.Env)}, {"created", a.whenExactly(&r.CreatedAt)},
		{"started", a.whenExactly(r.StartedAt)}, {"last output", a.whenExactly(r.LastOutputAt)},
		{"ended", a.whenExactly(r.EndedAt)}, {"prompt", r.Prompt},
	}
	if r.ContinuesRunID != nil {
		fields = append(fields, field{"continues", *r.ContinuesRunID})
	}
	if c := r.Conversation; c != nil {
		fields = append(fields, field{"conversation", conversationWords(*c)})
	}
	if !r.Status.Active() {
		fields = append(fields, field{"outcome", ending(r)})
	}
	return fields
}

// folderOf describes the folder in which a run works, as far as the orchestrator has it.
func folderOf(r svc.Run) string {
	switch {
	case r.WorkspaceID != nil && r.Cwd == "":
		return "workspace " + *r.WorkspaceID
	case r.WorkspaceID != nil:
		return r.Cwd + " in workspace " + *r.WorkspaceID
	case r.Cwd == "":
		return "its host's own default; no folder was named"
	}
	return r.Cwd
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func progress(r svc.Run) string {
	if r.ProgressMessage == nil {
		return ""
	}
	if r.ProgressPercent != nil {
		return fmt.Sprintf("%d%% %s", min(*r.ProgressPercent, 100), *r.ProgressMessage)
	}
	return *r.ProgressMessage
}

// hostsByID reads all hosts, so that tables can show their names.
func hostsByID(ctx context.Context, c *api.Client) (map[string]svc.Host, error) {
	byID := map[string]svc.Host{}
	for h, err := range c.AllHosts(ctx) {
		if err != nil {
			return nil, err
		}
		byID[h.ID] = h
	}
	return byID, nil
}

func (a *app) runCommand() *cobra.Command {
	return group(&cobra.Command{Use: "run", Short: "Runs of agents: start, watch, stop"},
		a.runList(), a.runStart(), a.runShow(), a.runWatch(), a.runLogs(), a.runReplay(), a.runExport(), a.runScreen(), a.runKeys(), a.runSendMessage(), a.runStop(), a.runPriority(), a.runHold(), a.runRelease(), a.runRerun(), a.runRetry(), a.runContinue(), a.runDiff(), a.runComment(), a.runSend(), a.runFetch(), a.runLand(), a.runDiscard())
}

func (a *app) runList() *cobra.Command {
	var (
		project, task, host string
		statuses            []string
		active              bool
		limit               int
		by                  string
	)
	cmd := &cobra.Command{Use: "list", Short: "List runs, newest first", Args: takes(), RunE: a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
		filter, err := a.runFilter(ctx, c, project, task, host)
		if err != nil {
			return err
		}
		for _, s := range statuses {
			filter.Statuses = append(filter.Statuses, svc.RunStatus(s))
		}
		if active {
			filter.Statuses = []svc.RunStatus{svc.RunPending, svc.RunSpawning, svc.RunRunning}
		}
		runs, err := first(c.AllRuns(ctx, filter), limit)
		if err != nil {
			return err
		}
		if err := sortRuns(runs, by); err != nil {
			return err
		}
		return a.printRuns(ctx, c, runs)
	})}
	cmd.Flags().StringVarP(&project, "project", "p", "", "only of this `PROJECT`")
	cmd.Flags().StringVar(&task, "task", "", "only of this `TASK`")
	cmd.Flags().StringVar(&host, "host", "", "only on this `HOST`")
	cmd.Flags().StringSliceVarP(&statuses, "status", "s", nil, "only with this `STATUS`: pending, spawning, running, exited, failed, stopped; may be repeated")
	cmd.Flags().BoolVar(&active, "active", false, "only those that have not ended")
	cmd.Flags().StringVar(&by, "sort", "created", "order by this `WORD`: "+strings.Join(runOrderWords, ", ")+"; a minus in front reverses the order")
	completeWords(cmd, "sort", runOrderWords)
	addLimit(cmd, &limit, svc.DefaultLimit)
	a.completeFlag(cmd, "project", projectNames)
	a.completeFlag(cmd, "task", taskNames)
	a.completeFlag(cmd, "host", hostNames)
	completeWords(cmd, "status", svc.RunStatuses)
	return a.reading(cmd)
}

func (a *app) runFilter(ctx context.Context, c *api.Client, project, task, host string) (f svc.RunFilter, err error) {
	if project != "" {
		p, err := a.project(ctx, c, project)
		if err != nil {
			return f, err
		}
		f.ProjectID = p.ID
	}
	if task != "" {
		w, err := a.task(ctx, c, task)
		if err != nil {
			return f, err
		}
		f.TaskID = w.ID
	}
	if host != "" {
		h, err := a.host(ctx, c, host)
		if err != nil {
			return f, err
		}
		f.HostID = h.ID
	}
	return f, nil
}

// printRuns prints runs. It reads the names of hosts only for a table, which shows them.
func (a *app) printRuns(ctx context.Context, c *api.Client, runs []svc.RunSummary) error {
	var hosts map[string]svc.Host
	if a.output == "table" && len(runs) > 0 {
		var err error
		if hosts, err = hostsByID(ctx, c); err != nil {
			return err
		}
	}
	return printList(a, a.summaryView(hosts), runs)
}
