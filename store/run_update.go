package store

import (
	"context"
	"fmt"
	"strings"

	"svc"
)

// changingColumns are the columns of a run that change after its creation.
var changingColumns = []string{"status", "attempt", "host_id", "failure_reason", "exit_code", "error", "result", "result_reason",
	"last_progress_seq", "progress_message", "progress_percent", "needs_input", "last_output_at", "pending_since", "next_dispatch_at",
	"started_at", "ended_at", "session_ended_at", "refused", "acked", "dispatched_at",
	"output_bytes", "output_lines"}

// changingValues are the values of those columns, in the same order, as plain
// values that can be compared.
func changingValues(r *svc.Run) []any {
	return []any{r.Status, r.Attempt, plain(r.HostID), plain(r.FailureReason), plain(r.ExitCode), plain(r.Error), plain(r.Result),
		plain(r.ResultReason), r.LastProgressSeq, plain(r.ProgressMessage), plain(r.ProgressPercent), r.NeedsInput, plain(r.LastOutputAt),
		r.PendingSince, plain(r.NextDispatchAt), plain(r.StartedAt), plain(r.EndedAt), plain(r.SessionEndedAt),
		toJSON(r.Refused), r.Acked, plain(r.DispatchedAt), r.OutputBytes, r.OutputLines}
}

func plain[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// UpdateRun writes a run that was read in this unit. What was fixed at its
// creation stays. Of the rest only what changed is written: a column that is
// named costs the upkeep of every index it is in, changed or not.
func (tx *Tx) UpdateRun(ctx context.Context, r *svc.Run) error {
	r.UpdatedAt = tx.Now
	read, known := tx.runs[r.ID]
	known = known && read.Version == r.Version
	was := changingValues(&read)
	args := make([]any, 0, len(changingColumns)+3)
	var set strings.Builder
	for i, v := range changingValues(r) {
		if known && was[i] == v {
			continue
		}
		args = append(args, v)
		fmt.Fprintf(&set, "%s = $%d, ", changingColumns[i], len(args))
	}
	args = append(args, r.UpdatedAt, r.ID, r.Version)
	n, err := tx.exec(ctx, fmt.Sprintf("UPDATE runs SET %supdated_at = $%d, version = version + 1 WHERE id = $%d AND version = $%d",
		set.String(), len(args)-2, len(args)-1, len(args)), args...)
	if err = changed("run", r.ID, &r.Version, n, err); err == nil {
		tx.noteRun(*r)
	}
	return err
}
