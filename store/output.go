package store

import (
	"context"
	"fmt"

	"svc"
)

const outputColumns = "id, task_id, project_id, host_id, status, attempt, last_output_at, output_bytes, output_lines"

func scanOutput(row scanner) (r svc.Run, err error) {
	return r, row.Scan(&r.ID, &r.TaskID, &r.ProjectID, &r.HostID, &r.Status, &r.Attempt, &r.LastOutputAt, &r.OutputBytes, &r.OutputLines)
}

// LockOutput reads and locks a run with only the fields that are needed to
// journal its output: those that every event of a run has, and the output that
// was journaled so far. It does not read the prompt.
func (tx *Tx) LockOutput(ctx context.Context, id string) (svc.Run, error) {
	if r, ok := tx.known(id); ok {
		return *r, nil
	}
	return readOne(ctx, tx.q, scanOutput, "run", id, "SELECT "+outputColumns+" FROM runs WHERE id = $1"+tx.d.forUpdate, id)
}

// MarkOutput writes how many bytes and lines of the attempt's output were
// journaled, and when the run last wrote output. It does not change the version
// of the record.
func (tx *Tx) MarkOutput(ctx context.Context, id string, bytes, lines int64, at *svc.Time) error {
	if tx.changeCached(id, func(r *svc.Run) { r.OutputBytes, r.OutputLines, r.LastOutputAt = bytes, lines, at }) {
		return nil
	}
	_, err := tx.exec(ctx, "UPDATE runs SET output_bytes = $1, output_lines = $2, last_output_at = $3 WHERE id = $4", bytes, lines, at, id)
	if err != nil {
		return fmt.Errorf("note output of run %s: %w", id, err)
	}
	return nil
}

// OutputRuns returns every active run that was given to a host. It reads the
// same fields as LockOutput.
func (r Reader) OutputRuns(ctx context.Context) ([]svc.Run, error) {
	runs, err := collect(ctx, r.q, scanOutput, "SELECT "+outputColumns+" FROM runs WHERE "+activeRuns+" AND status <> 'pending' ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("list runs with output: %w", err)
	}
	return runs, nil
}
