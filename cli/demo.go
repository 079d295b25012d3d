package cli

import (
	"context"
	"fmt"

	"svc"
	"svc/engine"
)

// makeDemo makes a small project and starts a run of the demo provider, but only when there is no project at all: at
// the very first start.
func makeDemo(ctx context.Context, e *engine.Engine) error {
	projects, err := e.Projects(ctx, svc.Page{Limit: 1})
	if err != nil {
		return fmt.Errorf("look for projects: %w", err)
	}
	if len(projects.Items) > 0 {
		return nil
	}
	project, err := e.CreateProject(ctx, svc.NewProject{
		Name: "Demo", Description: "Made by `svc up --demo`, to look around. Archive it when you have seen enough.",
	})
	if err != nil {
		return fmt.Errorf("make the demo project: %w", err)
	}
	epic, err := e.CreateWorkItem(ctx, svc.NewWorkItem{ProjectID: project.ID, Kind: svc.KindEpic, Title: "Look around"})
	if err != nil {
		return fmt.Errorf("make the demo epic: %w", err)
	}
	var watch svc.WorkItem
	for i, title := range []string{"Watch a run", "Write the first task of your own", "Add an agent: svc provider add"} {
		task, err := e.CreateWorkItem(ctx, svc.NewWorkItem{ProjectID: project.ID, ParentID: &epic.ID, Kind: svc.KindTask, Title: title})
		if err != nil {
			return fmt.Errorf("make a demo task: %w", err)
		}
		if i == 0 {
			watch = task
		}
	}
	// The run lasts long enough for a user who opens the page and explores it first.
	_, err = e.CreateRun(ctx, svc.NewRun{
		TaskID: watch.ID, Provider: "demo", Args: []string{"--delay", "2s", "--lines", "24"}, Prompt: "Show me how a run looks",
	})
	if err != nil {
		return fmt.Errorf("start the demo run: %w", err)
	}
	return nil
}
