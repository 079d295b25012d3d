package store

import (
	"context"
	"fmt"

	"svc"
)

// TakeSignal notes a one-shot signal of an attempt. It is false when that
// signal was taken before.
func (tx *Tx) TakeSignal(ctx context.Context, s svc.Signal) (bool, error) {
	n, err := tx.exec(ctx, `INSERT INTO processed_signals (run_id, attempt, kind, source, via, sent_at, received_at, sent_by)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8) ON CONFLICT (run_id, attempt, kind) DO NOTHING`,
		s.RunID, s.Attempt, s.Kind, s.Source, s.Via, s.Timestamp, tx.Now, s.By)
	if err != nil {
		return false, fmt.Errorf("note signal %s of run %s: %w", s.Kind, s.RunID, err)
	}
	return n == 1, nil
}

// TakenSignals is every one-shot signal that was taken of a run, oldest first.
func (r Reader) TakenSignals(ctx context.Context, runID string) ([]svc.Evidence, error) {
	return collect(ctx, r.q, func(row scanner) (e svc.Evidence, err error) {
		return e, row.Scan(&e.Attempt, &e.Kind, &e.Source, &e.Via, &e.SentAt, &e.ReceivedAt, &e.By)
	}, `SELECT attempt, kind, source, via, sent_at, received_at, sent_by FROM processed_signals WHERE run_id = $1
		ORDER BY received_at, attempt, kind`, runID)
}
