package store

import (
	"context"
	"fmt"
	"slices"

	"svc"
)

const signalColumns = "run_id, attempt, kind, source, via, sent_at, received_at, sent_by"

var (
	insertedSignals = newInsert("processed_signals", signalColumns)
	insertSignal    = insertedSignals.one()
)

// TakeSignal records a one-shot signal of an attempt. It returns false if that
// signal was recorded before.
func (tx *Tx) TakeSignal(ctx context.Context, s svc.Signal) (bool, error) {
	args := []any{s.RunID, s.Attempt, s.Kind, s.Source, s.Via, s.Timestamp, tx.Now, s.By}
	same := func(t svc.Signal) bool { return t.RunID == s.RunID && t.Attempt == s.Attempt && t.Kind == s.Kind }
	if known := tx.w.rows.signals(s.RunID); known != nil && tx.mayDefer() {
		if known[signalKey{s.Attempt, s.Kind}] || slices.ContainsFunc(tx.taken, same) {
			return false, nil
		}
		tx.taken = append(tx.taken, s)
		tx.changes.add(statement{sql: insertSignal, args: args, rows: 1, exact: true, bulk: insertedSignals})
		return true, nil
	}
	n, err := tx.exec(ctx, insertSignal+" ON CONFLICT (run_id, attempt, kind) DO NOTHING", args...)
	if err != nil {
		return false, fmt.Errorf("note signal %s of run %s: %w", s.Kind, s.RunID, err)
	}
	if n == 1 {
		tx.taken = append(tx.taken, s)
	}
	return n == 1, nil
}

// TakenSignals returns every one-shot signal of a run that was recorded, oldest first.
func (r Reader) TakenSignals(ctx context.Context, runID string) ([]svc.Evidence, error) {
	return collect(ctx, r.q, func(row scanner) (e svc.Evidence, err error) {
		return e, row.Scan(&e.Attempt, &e.Kind, &e.Source, &e.Via, &e.SentAt, &e.ReceivedAt, &e.By)
	}, `SELECT attempt, kind, source, via, sent_at, received_at, sent_by FROM processed_signals WHERE run_id = $1
		ORDER BY received_at, attempt, kind`, runID)
}
