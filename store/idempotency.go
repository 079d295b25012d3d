package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"svc"
)

// FirstResult is what an idempotency key answered first; found is false when
// the key is new or too old.
func (r Reader) FirstResult(ctx context.Context, key string, notBefore svc.Time) (fingerprint, result string, found bool, err error) {
	err = r.q.QueryRowContext(ctx, "SELECT fingerprint, result FROM idempotency WHERE key = $1 AND created_at >= $2", key, notBefore).
		Scan(&fingerprint, &result)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", "", false, nil
	case err != nil:
		return "", "", false, fmt.Errorf("look up an idempotency key: %w", err)
	}
	return fingerprint, result, true, nil
}

// KeepResult remembers what a key answered.
func (tx *Tx) KeepResult(ctx context.Context, key, fingerprint, result string) error {
	_, err := tx.exec(ctx, `INSERT INTO idempotency (key, fingerprint, result, created_at) VALUES ($1,$2,$3,$4)
		ON CONFLICT (key) DO UPDATE SET fingerprint = $2, result = $3, created_at = $4`, key, fingerprint, result, tx.Now)
	if err != nil {
		return fmt.Errorf("keep an idempotency key: %w", err)
	}
	return nil
}

// ForgetResults drops what was kept before a time.
func (tx *Tx) ForgetResults(ctx context.Context, before svc.Time) error {
	_, err := tx.exec(ctx, "DELETE FROM idempotency WHERE created_at < $1", before)
	return err
}
