package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
)

// TokenPath holds the id of an access token from a path.
type TokenPath struct {
	ID string `path:"id" doc:"Id of the token"`
}

func (s *Server) accessRoutes() {
	tags := []string{"Access"}
	register(s, needs(svc.RoleAdmin, huma.Operation{
		OperationID: "list-tokens", Method: http.MethodGet, Path: "/tokens", Tags: tags,
		Summary: "List access tokens, newest first, with the revoked ones",
	}), func(ctx context.Context, in *struct{ Paging }) (*list[svc.AccessToken], error) {
		return listed(s.Engine.Tokens(ctx, in.page()))
	})

	register(s, needs(svc.RoleAdmin, huma.Operation{
		OperationID: "create-token", Method: http.MethodPost, Path: "/tokens", Tags: tags,
		Summary:       "Create an access token",
		Description:   "Only this response contains the secret. A repeated Idempotency-Key returns the record without it.",
		DefaultStatus: http.StatusCreated,
	}), func(ctx context.Context, in *struct {
		Retryable
		Body api.CreateToken
	}) (*struct {
		Location string `header:"Location"`
		Body     api.NewToken
	}, error) {
		t, secret, err := s.Engine.CreateToken(ctx, in.Body.New())
		if err != nil {
			return nil, err
		}
		return &struct {
			Location string `header:"Location"`
			Body     api.NewToken
		}{api.Prefix + "/tokens/" + t.ID, api.NewToken{AccessToken: t, Token: secret}}, nil
	})

	register(s, needs(svc.RoleAdmin, huma.Operation{
		OperationID: "revoke-token", Method: http.MethodDelete, Path: "/tokens/{id}", Tags: tags,
		Summary: "Revoke an access token", DefaultStatus: http.StatusNoContent,
		Description: "After the response the token is refused everywhere; its open streams and sockets end within seconds.",
	}), func(ctx context.Context, in *TokenPath) (*struct{}, error) {
		return nil, s.Engine.RevokeToken(ctx, in.ID)
	})

	register(s, huma.Operation{
		OperationID: "get-me", Method: http.MethodGet, Path: "/me", Tags: tags, Summary: "Who am I?",
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body api.Me }, error) {
		c, _ := svc.CallerOf(ctx)
		return &struct{ Body api.Me }{api.Me{Name: c.Name, Role: c.Role, ExpiresAt: c.ExpiresAt}}, nil
	})
	s.sessionRoutes(tags)
}

const roleKey = "role"

// needs sets the role that an operation requires. Without it a GET requires a viewer, and every other method an
// operator.
func needs(role svc.Role, op huma.Operation) huma.Operation {
	if op.Metadata == nil {
		op.Metadata = map[string]any{}
	}
	op.Metadata[roleKey] = role
	return op
}

// neededRole returns the role that an operation requires; empty: none.
func neededRole(op *huma.Operation) svc.Role {
	if role, ok := op.Metadata[roleKey].(svc.Role); ok {
		return role
	}
	if op.Method == http.MethodGet {
		return svc.RoleViewer
	}
	return svc.RoleOperator
}

// checkRole returns an error when the caller's role does not include the role that the operation requires.
func checkRole(op *huma.Operation, r *http.Request) error {
	needed := neededRole(op)
	c, _ := svc.CallerOf(r.Context())
	if needed == "" || c.Role.Includes(needed) {
		return nil
	}
	return svc.Errorf(svc.CodeForbidden, "your token %q has the role %s; this needs the role %s", c.Name, c.Role, needed).
		With("role", c.Role).With("needs", needed)
}

// describeRoles adds the required role of each operation to the OpenAPI description.
func describeRoles(doc *huma.OpenAPI) {
	for _, item := range doc.Paths {
		for _, op := range operations(item) {
			if op.Extensions == nil {
				op.Extensions = map[string]any{}
			}
			op.Extensions["x-role"] = neededRole(op)
			if neededRole(op) == "" {
				op.Security = []map[string][]string{{}}
			}
		}
	}
}

// operations lists the operations of one path.
func operations(item *huma.PathItem) []*huma.Operation {
	all := []*huma.Operation{item.Get, item.Post, item.Patch, item.Put, item.Delete}
	return slices.DeleteFunc(all, func(op *huma.Operation) bool { return op == nil })
}

// tokenRecheck is the interval at which a stream or socket checks its token again. So a token that any orchestrator
// has revoked stops working within seconds.
const tokenRecheck = 2 * time.Second

var errTokenEnded = errors.New("the token no longer works")

// endWithToken ends a stream or socket when its caller's token or session is no longer valid.
func (s *Server) endWithToken(ctx context.Context, end context.CancelCauseFunc) {
	c, ok := svc.CallerOf(ctx)
	if !ok || s.Engine.Permanent(c) {
		return
	}
	go func() {
		tick := time.NewTicker(s.recheck)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if s.Engine.StillAuthenticated(ctx, c) != nil {
					end(errTokenEnded)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
}
