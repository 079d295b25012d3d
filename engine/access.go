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
	// sessionRenew is how old the expiry of a session may be before a request
	// moves it: a session costs a write a day, not one for each request.
	sessionRenew = 24 * time.Hour
	// usedEvery is how often the last use of a token is written at most.
	usedEvery = 45 * time.Second
)

// errBadToken is the same for a token that never was, that expired and that was
// revoked: the answer must not tell which tokens exist.
var errBadToken = svc.Errorf(svc.CodeUnauthorized, "the token is missing or not the right one for this")

func newSecret() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	return hex.EncodeToString(b[:])
}

// CreateToken makes an access token. The secret is given once; a repeated
// request is answered with the record alone.
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

// Tokens is a page of access tokens, newest first.
func (e *Engine) Tokens(ctx context.Context, page svc.Page) (svc.List[svc.AccessToken], error) {
	return e.Store.AccessTokens(ctx, page)
}

// RevokeToken ends an access token for good. Whoever uses it is refused from
// the moment this returns. Revoking it again changes nothing.
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

// owner is the caller with the token of the data dir.
func (e *Engine) owner() svc.Caller {
	return svc.Caller{Name: svc.OwnerName, Role: svc.RoleAdmin, TokenHash: e.OwnerTokenHash}
}

// Authenticate finds who sent a bearer token. It asks the database each time,
// so a revocation counts at once, whichever orchestrator took it.
func (e *Engine) Authenticate(ctx context.Context, secret string) (svc.Caller, error) {
	return e.callerOf(ctx, svc.SecretHash(secret))
}

// callerOf is the holder of a token, by the token's hash. Hashes are compared:
// how long that takes tells nothing of a secret.
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

// OpenSession signs a browser in with a token. What it gives is the cookie's
// value.
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

// AuthenticateSession finds whose session a cookie names. renewed says that its
// life was extended, so that the browser must be told.
func (e *Engine) AuthenticateSession(ctx context.Context, secret string) (c svc.Caller, renewed bool, err error) {
	s, c, err := e.session(ctx, svc.SecretHash(secret))
	if err != nil {
		return svc.Caller{}, false, err
	}
	if s.ExpiresAt.Sub(e.now()) < SessionLife-sessionRenew {
		s.ExpiresAt = e.now().Add(SessionLife)
		renewed = e.Store.Write(ctx, func(tx *store.Tx) error { return tx.PutSession(ctx, s) }) == nil // else at the next request
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

// Permanent says that nothing but a restart with another token file ends what
// the caller has opened.
func (e *Engine) Permanent(c svc.Caller) bool {
	return c.Session == "" && c.TokenHash == e.OwnerTokenHash
}

// StillAuthenticated asks again for whoever has a stream or socket open: nil,
// or why it must end. Trouble with the database is no reason.
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

// tokenUses remembers when the last use of a token was written, so that a busy
// token costs a write now and then.
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

// by is who asked for what a request does; nil: no person did.
func by(ctx context.Context) *string {
	if name := svc.CallerName(ctx); name != "" {
		return &name
	}
	return nil
}
