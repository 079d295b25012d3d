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
		if err := a.placeTask(ctx, c, &body, project, parent); err != nil {
			return err
		}
		w, err := c.CreateWorkItem(ctx, body)
		if err != nil {
			return err
		}
		if !start {
			return printDone(a, a.taskView(), w, "made %s %s %q", w.Kind, a.short(w.ID, shortTask), w.Title)
		}
		a.note("made %s %s %q", w.Kind, w.ID, w.Title)
		return a.startRun(ctx, c, w, rf)
	})
	cmd.Flags().StringVarP(&project, "project", "p", "", "the `PROJECT` it belongs to (default: the only one)")
	cmd.Flags().StringVar(&parent, "parent", "", "the `TASK` it stands under")
	cmd.Flags().VarP(newChoice(&kind, string(svc.KindTask), "milestone", "epic", "task", "subtask"), "kind", "k", "`KIND`: milestone, epic, task or subtask")
	cmd.Flags().StringVarP(&description, "description", "d", "", "what is to be done, in Markdown")
	cmd.Flags().BoolVar(&auto, "auto-done", false, "it is done when a run of it reports completion")
	cmd.Flags().BoolVar(&start, "run", false, "start a run of it; the flags below are the run's")
	rf.add(cmd)
	a.completeFlag(cmd, "project", projectNames)
	a.completeFlag(cmd, "parent", taskNames)
	a.completeFlag(cmd, "provider", providerNames)
	a.completeFlag(cmd, "host", hostNames)
	return a.both(cmd)
}

// placeTask says where a new item stands: under its parent, or in a project.
func (a *app) placeTask(ctx context.Context, c *api.Client, body *api.CreateWorkItem, project, parent string) error {
	if parent != "" {
		p, err := a.task(ctx, c, parent)
		if err != nil {
			return err
		}
		body.ParentID, body.ProjectID = api.Some(p.ID), p.ProjectID
		if project == "" {
			return nil
		}
	}
	p, err := a.pickProject(ctx, c, project)
	body.ProjectID = p.ID
	return err
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
