package store

import (
	"context"
	"fmt"

	"svc"
)

const accessColumns = "id, name, role, secret_hash, created_at, created_by, last_used_at, expires_at, revoked_at"

func scanToken(row scanner) (t svc.AccessToken, err error) {
	return t, row.Scan(&t.ID, &t.Name, &t.Role, &t.SecretHash, &t.CreatedAt, &t.CreatedBy, &t.LastUsedAt, &t.ExpiresAt, &t.RevokedAt)
}

// AccessToken reads a token by id.
func (r Reader) AccessToken(ctx context.Context, id string) (svc.AccessToken, error) {
	return readOne(ctx, r.q, scanToken, "token", id, "SELECT "+accessColumns+" FROM access_tokens WHERE id = $1", id)
}

// AccessTokenBySecret reads a token by the hash of its secret, even if it is
// revoked or expired.
func (r Reader) AccessTokenBySecret(ctx context.Context, hash string) (svc.AccessToken, error) {
	return readOne(ctx, r.q, scanToken, "token", "", "SELECT "+accessColumns+" FROM access_tokens WHERE secret_hash = $1", hash)
}

// AccessTokens returns a page of tokens, newest first, including revoked ones.
func (r Reader) AccessTokens(ctx context.Context, page svc.Page) (svc.List[svc.AccessToken], error) {
	var w where
	if page.Cursor != "" {
		var at svc.Time
		var id string
		if err := readCursor("tokens", page.Cursor, (*int64)(&at), &id); err != nil {
			return svc.List[svc.AccessToken]{}, err
		}
		w.add("(created_at, id) < (?, ?)", at, id)
	}
	found, cut, err := collectUpTo(ctx, r.q, page.Bytes, scanToken, fmt.Sprintf("SELECT %s FROM access_tokens%s ORDER BY created_at DESC, id DESC LIMIT %d",
		accessColumns, w.sql(), page.Limit+1), w.args...)
	if err != nil {
		return svc.List[svc.AccessToken]{}, fmt.Errorf("list tokens: %w", err)
	}
	return paged(found, cut, page.Limit, func(t svc.AccessToken) string { return cursor("tokens", int64(t.CreatedAt), t.ID) }), nil
}

// InsertAccessToken adds a token. It frees the name of an expired token. A valid
// token of the same name is a conflict.
func (tx *Tx) InsertAccessToken(ctx context.Context, t svc.AccessToken) error {
	if _, err := tx.exec(ctx, "UPDATE access_tokens SET revoked_at = expires_at WHERE name = $1 AND revoked_at IS NULL AND expires_at <= $2", t.Name, tx.Now); err != nil {
		return fmt.Errorf("free the name of an expired token: %w", err)
	}
	n, err := tx.exec(ctx, "INSERT INTO access_tokens ("+accessColumns+") VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9) ON CONFLICT DO NOTHING",
		t.ID, t.Name, t.Role, t.SecretHash, t.CreatedAt, t.CreatedBy, t.LastUsedAt, t.ExpiresAt, t.RevokedAt)
	if err != nil {
		return fmt.Errorf("insert token: %w", err)
	}
	if n == 0 {
		return svc.Errorf(svc.CodeConflict, "there is a token named %q already; revoke it first, or choose another name", t.Name).With("field", "name")
	}
	return nil
}

// RevokeAccessToken revokes a token and deletes the sessions that were opened
// with it. It returns false if the token was revoked before.
func (tx *Tx) RevokeAccessToken(ctx context.Context, t svc.AccessToken) (bool, error) {
	n, err := tx.exec(ctx, "UPDATE access_tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL", tx.Now, t.ID)
	if err != nil {
		return false, fmt.Errorf("revoke token: %w", err)
	}
	if _, err := tx.exec(ctx, "DELETE FROM sessions WHERE token_hash = $1", t.SecretHash); err != nil {
		return false, fmt.Errorf("end the sessions of a token: %w", err)
	}
	return n == 1, nil
}

