package svc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Role is what the holder of an access token may do. Each role includes the permissions of the roles before it.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"   // reads and watches
	RoleOperator Role = "operator" // also plans, runs and stops
	RoleAdmin    Role = "admin"    // also creates and revokes tokens, creates and deletes hosts
)

// Roles lists every role, from the fewest permissions to the most.
var Roles = []Role{RoleViewer, RoleOperator, RoleAdmin}

// Includes reports whether a holder of role r may do what requires the role needed.
func (r Role) Includes(needed Role) bool { return r.rank() >= needed.rank() }

func (r Role) rank() int {
	for i, known := range Roles {
		if r == known {
			return i + 1
		}
	}
	return 0 // unknown or empty role: no permissions
}

// OwnerName is the name of the token in the data dir's file. No other token may have this name.
const OwnerName = "owner"

// HostTokenPrefix is the prefix of every token that is valid for one host only; the host's id follows it.
const HostTokenPrefix = "svch_"

// AccessToken is a named token for the public API. Its secret is shown once, at creation; only a hash of it is
// stored.
type AccessToken struct {
	ID         string `json:"id" doc:"UUID"`
	Name       string `json:"name" doc:"Unique among the valid tokens"`
	Role       Role   `json:"role" enum:"viewer,operator,admin"`
	CreatedAt  Time   `json:"created_at"`
	CreatedBy  string `json:"created_by" doc:"The name of the token that created it"`
	LastUsedAt *Time  `json:"last_used_at" doc:"Up to a minute old; null: never"`
	ExpiresAt  *Time  `json:"expires_at" doc:"Null: never"`
	RevokedAt  *Time  `json:"revoked_at" doc:"Null: not revoked"`

	SecretHash string `json:"-"`
}

// Works reports whether the token is valid at the time now: neither revoked nor expired.
func (t AccessToken) Works(now Time) bool {
	return t.RevokedAt == nil && (t.ExpiresAt == nil || *t.ExpiresAt > now)
}

// EventPayload returns the payload of every token.* event. It never contains the secret.
func (t AccessToken) EventPayload() map[string]any {
	return map[string]any{"token_id": t.ID, "name": t.Name, "role": t.Role, "expires_at": t.ExpiresAt}
}

// NewAccessToken holds the fields of a request to create an access token.
type NewAccessToken struct {
	Name      string
	Role      Role
	ExpiresAt *Time
}

const maxTokenName = 64

// Validate returns a validation error that names every wrong field, or nil.
func (n NewAccessToken) Validate(now Time) error {
	var bad Problems
	bad.line("name", n.Name, 1, maxTokenName)
	if strings.EqualFold(n.Name, OwnerName) {
		bad.Add("name", "%q is the name of the token in the data dir; choose another", OwnerName)
	}
	oneOf(&bad, "role", n.Role, Roles...)
	if n.ExpiresAt != nil && *n.ExpiresAt <= now {
		bad.Add("expires_at", "is in the past")
	}
	return bad.Err()
}

// SecretHash returns the hash under which a secret of 128 random bits is stored and looked up.
func SecretHash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Session is a browser session that was opened with a token. It ends when the token ends.
type Session struct {
	SecretHash string // of the cookie's value
	TokenHash  string // of the token that opened it
	CreatedAt  Time
	ExpiresAt  Time
}

// Caller is the authenticated sender of a request to the public API.
type Caller struct {
	Name      string
	Role      Role
	ExpiresAt *Time  // of the token; nil: never
	TokenHash string // SecretHash of the token
	Session   string // SecretHash of the browser's session; empty: a bearer token was sent
}

type callerKey struct{}

// WithCaller puts the authenticated caller into a request's context. Events
// that the request causes carry its name.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the authenticated caller of a request; false when the work was not requested by an authenticated
// caller.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// CallerName returns the name of the authenticated caller; empty when there is none.
func CallerName(ctx context.Context) string {
	c, _ := CallerOf(ctx)
	return c.Name
}
