package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"svc"
	"svc/store"
)

const (
	// SessionLife is how long a browser stays signed in without a request.
	SessionLife = 30 * 24 * time.Hour
	// sessionRenew is how old the expiry of a session must be before a request extends it: a session costs one write
	// a day, not one for each request.
	sessionRenew = 24 * time.Hour
	// usedEvery is the minimum time between two writes of a token's last use.
	usedEvery = 45 * time.Second
)

// errBadToken is the same for a token that never existed, that expired and that was revoked: the error must not
// reveal which tokens exist.
var errBadToken = svc.Errorf(svc.CodeUnauthorized, "the token is missing, or is not valid for this request")

func newSecret() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	return hex.EncodeToString(b[:])
}

// CreateToken creates an access token. The secret is returned only once; a repeated request returns the record
// without it.
func (e *Engine) CreateToken(ctx context.Context, n svc.NewAccessToken) (t svc.AccessToken, secret string, err error) {
	if err := n.Validate(e.now()); err != nil {
		return svc.AccessToken{}, "", err
	}
	t, err = once(ctx, e.Store.Write, func(tx *store.Tx) (svc.AccessToken, error) {
		secret = newSecret()
		t := svc.AccessToken{ID: svc.NewID(), Name: n.Name, Role: n.Role, CreatedAt: tx.Now, CreatedBy: svc.CallerName(ctx),
			ExpiresAt: n.ExpiresAt, SecretHash: svc.SecretHash(secret)}
		tx.Emit(svc.TopicTokenCreated, t.EventPayload())
		return t, tx.InsertAccessToken(ctx, t)
	})
	if err != nil {
		return svc.AccessToken{}, "", err
	}
	return t, secret, nil
}

// Tokens returns a page of access tokens, newest first.
func (e *Engine) Tokens(ctx context.Context, page svc.Page) (svc.List[svc.AccessToken], error) {
	return e.Store.AccessTokens(ctx, page)
}

// RevokeToken revokes an access token for good. From the moment it returns, requests with the token are refused. To
// revoke it again changes nothing.
func (e *Engine) RevokeToken(ctx context.Context, id string) error {
	return e.Store.Write(ctx, func(tx *store.Tx) error {
		t, err := tx.AccessToken(ctx, id)
		if err != nil {
			return err
		}
		first, err := tx.RevokeAccessToken(ctx, t)
		if err == nil && first {
			tx.Emit(svc.TopicTokenRevoked, t.EventPayload())
		}
		return err
	})
}

// owner returns the caller who holds the token of the data dir.
func (e *Engine) owner() svc.Caller {
	return svc.Caller{Name: svc.OwnerName, Role: svc.RoleAdmin, TokenHash: e.OwnerTokenHash}
}

// Authenticate returns the caller to whom a bearer token belongs. It reads the database each time, so a revocation
// takes effect at once, on every orchestrator.
func (e *Engine) Authenticate(ctx context.Context, secret string) (svc.Caller, error) {
	return e.callerOf(ctx, svc.SecretHash(secret))
}

// callerOf returns the holder of a token, by the token's hash. It compares hashes, so that its timing reveals nothing
// about a secret.
func (e *Engine) callerOf(ctx context.Context, hash string) (svc.Caller, error) {
	if hash == e.OwnerTokenHash {
		return e.owner(), nil
	}
	t, err := e.Store.AccessTokenBySecret(ctx, hash)
	if svc.CodeOf(err) == svc.CodeNotFound || err == nil && !t.Works(e.now()) {
		return svc.Caller{}, errBadToken
	}
	if err != nil {
		return svc.Caller{}, err
	}
	e.tokenUses.note(ctx, e, t)
	return svc.Caller{Name: t.Name, Role: t.Role, ExpiresAt: t.ExpiresAt, TokenHash: hash}, nil
}

// OpenSession signs a browser in with a token. It returns the value of the session cookie.
func (e *Engine) OpenSession(ctx context.Context, token string) (secret string, err error) {
	c, err := e.Authenticate(ctx, token)
	if err != nil {
		return "", err
	}
	secret = newSecret()
	err = e.Store.Write(ctx, func(tx *store.Tx) error {
		return tx.PutSession(ctx, svc.Session{SecretHash: svc.SecretHash(secret), TokenHash: c.TokenHash, CreatedAt: tx.Now, ExpiresAt: tx.Now.Add(SessionLife)})
	})
	return secret, err
}

// AuthenticateSession returns the caller to whom a session cookie belongs. renewed means that the session was
// extended: the browser must be sent a new expiry.
func (e *Engine) AuthenticateSession(ctx context.Context, secret string) (c svc.Caller, renewed bool, err error) {
	s, c, err := e.session(ctx, svc.SecretHash(secret))
	if err != nil {
		return svc.Caller{}, false, err
	}
	if s.ExpiresAt.Sub(e.now()) < SessionLife-sessionRenew {
		s.ExpiresAt = e.now().Add(SessionLife)
		// On an error the next request tries again.
		renewed = e.Store.Write(ctx, func(tx *store.Tx) error { return tx.PutSession(ctx, s) }) == nil
	}
	return c, renewed, nil
}

func (e *Engine) session(ctx context.Context, hash string) (svc.Session, svc.Caller, error) {
	s, err := e.Store.Session(ctx, hash)
	if svc.CodeOf(err) == svc.CodeNotFound || err == nil && s.ExpiresAt <= e.now() {
		return s, svc.Caller{}, errBadToken
	}
	if err != nil {
		return s, svc.Caller{}, err
	}
	c, err := e.callerOf(ctx, s.TokenHash)
	c.Session = hash
	return s, c, err
}

// CloseSession signs a browser out.
func (e *Engine) CloseSession(ctx context.Context, c svc.Caller) error {
	return e.Store.Write(ctx, func(tx *store.Tx) error { return tx.DeleteSession(ctx, c.Session) })
}

// Permanent reports whether the caller's streams and sockets stay authenticated until a restart with another token
// file.
func (e *Engine) Permanent(c svc.Caller) bool {
	return c.Session == "" && c.TokenHash == e.OwnerTokenHash
}

// StillAuthenticated checks again the caller of an open stream or socket. It returns nil, or the reason why the
// connection must end. An error of the database is no such reason.
func (e *Engine) StillAuthenticated(ctx context.Context, c svc.Caller) error {
	var err error
	if c.Session != "" {
		_, _, err = e.session(ctx, c.Session)
	} else {
		_, err = e.callerOf(ctx, c.TokenHash)
	}
	if svc.CodeOf(err) == svc.CodeUnauthorized {
		return err
	}
	return nil
}

// tokenUses stores when the last use of a token was written, so that a busy token is not written at each request.
type tokenUses struct {
	mu      sync.Mutex // guards written
	written map[string]svc.Time
}

func (u *tokenUses) note(ctx context.Context, e *Engine, t svc.AccessToken) {
	now := e.now()
	u.mu.Lock()
	last, has := u.written[t.ID]
	due := !has || now.Sub(last) >= usedEvery || now < last
	if due {
		u.written[t.ID] = now
	}
	u.mu.Unlock()
	if due {
		e.Store.Queue(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tx.TokenUsed(ctx, t.SecretHash, now) })
	}
}

// by returns the name of the caller that made the request; nil: the change was not requested by a person.
func by(ctx context.Context) *string {
	if name := svc.CallerName(ctx); name != "" {
		return &name
	}
	return nil
}
