package cli

import (
	"context"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func itemTone(w svc.WorkItem) tone {
	switch w.Status {
	case svc.ItemDone:
		return good
	case svc.ItemDoing:
		return warn
	case svc.ItemCancelled:
		return dim
	default:
		return plain
	}
}

// The words that flags about work items take.
var (
	itemStatuses = []svc.ItemStatus{svc.ItemTodo, svc.ItemDoing, svc.ItemDone, svc.ItemCancelled}
	itemKinds    = []svc.Kind{svc.KindMilestone, svc.KindEpic, svc.KindTask, svc.KindSubtask}
)

func (a *app) taskView() view[svc.WorkItem] {
	return view[svc.WorkItem]{
		name:  func(w svc.WorkItem) string { return w.ID },
		empty: "no tasks here; `svc task add TITLE` makes one",
		columns: []column[svc.WorkItem]{
			{head: "TASK", cell: func(w svc.WorkItem) string { return w.Ref() }},
			{head: "KIND", cell: func(w svc.WorkItem) string { return string(w.Kind) }},
			{head: "STATUS", cell: func(w svc.WorkItem) string { return string(w.Status) }, tone: itemTone},
			{head: "TITLE", cell: func(w svc.WorkItem) string { return w.Title }, flex: true},
			{head: "RUN", cell: func(w svc.WorkItem) string { return a.runBrief(w.NewestRun) }},
			{head: "UPDATED", cell: func(w svc.WorkItem) string { return a.when(&w.UpdatedAt) }},
		},
		fields: func(w svc.WorkItem) []field {
			auto := ""
			if w.AutoMarkDone {
				auto = "when a run reports completion"
			}
			return []field{
				{"task", w.Ref()}, {"id", w.ID}, {"title", w.Title}, {"kind", string(w.Kind)}, {"status", string(w.Status)},
				{"set by", string(w.StatusSource)}, {"confidence", deref(w.Confidence)}, {"done by itself", auto},
				{"newest run", a.runBrief(w.NewestRun)}, {"project", w.ProjectSlug}, {"parent", deref(w.ParentID)}, {"created", a.whenExactly(&w.CreatedAt)},
				{"updated", a.whenExactly(&w.UpdatedAt)}, {"about", w.Description},
			}
		},
	}
}

// runBrief returns the id and the state of a task's newest run.
func (a *app) runBrief(r *svc.RunBrief) string {
	if r == nil {
		return ""
	}
	return a.short(r.ID, shortRun) + " " + runWord(svc.Run{Status: r.Status, NeedsInput: r.NeedsInput})
}

func (a *app) taskCommand() *cobra.Command {
	return group(&cobra.Command{Use: "task", Short: "Work items: milestones, epics, tasks and subtasks"},
		a.taskList(), a.taskTree(), a.taskShow(), a.taskAdd(), a.taskUpdate(), a.taskMove(), a.taskReparent(),
		a.taskNeed(), a.taskDone(), a.taskDelete())
}

// taskFilter are the flags that narrow a list.
type taskFilter struct {
	project, under, parent string
	roots                  bool
	statuses, kinds        []string
}

func (f *taskFilter) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.project, "project", "p", "", "only of this `PROJECT`")
	cmd.Flags().StringVar(&f.under, "under", "", "everything below this `TASK`")
	cmd.Flags().StringVar(&f.parent, "parent", "", "directly below this `TASK`")
	cmd.Flags().BoolVar(&f.roots, "roots", false, "only those without a parent")
	cmd.Flags().StringSliceVarP(&f.statuses, "status", "s", nil, "only with this `STATUS`: todo, doing, done, cancelled; may be repeated")
	cmd.Flags().StringSliceVarP(&f.kinds, "kind", "k", nil, "only of this `KIND`: milestone, epic, task, subtask; may be repeated")
}

// taskFilter resolves the names in the flags.
func (a *app) taskFilter(ctx context.Context, c *api.Client, f taskFilter) (svc.WorkItemFilter, error) {
	var out svc.WorkItemFilter
	if f.project != "" {
		p, err := a.project(ctx, c, f.project)
		if err != nil {
			return out, err
		}
		out.ProjectID = p.ID
	}
	if f.under != "" {
		w, err := a.task(ctx, c, f.under)
		if err != nil {
			return out, err
		}
		out.Under = w.ID
	}
	if f.parent != "" {
		w, err := a.task(ctx, c, f.parent)
		if err != nil {
			return out, err
		}
		out.Parent = &svc.ParentChange{ID: &w.ID}
	}
	if f.roots {
		out.Parent = &svc.ParentChange{}
	}
	for _, s := range f.statuses {
		out.Statuses = append(out.Statuses, svc.ItemStatus(s))
	}
	for _, k := range f.kinds {
		out.Kinds = append(out.Kinds, svc.Kind(k))
	}
	return out, nil
}

func (a *app) taskList() *cobra.Command {
	var f taskFilter
	var limit int
	cmd := &cobra.Command{Use: "list", Short: "List work items, in the order of the board", Args: takes(), RunE: a.calls(func(ctx context.Context, c *api.Client, _ []string) error {
		filter, err := a.taskFilter(ctx, c, f)
		if err != nil {
			return err
		}
		items, err := first(c.AllWorkItems(ctx, filter), limit)
		if err != nil {
			return err
		}
		return printList(a, a.taskView(), items)
	})}
	f.add(cmd)
	addLimit(cmd, &limit, 0)
	a.completeFlag(cmd, "project", projectNames)
	a.completeFlag(cmd, "under", taskNames)
	a.completeFlag(cmd, "parent", taskNames)
	completeWords(cmd, "status", itemStatuses)
	completeWords(cmd, "kind", itemKinds)
	return a.reading(cmd)
}

