package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"

	"svc"
	"svc/api"
	"svc/engine"
)

// authScope is the kind of authentication that a path requires.
type authScope int

const (
	scopeOpen    authScope = iota // none
	scopeUser                     // an access token or a browser session
	scopeSocket                   // the same; the token may also be in the query, because a browser cannot set headers on a socket
	scopeWorker                   // the worker token or a host's own token
	scopeSignal                   // the same, or the run's signal token
	internalRoot = "/api/internal"
)

// scopeOf depends on method and path only, so that authentication comes before everything else: without a token, an
// unknown path or id cannot be distinguished from a known one.
func scopeOf(method, path string) authScope {
	switch {
	case path == api.Prefix+"/openapi.json", path == api.Prefix+"/docs":
		return scopeOpen
	case path == sessionPath && method == http.MethodPost:
		return scopeOpen // the token is in the body
	case under(path, api.Prefix):
		if strings.HasPrefix(path, api.Prefix+"/runs/") && (strings.HasSuffix(path, "/pane/ws") || strings.HasSuffix(path, "/attach/ws")) {
			return scopeSocket
		}
		return scopeUser
	case path == "/metrics":
		return scopeUser
	case under(path, internalRoot):
		if _, ok := signalRun(path); ok {
			return scopeSignal
		}
		return scopeWorker
	default:
		return scopeOpen
	}
}

func under(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// signalRun returns the id of the run in the paths for which a run's own token is valid: its signals, and the
// comments that it has handled.
func signalRun(path string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(path, internalRoot+"/runs/")
	if !ok {
		return "", false
	}
	id, rest, _ = strings.Cut(rest, "/")
	return id, rest == "signals" || strings.HasPrefix(rest, "comments/") && strings.HasSuffix(rest, "/handled")
}

type reporterKey struct{}

// reporterOf returns the authenticated worker, wrapper or hook.
func reporterOf(ctx context.Context) engine.Reporter {
	who, _ := ctx.Value(reporterKey{}).(engine.Reporter)
	return who
}

// errNoToken is the error for every caller that is not authenticated, whatever the reason.
var errNoToken = svc.Errorf(svc.CodeUnauthorized, "the token is missing, or is not valid for this request")

// authenticate checks the token that the path requires. The request that it returns has no token in its URL, and has
// the caller in its context.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	scope := scopeOf(r.Method, r.URL.Path)
	token, given := bearer(r)
	switch scope {
	case scopeOpen:
		return r, nil
	case scopeSocket:
		if !given {
			token = r.URL.Query().Get("token")
			given = token != ""
		}
		r = withoutToken(r)
		fallthrough
	case scopeUser:
		c, err := s.userCaller(w, r, token, given)
		if err != nil {
			return nil, err
		}
		Accepted(r.Context())
		return r.WithContext(svc.WithCaller(r.Context(), c)), nil
	default:
		who, err := s.reporter(r, token)
		if err == nil {
			err = s.checkSignature(r, who)
		}
		if err != nil {
			return nil, err
		}
		Accepted(r.Context())
		return r.WithContext(context.WithValue(r.Context(), reporterKey{}, who)), nil
	}
}

// userCaller returns the caller of a request to the public API, from its bearer token or else from the cookie of a
// browser session.
func (s *Server) userCaller(w http.ResponseWriter, r *http.Request, token string, given bool) (svc.Caller, error) {
	if given {
		if token == "" {
			return svc.Caller{}, errNoToken
		}
		return s.Engine.Authenticate(r.Context(), token)
	}
	return s.sessionCaller(w, r)
}

// reporter returns the sender of a request from a worker, a wrapper or a hook.
func (s *Server) reporter(r *http.Request, token string) (engine.Reporter, error) {
	if token == "" {
		return engine.Reporter{}, errNoToken
	}
	if id, ok := signalRun(r.URL.Path); ok {
		if who, err := s.Engine.ReporterOfRun(r.Context(), id, token); svc.CodeOf(err) != svc.CodeUnauthorized {
			return who, err
		}
	}
	if err := s.checkCertificate(r); err != nil {
		return engine.Reporter{}, err
	}
	if equalTokens(token, string(s.WorkerToken)) {
		return engine.Reporter{}, nil
	}
	return s.Engine.HostOfToken(r.Context(), token)
}

// bearer returns the token of the Authorization header; given is false when there is no such header.
func bearer(r *http.Request) (token string, given bool) {
	h := r.Header.Get("Authorization")
	if h == "" {
		return "", false
	}
	scheme, token, _ := strings.Cut(h, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", true
	}
	return strings.TrimSpace(token), true
}

// equalTokens compares two tokens in constant time, so that the duration reveals neither content nor length.
func equalTokens(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// withoutToken removes the token from the URL, so that later code cannot log it.
func withoutToken(r *http.Request) *http.Request {
	q := r.URL.Query()
	if !q.Has("token") {
		return r
	}
	q.Del("token")
	c := r.Clone(r.Context())
	u := *r.URL
	u.RawQuery = q.Encode()
	c.URL, c.RequestURI = &u, u.RequestURI()
	return c
}

// checkOrigin refuses sockets that are opened by pages of another origin: a browser sends Origin with every socket.
// Other programs send none.
func (s *Server) checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return nil
	}
	for _, allowed := range s.AllowedOrigins {
		if strings.EqualFold(origin, strings.TrimRight(allowed, "/")) {
			return nil
		}
	}
	return svc.Errorf(svc.CodeForbiddenOrigin, "a page of %.200q may not open this socket; see [server] allowed_origins", origin)
}

// guardOrigin returns a handler that calls next after checkOrigin.
func (s *Server) guardOrigin(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkOrigin(r); err != nil {
			writeError(w, r, err)
			return
		}
		next(w, r)
	}
}
