package api

import (
	"context"
	"iter"
	"net/http"

	"svc"
)

// CreateToken is the body of POST /tokens.
type CreateToken struct {
	Name      string    `json:"name" doc:"1 to 64 characters, unique among the valid tokens"`
	Role      svc.Role  `json:"role" enum:"viewer,operator,admin"`
	ExpiresAt *svc.Time `json:"expires_at,omitempty" format:"date-time" doc:"Absent or null: never"`
}

// New converts the body to the request type of package svc.
func (b CreateToken) New() svc.NewAccessToken {
	return svc.NewAccessToken{Name: b.Name, Role: b.Role, ExpiresAt: b.ExpiresAt}
}

// NewToken is the response of POST /tokens.
type NewToken struct {
	svc.AccessToken
	Token string `json:"token,omitempty" doc:"The secret: 32 hex characters, shown once; absent in the response to a repeated request"`
}

// OpenSession is the body of POST /session.
type OpenSession struct {
	Token string `json:"token" doc:"An access token"`
}

// Me is the response of GET /me.
type Me struct {
	Name      string    `json:"name" doc:"Of the caller's token"`
	Role      svc.Role  `json:"role" enum:"viewer,operator,admin"`
	ExpiresAt *svc.Time `json:"expires_at" doc:"Null: never"`
}

// Me returns the name and the role of the client's token.
func (c *Client) Me(ctx context.Context) (Me, error) {
	return fetch[Me](ctx, c, http.MethodGet, "/me", nil)
}

// CreateToken creates an access token. Only this response contains its secret.
func (c *Client) CreateToken(ctx context.Context, b CreateToken) (NewToken, error) {
	return fetch[NewToken](ctx, c, http.MethodPost, "/tokens", b)
}

// Tokens returns one page of access tokens, newest first.
func (c *Client) Tokens(ctx context.Context, p svc.Page) (svc.List[svc.AccessToken], error) {
	return page[svc.List[svc.AccessToken]](ctx, c, "/tokens", nil, p)
}

// AllTokens iterates over all access tokens, newest first.
func (c *Client) AllTokens(ctx context.Context) iter.Seq2[svc.AccessToken, error] {
	return walk(ctx, c.Tokens)
}

// RevokeToken revokes an access token.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: at("/tokens/%s", id)}, nil)
}

// RotateHostToken creates a new token for a host. The former token stays valid for a few minutes.
func (c *Client) RotateHostToken(ctx context.Context, idOrName string) (string, error) {
	t, err := fetch[Token](ctx, c, http.MethodPost, at("/hosts/%s/rotate-token", idOrName), nil)
	return t.Token, err
}
