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

// LockOutput reads what is needed to journal a run's output: the fields that
// every event of a run carries, and how far the journal has come. A prompt is
// not read for it.
func (tx *Tx) LockOutput(ctx context.Context, id string) (svc.Run, error) {
	if r, ok := tx.known(id); ok {
		return r, nil
	}
	return one(ctx, tx.q, scanOutput, "run", id, "SELECT "+outputColumns+" FROM runs WHERE id = $1"+tx.d.forUpdate, id)
}

// MarkOutput notes how far the journal has told of the attempt's output, and
// when the run last wrote something. It is no change of the record.
func (tx *Tx) MarkOutput(ctx context.Context, id string, bytes, lines int64, at *svc.Time) error {
	if tx.amend(id, func(r *svc.Run) { r.OutputBytes, r.OutputLines, r.LastOutputAt = bytes, lines, at }) {
		return nil
	}
	_, err := tx.exec(ctx, "UPDATE runs SET output_bytes = $1, output_lines = $2, last_output_at = $3 WHERE id = $4", bytes, lines, at, id)
	if err != nil {
		return fmt.Errorf("note output of run %s: %w", id, err)
	}
	return nil
}

// OutputRuns is every run that a host may be writing output of: see LockOutput
// for what is read of each.
func (r Reader) OutputRuns(ctx context.Context) ([]svc.Run, error) {
	runs, err := collect(ctx, r.q, scanOutput, "SELECT "+outputColumns+" FROM runs WHERE "+activeRuns+" AND status <> 'pending' ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("list runs with output: %w", err)
	}
	return runs, nil
}