func addLimit(cmd *cobra.Command, limit *int, standard int) {
	cmd.Flags().IntVarP(limit, "limit", "n", standard, "at most `N`; 0: all")
}

func (a *app) taskShow() *cobra.Command {
	return a.reading(&cobra.Command{
		Use: "show TASK", Short: "Show a work item", Args: takes("TASK"), ValidArgsFunction: a.completes(taskNames),
		RunE: a.calls(func(ctx context.Context, c *api.Client, args []string) error {
			w, err := a.task(ctx, c, args[0])
			if err != nil {
				return err
			}
			view := a.taskView()
			if w.ParentID != nil {
				parent, err := c.WorkItem(ctx, *w.ParentID)
				if err != nil {
					return err
				}
				view.fields = withField(view.fields, "parent", parent.Ref()+" "+parent.Title)
			}
			return printOne(a, view, w)
		}),
	})
}

// withField replaces the text of one field by one that needs another record.
func withField[T any](fields func(T) []field, label, text string) func(T) []field {
	return func(of T) []field {
		all := fields(of)
		for i := range all {
			if all[i].label == label {
				all[i].text = text
			}
		}
		return all
	}
}

// changeTask resolves a task, changes it and prints that.
func (a *app) changeTask(ctx context.Context, c *api.Client, ref string, patch api.PatchWorkItem, done string) error {
	w, err := a.task(ctx, c, ref)
	if err != nil {
		return err
	}
	if w, err = c.UpdateWorkItem(ctx, w.ID, patch); err != nil {
		return err
	}
	return printDone(a, a.taskView(), w, "%s %s %q", done, w.Ref(), w.Title)
}

func (a *app) taskDone() *cobra.Command {
	var confidence string
	cmd := &cobra.Command{Use: "done TASK", Short: "Mark a work item done", Args: takes("TASK"), ValidArgsFunction: a.completes(taskNames)}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		patch := api.PatchWorkItem{Status: api.Some(svc.ItemDone), Confidence: api.Some(svc.Confidence(confidence))}
		return a.changeTask(ctx, c, args[0], patch, "done:")
	})
	cmd.Flags().Var(newChoice(&confidence, string(svc.Certain), string(svc.Certain), string(svc.Likely), string(svc.Unsure)), "confidence", "how `SURE` you are: certain, likely or unsure")
	return a.both(cmd)
}

func (a *app) taskMove() *cobra.Command {
	var before, after string
	cmd := &cobra.Command{Use: "move TASK", Short: "Move a work item before or after another one", Args: takes("TASK"), ValidArgsFunction: a.completes(taskNames)}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		if (before == "") == (after == "") {
			return usage("svc task move TASK --before TASK", "use either --before or --after")
		}
		other, err := a.task(ctx, c, before+after)
		if err != nil {
			return err
		}
		patch := api.PatchWorkItem{Before: api.Some(other.ID)}
		if after != "" {
			patch = api.PatchWorkItem{After: api.Some(other.ID)}
		}
		return a.changeTask(ctx, c, args[0], patch, "moved")
	})
	cmd.Flags().StringVar(&before, "before", "", "put it directly before this `TASK`")
	cmd.Flags().StringVar(&after, "after", "", "put it directly after this `TASK`")
	a.completeFlag(cmd, "before", taskNames)
	a.completeFlag(cmd, "after", taskNames)
	return a.both(cmd)
}

func (a *app) taskReparent() *cobra.Command {
	var root bool
	cmd := &cobra.Command{Use: "reparent TASK [PARENT]", Short: "Move a work item, with everything below it, under another one", Args: takes("TASK", "[PARENT]"), ValidArgsFunction: a.completesUpTo(2, taskNames)}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		if root == (len(args) == 2) {
			return usage("svc task reparent TASK PARENT", "name the new parent, or use --root")
		}
		patch := api.PatchWorkItem{ParentID: api.Null[string]()}
		if !root {
			parent, err := a.task(ctx, c, args[1])
			if err != nil {
				return err
			}
			patch.ParentID = api.Some(parent.ID)
		}
		return a.changeTask(ctx, c, args[0], patch, "moved")
	})
	cmd.Flags().BoolVar(&root, "root", false, "to the project's root")
	return a.both(cmd)
}

func (a *app) taskDelete() *cobra.Command {
	var yes, recursive, detach bool
	cmd := &cobra.Command{Use: "delete TASK", Short: "Delete a work item", Args: takes("TASK"), ValidArgsFunction: a.completes(taskNames)}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		w, err := a.task(ctx, c, args[0])
		if err != nil {
			return err
		}
		if err := a.confirm(yes, "Delete %s %q?", w.Kind, w.Title); err != nil {
			return err
		}
		if err := c.DeleteWorkItem(ctx, w.ID, recursive, detach); err != nil {
			return err
		}
		a.out.printf("deleted %s %q\n", w.Ref(), w.Title)
		return nil
	})
	cmd.Flags().BoolVarP(&recursive, "recursive", "r", false, "and everything below it")
	cmd.Flags().BoolVar(&detach, "detach", false, "and remove the needs of other items for it")
	addYes(cmd, &yes)
	return a.asking(cmd)
}
