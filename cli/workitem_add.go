package cli

import (
	"context"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) taskAdd() *cobra.Command {
	var (
		project, parent, kind, description string
		auto, start                        bool
		needs                              []string
		rf                                 runFlags
	)
	cmd := &cobra.Command{
		Use: "add TITLE", Short: "Make a work item, and with --run start an agent on it at once", Args: takes("TITLE"),
		Example: "  svc task add \"Say hello\" --run\n  svc task add \"Release 1.0\" --kind milestone --project website",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		body := api.CreateWorkItem{Kind: svc.Kind(kind), Title: args[0], Description: given(cmd, "description", description)}
		if cmd.Flags().Changed("auto-done") {
			body.AutoMarkDone = api.Some(auto)
		}
		p, plan, err := a.placeTask(ctx, c, &body, project, parent)
		if err != nil {
			return err
		}
		if start && len(needs) == 0 {
			return a.addAndRun(ctx, c, p, plan, body, rf)
		}
		others, err := a.tasks(ctx, c, needs) // checked before anything is made
		if err != nil {
			return err
		}
		if p, err = a.makeProject(ctx, c, p, plan); err != nil {
			return err
		}
		body.ProjectID = p.ID
		w, err := c.CreateWorkItem(ctx, body)
		if err != nil {
			return err
		}
		if w, err = addNeeds(ctx, c, w, others); err != nil {
			return err
		}
		if start { // after the needs, so that the run cannot start before they are met
			run, err := a.newRun(ctx, c, p, w, rf)
			if err != nil {
				return err
			}
			run.TaskID = w.ID
			a.note("made %s %s %q", w.Kind, w.Ref(), w.Title)
			return a.startRun(ctx, c, run, rf.watch, nil)
		}
		return printDone(a, a.taskView(), w, "made %s %s %q", w.Kind, w.Ref(), w.Title)
	})
	cmd.Flags().StringVarP(&project, "project", "p", "", "the `PROJECT` it belongs to (default: that of the current folder, or the only one)")
	cmd.Flags().StringVar(&parent, "parent", "", "its parent `TASK`")
	cmd.Flags().VarP(newChoice(&kind, string(svc.KindTask), "milestone", "epic", "task", "subtask"), "kind", "k", "`KIND`: milestone, epic, task or subtask")
	cmd.Flags().StringVarP(&description, "description", "d", "", "what is to be done, in Markdown")
	cmd.Flags().BoolVar(&auto, "auto-done", false, "it is done when a run of it reports completion")
	cmd.Flags().StringSliceVar(&needs, "needs", nil, "the `TASK` that must be done before; may be repeated")
	cmd.Flags().BoolVar(&start, "run", false, "start a run of it; the flags below are the run's")
	rf.add(cmd)
	a.completeFlag(cmd, "project", projectNames)
	a.completeFlag(cmd, "parent", taskNames)
	a.completeFlag(cmd, "needs", taskNames)
	a.completeFlag(cmd, "provider", providerNames)
	a.completeFlag(cmd, "host", hostNames)
	return a.both(cmd)
}

// tasks resolves the names of items.
func (a *app) tasks(ctx context.Context, c *api.Client, refs []string) ([]svc.WorkItem, error) {
	found := make([]svc.WorkItem, len(refs))
	for i, ref := range refs {
		w, err := a.task(ctx, c, ref)
		if err != nil {
			return nil, err
		}
		found[i] = w
	}
	return found, nil
}

// addNeeds makes a new item wait for others.
func addNeeds(ctx context.Context, c *api.Client, w svc.WorkItem, others []svc.WorkItem) (svc.WorkItem, error) {
	for _, other := range others {
		if err := c.AddNeed(ctx, w.ID, other.ID); err != nil {
			return w, err
		}
	}
	if len(others) == 0 {
		return w, nil
	}
	return c.WorkItem(ctx, w.ID)
}

// placeTask decides where a new item belongs: under its parent, or in a project, which may have to be made.
func (a *app) placeTask(ctx context.Context, c *api.Client, body *api.CreateWorkItem, project, parent string) (svc.Project, *projectPlan, error) {
	if parent != "" {
		above, err := a.task(ctx, c, parent)
		if err != nil {
			return svc.Project{}, nil, err
		}
		body.ParentID = api.Some(above.ID)
		if project == "" {
			p, err := c.Project(ctx, above.ProjectID)
			return p, nil, err
		}
	}
	return a.planProject(ctx, c, project)
}

// addAndRun makes a task and a run of it in one request, after it has checked everything that can be checked: a
// command that is refused makes nothing.
func (a *app) addAndRun(ctx context.Context, c *api.Client, p svc.Project, plan *projectPlan, task api.CreateWorkItem, f runFlags) error {
	body, err := a.newRun(ctx, c, p, svc.WorkItem{Title: task.Title, Description: task.Description.Value}, f)
	if err != nil {
		return err
	}
	if p, err = a.makeProject(ctx, c, p, plan); err != nil {
		return err
	}
	task.ProjectID = p.ID
	body.Task = &task
	return a.startRun(ctx, c, body, f.watch, func(r svc.Run) { a.note("made %s %s %q", task.Kind, r.TaskRef(), task.Title) })
}

func (a *app) taskUpdate() *cobra.Command {
	var (
		title, description, kind, status string
		auto                             bool
	)
	cmd := &cobra.Command{Use: "update TASK", Short: "Change a work item", Args: takes("TASK"), ValidArgsFunction: a.completes(taskNames)}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		patch := api.PatchWorkItem{Title: given(cmd, "title", title), Description: given(cmd, "description", description)}
		if cmd.Flags().Changed("kind") {
			patch.Kind = api.Some(svc.Kind(kind))
		}
		if cmd.Flags().Changed("status") {
			patch.Status = api.Some(svc.ItemStatus(status))
		}
		if cmd.Flags().Changed("auto-done") {
			patch.AutoMarkDone = api.Some(auto)
		}
		if patch == (api.PatchWorkItem{}) {
			return nothingToChange(cmd)
		}
		return a.changeTask(ctx, c, args[0], patch, "changed")
	})
	cmd.Flags().StringVar(&title, "title", "", "the new title")
	cmd.Flags().StringVarP(&description, "description", "d", "", "what is to be done, in Markdown")
	cmd.Flags().VarP(newChoice(&kind, "", "milestone", "epic", "task", "subtask"), "kind", "k", "`KIND`: milestone, epic, task or subtask")
	cmd.Flags().VarP(newChoice(&status, "", "todo", "doing", "done", "cancelled"), "status", "s", "`STATUS`: todo, doing, done or cancelled")
	cmd.Flags().BoolVar(&auto, "auto-done", false, "whether it is done when a run of it reports completion")
	return a.both(cmd)
}
