package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"svc"
	"svc/api"
)

// pagePattern matches every path that no other pattern matches.
const pagePattern = "GET /{path...}"

// routes registers every route of the server.
func (s *Server) routes() {
	ownErrors()
	s.api = huma.NewAPI(s.describe(), adapter{s})
	s.projectRoutes()
	s.workItemRoutes()
	s.runRoutes()
	s.hostRoutes()
	s.providerRoutes()
	s.eventRoutes()
	s.workspaceRoutes()
	s.inboxRoutes()
	s.notifyRoutes()
	s.replicaRoutes()
	s.messageRoutes()
	s.commentRoutes()
	s.sendRoute()
	s.accessRoutes()
	s.liveRoutes()
	s.internalRoutes()
	s.healthRoutes()
	s.documentRoutes()
	s.mux.Handle(pagePattern, s.page)
}

// serve authenticates a request and passes it to the router. The router would refuse requests with plain text, so
// serve looks the route up first and sends refusals in the envelope.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	authenticated, err := s.authenticate(w, r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	r = authenticated
	pattern, err := s.find(w, r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	exchangeOf(r.Context()).route = pattern
	s.mux.ServeHTTP(w, r)
}

// find returns the route pattern that matches a request.
func (s *Server) find(w http.ResponseWriter, r *http.Request) (string, error) {
	unknown := svc.Errorf(svc.CodeNotFound, "nothing is at %.200s", r.URL.Path)
	if clean := path.Clean("/" + r.URL.Path); clean != r.URL.Path && clean+"/" != r.URL.Path {
		return "", unknown // the router would redirect to the clean path, which no client needs
	}
	handler, pattern := s.mux.Handler(r)
	page := pattern == pagePattern
	switch {
	case page && under(r.URL.Path, "/api"):
		// pagePattern matches every path, but the refusals under /api must not be those of the page.
		if allow := s.allowed(r); allow != "" {
			w.Header().Set("Allow", allow)
			return "", notAllowed(r, allow)
		}
		return "", unknown
	case pattern != "":
		return pattern, nil
	}
	probe := &refusalProbe{header: http.Header{}}
	handler.ServeHTTP(probe, r)
	if probe.status != http.StatusMethodNotAllowed {
		return "", unknown
	}
	allow := s.allowed(r)
	if allow == "" && under(r.URL.Path, "/api") {
		return "", unknown
	}
	if allow == "" {
		allow = probe.header.Get("Allow")
	}
	w.Header().Set("Allow", allow)
	return "", notAllowed(r, allow)
}

func notAllowed(r *http.Request, allow string) error {
	return svc.Errorf(svc.CodeMethodNotAllowed, "the method %.20s is not allowed here; allowed: %s", r.Method, allow)
}

// allowed lists the methods of a path, except that of the page's pattern; empty: the path is unknown.
func (s *Server) allowed(r *http.Request) string {
	var methods []string
	for _, m := range []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodPost, http.MethodPut} {
		other := r.Clone(r.Context())
		other.Method = m
		if _, pattern := s.mux.Handler(other); pattern != "" && pattern != pagePattern {
			methods = append(methods, m)
		}
	}
	return strings.Join(methods, ", ")
}

// refusalProbe records the router's response without sending it.
type refusalProbe struct {
	header http.Header
	status int
}

func (p *refusalProbe) Header() http.Header         { return p.header }
func (p *refusalProbe) Write(b []byte) (int, error) { return len(b), nil }
func (p *refusalProbe) WriteHeader(status int)      { p.status = status }

// adapter lets huma register its operations with the server.
type adapter struct{ s *Server }

// Handle registers an operation.
func (a adapter) Handle(op *huma.Operation, next func(huma.Context)) {
	a.s.route(op, func(w http.ResponseWriter, r *http.Request) { next(humago.NewContext(op, r, w)) })
}

// ServeHTTP is required by the interface; huma does not call it.
func (a adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.s.mux.ServeHTTP(w, r) }

// route registers a public operation, preceded by the checks that need no schema.
func (s *Server) route(op *huma.Operation, next http.HandlerFunc) {
	s.mux.HandleFunc(op.Method+" "+api.Prefix+op.Path, func(w http.ResponseWriter, r *http.Request) {
		announce(op, w.Header())
		if err := checkRole(op, r); err != nil {
			writeError(w, r, err)
			return
		}
		if err := checkQuery(op, r.URL); err != nil {
			writeError(w, r, err)
			return
		}
		if op.Method == http.MethodPost || op.Method == http.MethodPatch {
			ctx, body, err := s.payload(op, w, r)
			if err != nil {
				writeError(w, r, err)
				return
			}
			r = r.WithContext(ctx)
			r.Body = io.NopCloser(bytes.NewReader(body))
			r.Header.Set("Content-Type", "application/json") // huma compares this exact form
		}
		compress(op, w, r, next)
	})
}

// payload reads the body of a request and its idempotency key.
func (s *Server) payload(op *huma.Operation, w http.ResponseWriter, r *http.Request) (context.Context, []byte, error) {
	body, err := s.readBody(w, r)
	if err != nil {
		return nil, nil, err
	}
	if op.RequestBody == nil {
		if err := checkEmpty(body); err != nil {
			return nil, nil, err
		}
	} else if len(body) == 0 && op.RequestBody.Required {
		return nil, nil, svc.Invalid("body", "is required: a JSON object")
	}
	ctx, err := idempotent(r, body)
	return ctx, body, err
}

// register adds an operation to the public API. Bodies are read and limited before huma gets them.
func register[I, O any](s *Server, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	op.MaxBodyBytes = -1
	op.BodyReadTimeout = -1
	huma.Register(s.api, op, handler)
}

// longLivedRoute wraps the handler of a stream or socket: it removes the time limits, and ends the handler when the server
// shuts down or the token ends.
func (s *Server) longLivedRoute(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.longLived.enter() {
			writeError(w, r, shuttingDown)
			return
		}
		defer s.longLived.leave()
		exchangeOf(r.Context()).longLived = true
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		defer context.AfterFunc(s.closing, func() { cancel(nil) })()
		s.endWithToken(ctx, cancel)
		unlimited(w)
		next(w, r.WithContext(ctx))
	}
}
