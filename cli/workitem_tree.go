package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"svc"
	"svc/api"
)

func (a *app) taskTree() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "tree [PROJECT]", Short: "Show a project's work items as a tree", Args: takes("[PROJECT]"), ValidArgsFunction: a.completes(projectNames),
		Long: "Show a project's work items as a tree, in the order of the board. Without -a, what is cancelled is left out.",
	}
	cmd.RunE = a.calls(func(ctx context.Context, c *api.Client, args []string) error {
		ref := ""
		if len(args) == 1 {
			ref = args[0]
		}
		p, err := a.pickProject(ctx, c, ref)
		if err != nil {
			return err
		}
		items, err := collect(c.AllWorkItems(ctx, svc.WorkItemFilter{ProjectID: p.ID}))
		if err != nil {
			return err
		}
		if a.output != "table" {
			return printList(a, a.taskView(), items)
		}
		if len(items) == 0 {
			a.note("%s", a.taskView().empty)
			return nil
		}
		a.printTree(p, items, all)
		return nil
	})
	cmd.Flags().BoolVarP(&all, "all", "a", false, "show cancelled ones too")
	return a.reading(cmd)
}

var itemMarks = map[svc.ItemStatus]string{svc.ItemTodo: "○", svc.ItemDoing: "◐", svc.ItemDone: "●", svc.ItemCancelled: "✕"}

func (a *app) printTree(p svc.Project, items []svc.WorkItem, all bool) {
	below, byID := map[string][]svc.WorkItem{}, map[string]svc.WorkItem{}
	for _, w := range items {
		byID[w.ID] = w
		if all || w.Status != svc.ItemCancelled {
			below[deref(w.ParentID)] = append(below[deref(w.ParentID)], w)
		}
	}
	st := a.stylesFor(a.out)
	a.out.println(st.bold.Render(p.Slug))
	var walk func(parent, indent string)
	walk = func(parent, indent string) {
		for i, w := range below[parent] {
			branch, deeper := "├─ ", "│  "
			if i == len(below[parent])-1 {
				branch, deeper = "└─ ", "   "
			}
			mark := st.of(itemTone(w)).Render(itemMarks[w.Status] + " " + string(w.Status))
			a.out.printf("%s%s%s  %s  %s%s\n", indent, branch, mark, w.Title,
				st.dim.Render(string(w.Kind)+" "+w.Ref()), st.warn.Render(blockedBy(w, byID)))
			walk(w.ID, indent+deeper)
		}
	}
	walk("", "")
}

// blockedBy names what an item waits for: its own unmet needs, or those of an item above it.
func blockedBy(w svc.WorkItem, byID map[string]svc.WorkItem) string {
	if !w.Blocked || w.Status == svc.ItemDone || w.Status == svc.ItemCancelled {
		return ""
	}
	var refs []string
	for _, id := range w.Needs {
		if other, ok := byID[id]; !ok || other.Status != svc.ItemDone {
			refs = append(refs, other.Ref())
		}
	}
	if len(refs) == 0 {
		return "  blocked with its parent"
	}
	return "  blocked by " + strings.Join(refs, ", ")
}
