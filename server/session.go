package server

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/api"
	"svc/engine"
	"svc/wire"
)

// A browser signs in once with a token and then sends a cookie, so that the page holds no secret that a script could
// read.

const sessionPath = api.Prefix + "/session"

// cookieName returns a name that is unique to this installation, because a browser sends the cookies of a host name
// to all its ports.
func (s *Server) cookieName() string { return "svc_session_" + s.Engine.Fingerprint() }

func (s *Server) sessionRoutes(tags []string) {
	s.route(s.document(needs("", huma.Operation{
		OperationID: "open-session", Method: http.MethodPost, Path: "/session", Tags: tags,
		Summary:     "Sign a browser in",
		Description: "The response sets a cookie that is valid in place of the token until the token ends, the browser signs out, or 30 days pass without a request.",
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[api.OpenSession](s)}}},
		Responses:   map[string]*huma.Response{"204": {Description: "Signed in"}},
	})), s.openSession)
	s.route(s.document(needs(svc.RoleViewer, huma.Operation{
		OperationID: "close-session", Method: http.MethodDelete, Path: "/session", Tags: tags,
		Summary: "Sign a browser out", Responses: map[string]*huma.Response{"204": {Description: "Signed out"}},
	})), s.closeSession)
}

func (s *Server) openSession(w http.ResponseWriter, r *http.Request) {
	if err := s.checkOrigin(r); err != nil {
		writeError(w, r, err)
		return
	}
	body, err := s.internalBody(w, r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	var in api.OpenSession
	if err := wire.StrictJSON(body, &in); err != nil {
		writeError(w, r, err)
		return
	}
	if in.Token == "" {
		writeError(w, r, svc.Invalid("token", "is required"))
		return
	}
	secret, err := s.Engine.OpenSession(r.Context(), in.Token)
	if err != nil {
		writeError(w, r, err)
		return
	}
	s.setCookie(w, r, secret)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) closeSession(w http.ResponseWriter, r *http.Request) {
	if c, _ := svc.CallerOf(r.Context()); c.Session != "" {
		if err := s.Engine.CloseSession(r.Context(), c); err != nil {
			writeError(w, r, err)
			return
		}
	}
	s.setCookie(w, r, "")
	w.WriteHeader(http.StatusNoContent)
}

// setCookie sets the session cookie in the browser; an empty secret deletes it.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, secret string) {
	life := int(engine.SessionLife.Seconds())
	if secret == "" {
		life = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(), Value: secret, Path: "/", MaxAge: life, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	})
}

// sessionCaller returns the caller that belongs to the session cookie. A page of another origin can make a browser
// send the cookie, so every request except GET and HEAD must have a header that only our own page can set, and Origin
// must be allowed.
func (s *Server) sessionCaller(w http.ResponseWriter, r *http.Request) (svc.Caller, error) {
	cookie, err := r.Cookie(s.cookieName())
	if err != nil || cookie.Value == "" {
		return svc.Caller{}, errNoToken
	}
	if err := s.checkOrigin(r); err != nil {
		return svc.Caller{}, err
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Header.Get(api.HeaderRequest) != "1" {
		return svc.Caller{}, svc.Errorf(svc.CodeForbidden, "a request with the session's cookie must carry the header %s: 1", api.HeaderRequest)
	}
	c, renewed, err := s.Engine.AuthenticateSession(r.Context(), cookie.Value)
	if err == nil && renewed {
		s.setCookie(w, r, cookie.Value)
	}
	return c, err
}