// TokenUsed records the time of a token's last use. An earlier time does not
// replace a later one.
func (tx *Tx) TokenUsed(ctx context.Context, hash string, at svc.Time) error {
	_, err := tx.exec(ctx, "UPDATE access_tokens SET last_used_at = $1 WHERE secret_hash = $2 AND (last_used_at IS NULL OR last_used_at < $1)", at, hash)
	if err != nil {
		return fmt.Errorf("note the use of a token: %w", err)
	}
	return nil
}

// Session reads a browser's session by the hash of its cookie.
func (r Reader) Session(ctx context.Context, hash string) (svc.Session, error) {
	return readOne(ctx, r.q, func(row scanner) (s svc.Session, err error) {
		return s, row.Scan(&s.SecretHash, &s.TokenHash, &s.CreatedAt, &s.ExpiresAt)
	}, "session", "", "SELECT secret_hash, token_hash, created_at, expires_at FROM sessions WHERE secret_hash = $1", hash)
}

// PutSession adds a session or changes its expiry, and deletes expired sessions.
func (tx *Tx) PutSession(ctx context.Context, s svc.Session) error {
	if _, err := tx.exec(ctx, "DELETE FROM sessions WHERE expires_at < $1", tx.Now); err != nil {
		return fmt.Errorf("drop expired sessions: %w", err)
	}
	_, err := tx.exec(ctx, `INSERT INTO sessions (secret_hash, token_hash, created_at, expires_at) VALUES ($1,$2,$3,$4)
		ON CONFLICT (secret_hash) DO UPDATE SET expires_at = $4`, s.SecretHash, s.TokenHash, s.CreatedAt, s.ExpiresAt)
	if err != nil {
		return fmt.Errorf("keep a session: %w", err)
	}
	return nil
}

// DeleteSession ends a session.
func (tx *Tx) DeleteSession(ctx context.Context, hash string) error {
	_, err := tx.exec(ctx, "DELETE FROM sessions WHERE secret_hash = $1", hash)
	if err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// HostToken returns when a generation of a host's token was made, and when the
// next generation replaced it. made is nil if that generation was never made,
// replaced is nil if there is no next one.
func (r Reader) HostToken(ctx context.Context, hostID string, generation int64) (made, replaced *svc.Time, err error) {
	err = r.q.QueryRowContext(ctx, `SELECT (SELECT created_at FROM host_tokens WHERE host_id = $1 AND generation = $2),
		(SELECT created_at FROM host_tokens WHERE host_id = $1 AND generation = $2 + 1)`, hostID, generation).Scan(&made, &replaced)
	if err != nil {
		return nil, nil, fmt.Errorf("look up a host's token: %w", err)
	}
	return made, replaced, nil
}

// HostTokenGeneration returns the newest generation of a host's token; 0: it has
// none.
func (r Reader) HostTokenGeneration(ctx context.Context, hostID string) (n int64, err error) {
	err = r.q.QueryRowContext(ctx, "SELECT coalesce(max(generation), 0) FROM host_tokens WHERE host_id = $1", hostID).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("look up a host's token: %w", err)
	}
	return n, nil
}

// AddHostToken records a new generation of a host's token.
func (tx *Tx) AddHostToken(ctx context.Context, hostID string, generation int64) error {
	_, err := tx.exec(ctx, "INSERT INTO host_tokens (host_id, generation, created_at) VALUES ($1,$2,$3)", hostID, generation, tx.Now)
	if err != nil {
		return fmt.Errorf("note a host's token: %w", err)
	}
	return nil
}

// ReplacedHostTokens returns, for each host whose token was replaced at or before
// a time, the newest generation that was replaced by then.
func (r Reader) ReplacedHostTokens(ctx context.Context, before svc.Time) (map[string]int64, error) {
	type replaced struct {
		hostID     string
		generation int64
	}
	rows, err := collect(ctx, r.q, func(row scanner) (t replaced, err error) { return t, row.Scan(&t.hostID, &t.generation) },
		"SELECT host_id, max(generation) - 1 FROM host_tokens WHERE created_at <= $1 GROUP BY host_id", before)
	if err != nil {
		return nil, fmt.Errorf("look up replaced tokens of hosts: %w", err)
	}
	found := make(map[string]int64, len(rows))
	for _, t := range rows {
		found[t.hostID] = t.generation
	}
	return found, nil
}
