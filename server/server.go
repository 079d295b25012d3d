// Package server is the orchestrator's HTTP: the public API under /api/v1, the
// worker's endpoints under /api/internal, the event stream, the browser's sockets,
// health, metrics and the page.
//
// A request passes, from the outside in: its request id, the access log and
// the security headers (exchange.go); the authentication that its path needs (auth.go);
// the router, whose refusals are in the error envelope like all others
// (routes.go); checks of query and body that need no schema (query.go,
// body.go); then the schema of its operation and the handler. Handlers turn
// requests into calls of package engine and decide nothing themselves.
package server

import (
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"svc"
	"svc/api"
	"svc/engine"
)

// ProviderInfo is one entry of the orchestrator's catalog.
type ProviderInfo = api.ProviderFacts

// WorkerToken is the secret with which a worker may join as any host.
type WorkerToken string

// String hides the token, wherever it might be printed.
func (WorkerToken) String() string { return "[secret]" }

// GoString hides it too.
func (WorkerToken) GoString() string { return "[secret]" }

// Options is everything a Server needs.
type Options struct {
	Engine *engine.Engine
	Live   *Live // screens, logs and attach

	Notifier Notifier // nil: notifications go nowhere

	WorkerToken WorkerToken

	Logger   *slog.Logger         // nil: slog.Default()
	Registry *prometheus.Registry // where metrics are gathered; nil: one of its own
	Process  prometheus.Gatherer  // what else the process tells at /metrics, whichever of its servers answers; nil: nothing
	Version  string               // of the product, for the API's description
	Catalog  func() []ProviderInfo
	// CatalogProblem is why the orchestrator's catalog is not in force; nil, or an empty answer: it is.
	CatalogProblem func() string
	SPA            fs.FS // the page's files; nil: a placeholder stands at /

	// AllowedOrigins are origins besides the server's own that may open the
	// browser's sockets, such as https://board.example.
	AllowedOrigins []string

	Listener net.Listener // nil: Addr is bound
	Addr     string       // host:port
	TLSCert  string       // PEM files; both empty: plain HTTP
	TLSKey   string
	WorkerCA string // PEM file with the authority of the workers' certificates; empty: none is asked for
}

// Server serves one orchestrator. Make it with New.
type Server struct {
	Options
	log     *slog.Logger
	metrics *metrics
	mux     *http.ServeMux
	api     huma.API
	handler http.Handler
	page    http.Handler

	// closing ends when the server shuts down: streams and sockets end with it,
	// while short requests are drained.
	closing context.Context
	close   context.CancelFunc
	lasting gate // streams and sockets being served

	workerCAs *x509.CertPool // nil: workers need no certificate

	registrations, uplinks *arrivals

	stall     time.Duration // how long one write to a stream may take
	bodyLimit time.Duration // how long a body may take to arrive
	recheck   time.Duration // how often the token of an open stream or socket is checked

	endpoint *Endpoint
}

// New makes a Server and all its routes. It listens only in Run.
func New(o Options) (*Server, error) {
	switch {
	case o.Engine == nil:
		return nil, errors.New("server: no engine")
	case o.Live == nil:
		return nil, errors.New("server: no live")
	case o.WorkerToken == "" || o.Engine.OwnerTokenHash == "":
		return nil, errors.New("server: a token is empty")
	case svc.SecretHash(string(o.WorkerToken)) == o.Engine.OwnerTokenHash:
		return nil, errors.New("server: the user token and the worker token are the same")
	case (o.TLSCert == "") != (o.TLSKey == ""):
		return nil, errors.New("server: TLS needs both a certificate and a key")
	case o.WorkerCA != "" && o.TLSCert == "":
		return nil, errors.New("server: certificates of workers need TLS")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Notifier == nil {
		o.Notifier = noSinks{}
	}
	if o.Catalog == nil {
		o.Catalog = func() []ProviderInfo { return nil }
	}
	s := &Server{Options: o, log: o.Logger, mux: http.NewServeMux(), stall: writeLimit, bodyLimit: bodyTimeout,
		registrations: newArrivals(), uplinks: newArrivals()}
	s.recheck = tokenRecheck
	s.closing, s.close = context.WithCancel(context.Background())
	var err error
	if s.metrics, err = newMetrics(o.Registry, o.Engine, o.Notifier); err != nil {
		return nil, err
	}
	if s.workerCAs, err = ReadAuthority(o.WorkerCA); err != nil {
		return nil, err
	}
	if s.page, err = newPage(o.SPA); err != nil {
		return nil, err
	}
	s.routes()
	s.handler = s.exchange(http.HandlerFunc(s.serve))
	s.endpoint = &Endpoint{Listener: o.Listener, Addr: o.Addr, TLSCert: o.TLSCert, TLSKey: o.TLSKey, Workers: s.workerCAs, Handler: s.handler, Log: s.log}
	return s, nil
}

// Handler is the whole server as a handler, for tests and other listeners.
// Streams and sockets end when Run does, or with Close.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends streams and sockets and waits for them. It is for a Server whose
// Handler is served by someone else; Run does it by itself.
func (s *Server) Close() {
	s.close()
	<-s.lasting.shut()
}

// OpenAPI is the description of the public API.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.api.OpenAPI() }
