package store

import (
	"context"
	"fmt"
	"strings"

	"svc"
)

// changingColumns are the columns of a run that can change after its creation.
var changingColumns = []string{"status", "attempt", "host_id", "failure_reason", "exit_code", "error", "result", "result_reason",
	"last_progress_seq", "progress_message", "progress_percent", "needs_input", "last_output_at", "pending_since", "next_dispatch_at",
	"started_at", "ended_at", "session_ended_at", "refused", "acked", "dispatched_at",
	"output_bytes", "output_lines", "past_hosts", "end_claimed", "wait", "priority", "not_before", "blocked", "unblocked_at", "workspace_id", "asked_at", "turn_over",
	"pinned_host_id", "conversation"}

// changingValues are the values of those columns, in the same order, as plain
// values that can be compared.
func changingValues(r *svc.Run) []any {
	return []any{r.Status, r.Attempt, plain(r.HostID), plain(r.FailureReason), plain(r.ExitCode), plain(r.Error), plain(r.Result),
		plain(r.ResultReason), r.LastProgressSeq, plain(r.ProgressMessage), plain(r.ProgressPercent), r.NeedsInput, plain(r.LastOutputAt),
		r.PendingSince, plain(r.NextDispatchAt), plain(r.StartedAt), plain(r.EndedAt), plain(r.SessionEndedAt),
		toJSON(r.Refused), r.Acked, plain(r.DispatchedAt), r.OutputBytes, r.OutputLines,
		toJSON(r.PastHosts), r.EndClaimed, r.Wait, r.Priority, plain(r.NotBefore), r.Blocked, plain(r.UnblockedAt), plain(r.WorkspaceID), plain(r.AskedAt), r.TurnOver,
		plain(r.PinnedHostID), toJSON(r.Conversation)}
}

func plain[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// UpdateRun writes a run that was read in this unit. It does not write the fields
// that are fixed at the creation. If the unit has locked the run, the write is
// deferred and sent together with other changes.
func (tx *Tx) UpdateRun(ctx context.Context, r *svc.Run) error {
	r.UpdatedAt = tx.Now
	if read, known := tx.runs[r.ID]; known && read.Version == r.Version {
		r.Version++
		now := *r
		tx.changes.run(read, &now)
		tx.cacheRun(&now)
		return nil
	}
	args := changingValues(r)
	var set strings.Builder
	for i, column := range changingColumns {
		fmt.Fprintf(&set, "%s = $%d, ", column, i+1)
	}
	args = append(args, r.UpdatedAt, r.ID, r.Version)
	n, err := tx.exec(ctx, fmt.Sprintf("UPDATE runs SET %supdated_at = $%d, version = version + 1 WHERE id = $%d AND version = $%d",
		set.String(), len(args)-2, len(args)-1, len(args)), args...)
	if err = changed("run", r.ID, &r.Version, n, err); err == nil {
		now := *r
		tx.cacheRun(&now)
	}
	return err
}
