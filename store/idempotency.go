package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"svc"
)

// KeptKey is what is stored for an idempotency key.
type KeptKey struct {
	Fingerprint string // of the request
	Result      string // the answer to the request; empty while the key is reserved
	Owner       string // who has reserved the key; empty: its result is stored
}

// Kept returns the result or the reservation of a key. found is false if the key
// is new, or older than notBefore.
func (r Reader) Kept(ctx context.Context, key string, notBefore svc.Time) (k KeptKey, found bool, err error) {
	err = r.q.QueryRowContext(ctx, "SELECT fingerprint, result, owner FROM idempotency WHERE key = $1 AND created_at >= $2 AND fingerprint <> ''", key, notBefore).
		Scan(&k.Fingerprint, &k.Result, &k.Owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return KeptKey{}, false, nil
	case err != nil:
		return KeptKey{}, false, fmt.Errorf("look up an idempotency key: %w", err)
	}
	return k, true, nil
}

// Kept is [Reader.Kept]. For a key that a unit of this group has named it needs
// no query.
func (tx *Tx) Kept(ctx context.Context, key string, notBefore svc.Time) (KeptKey, bool, error) {
	k, named := tx.kept[key]
	if !named {
		k, named = tx.w.locked.keys[key]
	}
	if !named {
		return tx.Reader.Kept(ctx, key, notBefore)
	}
	if k.reserved() || k.at < notBefore {
		return KeptKey{}, false, nil
	}
	return k.KeptKey, true, nil
}

// ReserveKey records that the owner executes a request under the key. A later
// unit stores the result. It is for actions that a rollback cannot undo.
func (tx *Tx) ReserveKey(ctx context.Context, key, fingerprint, owner string) error {
	return tx.keepKey(ctx, key, KeptKey{Fingerprint: fingerprint, Owner: owner})
}

// KeepResult stores the answer to a request under its key.
func (tx *Tx) KeepResult(ctx context.Context, key, fingerprint, result string) error {
	return tx.keepKey(ctx, key, KeptKey{Fingerprint: fingerprint, Result: result})
}

func (tx *Tx) keepKey(ctx context.Context, key string, k KeptKey) error {
	tx.cacheKey(key, keptRow{k, tx.Now})
	err := tx.put(ctx, statement{rows: 1, exact: true, args: []any{key, k.Fingerprint, k.Result, k.Owner, tx.Now},
		sql: `INSERT INTO idempotency (key, fingerprint, result, owner, created_at) VALUES ($1,$2,$3,$4,$5)
		ON CONFLICT (key) DO UPDATE SET
			fingerprint = excluded.fingerprint, result = excluded.result, owner = excluded.owner, created_at = excluded.created_at`})
	if err != nil {
		return fmt.Errorf("keep an idempotency key: %w", err)
	}
	return nil
}

// cacheKey notes what the unit has made of a key, for later units of its group.
func (tx *Tx) cacheKey(key string, row keptRow) {
	if tx.w.locked.keys == nil {
		return
	}
	if tx.kept == nil {
		tx.kept = map[string]keptRow{}
	}
	tx.kept[key] = row
}

// ReleaseKey deletes the owner's reservation, after nothing was done under it.
func (tx *Tx) ReleaseKey(ctx context.Context, key, owner string) error {
	n, err := tx.exec(ctx, "DELETE FROM idempotency WHERE key = $1 AND owner = $2", key, owner)
	if n > 0 {
		tx.cacheKey(key, keptRow{})
	}
	if err != nil {
		return fmt.Errorf("release an idempotency key: %w", err)
	}
	return nil
}

// ForgetResults deletes at most limit keys that were stored before a time, the
// oldest first, and returns how many it deleted.
func (tx *Tx) ForgetResults(ctx context.Context, before svc.Time, limit int) (int64, error) {
	n, err := tx.exec(ctx, `DELETE FROM idempotency WHERE key IN
		(SELECT key FROM idempotency WHERE created_at < $1 ORDER BY created_at LIMIT CAST($2 AS BIGINT))`, before, limit)
	if err != nil {
		return 0, fmt.Errorf("forget idempotency keys: %w", err)
	}
	return n, nil
}
