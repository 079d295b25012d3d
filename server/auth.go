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
)

// A door is what a path asks of a caller.
type door int

const (
	doorOpen     door = iota // anyone
	doorUser                 // the user token
	doorSocket               // the user token, also in the query: a browser cannot set headers on a socket
	doorWorker               // the worker token or a host's own
	doorSignal               // those, or the run's signal token
	internalRoot = "/api/internal"
)

// doorOf decides by the path alone, so that authentication comes before
// everything else: an unknown path or id looks the same from outside as a
// known one.
func doorOf(path string) door {
	switch {
	case path == api.Prefix+"/openapi.json", path == api.Prefix+"/docs":
		return doorOpen
	case under(path, api.Prefix):
		if strings.HasPrefix(path, api.Prefix+"/runs/") && (strings.HasSuffix(path, "/pane/ws") || strings.HasSuffix(path, "/attach/ws")) {
			return doorSocket
		}
		return doorUser
	case path == "/metrics":
		return doorUser
	case under(path, internalRoot):
		if _, ok := signalRun(path); ok {
			return doorSignal
		}
		return doorWorker
	default:
		return doorOpen
	}
}

func under(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// signalRun is the run's id in the path of the signal endpoint.
func signalRun(path string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(path, internalRoot+"/runs/")
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(rest, "/signals")
	return id, ok && !strings.Contains(id, "/")
}

// caller is who knocked at a worker's door.
type caller struct {
	host string // the token is good for this host alone; empty: for any
	run  string // the token is good for signals of this run alone; empty: no signal token
}

type callerKey struct{}

// callerOf is who passed the worker's door.
func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// admit checks the token that the path's door wants. The request it gives back
// holds no token in its URL.
func (s *Server) admit(r *http.Request) (*http.Request, error) {
	d := doorOf(r.URL.Path)
	token, given := bearer(r)
	switch d {
	case doorOpen:
		return r, nil
	case doorSocket:
		if !given {
			token = r.URL.Query().Get("token")
		}
		r = withoutToken(r)
		fallthrough
	case doorUser:
		if same(token, s.Tokens.User) {
			return r, nil
		}
	case doorWorker, doorSignal:
		if who, ok := s.workerCaller(r, token); ok {
			return r.WithContext(context.WithValue(r.Context(), callerKey{}, who)), nil
		}
	}
	return nil, svc.Errorf(svc.CodeUnauthorized, "the token is missing or not the right one for this")
}

func (s *Server) workerCaller(r *http.Request, token string) (caller, bool) {
	if token == "" {
		return caller{}, false
	}
	if same(token, s.Tokens.Worker) {
		return caller{}, true
	}
	if id, ok := signalRun(r.URL.Path); ok && s.Engine.SignalTokenOK(id, token) {
		return caller{run: id}, true
	}
	if same(token, s.Tokens.User) { // spares the lookup
		return caller{}, false
	}
	host, ok := s.Engine.HostOfToken(r.Context(), token)
	return caller{host: host}, ok && host != ""
}

// bearer is the token of the Authorization header; given is false without the
// header.
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

// same compares in a time that tells nothing, neither of content nor length.
func same(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// withoutToken takes the token off the URL, so that nothing further in can log
// it.
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

// checkOrigin refuses a page of someone else's: a browser sends Origin with
// every socket. Other programs send none.
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

// guardOrigin is checkOrigin in front of a handler.
func (s *Server) guardOrigin(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkOrigin(r); err != nil {
			writeError(w, r, err)
			return
		}
		next(w, r)
	}
}
