package store

import (
	"context"
	"fmt"

	"svc"
)

// runNames are the title and the number of a run's task and the slug of its project. They are read from their own
// tables, so that a new title is shown in all runs. They are not read for a run that is only changed.
const runNames = `(SELECT title FROM work_items WHERE work_items.id = runs.task_id),
	(SELECT number FROM work_items WHERE work_items.id = runs.task_id),
	(SELECT slug FROM projects WHERE projects.id = runs.project_id)`

const runRead = runColumns + ", " + runNames

func scanNamedRun(row scanner) (svc.Run, error) {
	var title, slug string
	var number int64
	r, err := scanRun(andMore{row, []any{&title, &number, &slug}})
	r.TaskTitle, r.TaskNumber, r.ProjectSlug = title, number, slug
	return r, err
}

// andMore scans more columns after those that Scan is called with.
type andMore struct {
	scanner
	more []any
}

func (a andMore) Scan(dest ...any) error { return a.scanner.Scan(append(dest, a.more...)...) }

// NameRun sets the names of a run that was read without them, to return it after a change.
func (r Reader) NameRun(ctx context.Context, run *svc.Run) error {
	err := r.q.QueryRowContext(ctx, "SELECT "+runNames+" FROM runs WHERE id = $1", run.ID).
		Scan(&run.TaskTitle, &run.TaskNumber, &run.ProjectSlug)
	if err != nil {
		return fmt.Errorf("read the names of run %s: %w", run.ID, err)
	}
	return nil
}
