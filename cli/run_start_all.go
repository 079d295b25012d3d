package cli

import (
	"context"

	"svc"
	"svc/api"
)

// startAll queues a run of every task and subtask of a project that is todo and has no active run, in the order of
// the board. The needs of each task decide when its run starts.
func (a *app) startAll(ctx context.Context, c *api.Client, project string, f runFlags) error {
	if f.watch {
		return usage("svc queue --why shows them", "--all starts many runs, so it cannot --watch one")
	}
	p, err := a.pickProject(ctx, c, project)
	if err != nil {
		return err
	}
	items, err := collect(c.AllWorkItems(ctx, svc.WorkItemFilter{ProjectID: p.ID}))
	if err != nil {
		return err
	}
	started := []svc.RunSummary{}
	for _, w := range items {
		if !w.Kind.Runnable() || w.Status != svc.ItemTodo || w.NewestRun != nil && w.NewestRun.Status.Active() {
			continue
		}
		body, err := a.newRun(ctx, c, p, w, f)
		if err != nil {
			return err
		}
		body.TaskID = w.ID
		r, err := c.CreateRun(ctx, body)
		if err != nil {
			return err
		}
		started = append(started, r.Summary())
	}
	if a.output != "table" {
		return a.printRuns(ctx, c, started)
	}
	if len(started) == 0 {
		a.note("%s has no task with the status todo and no active run", p.Slug)
		return nil
	}
	a.out.printf("queued %s\n", count(len(started), "run"))
	a.note("watch them with: %s queue --why", a.self())
	return nil
}
