// Package server is the orchestrator's HTTP server: the public API under /api/v1, the workers' endpoints under
// /api/internal, the event stream, the sockets of browsers, health, metrics and the page.
//
// A request passes these steps in order: its request id, the access log and the security headers (exchange.go); the
// authentication that its path requires (auth.go); the router, whose refusals are in the error envelope like all
// others (routes.go); the checks of query and body that need no schema (query.go, body.go); then the schema
// validation of its operation and the handler. Handlers translate requests to calls of package engine and make no
// decisions themselves.
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
	"golang.org/x/time/rate"

	"svc"
	"svc/api"
	"svc/arrivals"
	"svc/engine"
)

// ProviderInfo is one entry of the orchestrator's catalog.
type ProviderInfo = api.ProviderFacts

// WorkerToken is the secret with which a worker may join as any host.
type WorkerToken string

// String hides the token in printed output.
func (WorkerToken) String() string { return "[secret]" }

// GoString hides the token too.
func (WorkerToken) GoString() string { return "[secret]" }

// Options are the settings and dependencies of a Server.
type Options struct {
	Engine *engine.Engine
	Live   *Live // screens, logs and attach

	Notifier Notifier // nil: no sinks

	WorkerToken WorkerToken

	Logger   *slog.Logger         // nil: slog.Default()
	Registry *prometheus.Registry // where the metrics are registered; nil: a new registry
	Process  prometheus.Gatherer  // further metrics of the process for /metrics, independent of the current server; nil: none
	Version  string               // of the product, for the API description
	Catalog  func() []ProviderInfo
	// CatalogProblem returns why the orchestrator's catalog could not be loaded; nil func or empty string: no
	// problem.
	CatalogProblem func() string
	SPA            fs.FS // the files of the page; nil: a placeholder is served at /

	// AllowedOrigins are origins, besides the server's own, whose pages may open the sockets for browsers, such as
	// https://board.example.
	AllowedOrigins []string

	Listener net.Listener // nil: Addr is used
	Addr     string       // host:port
	TLSCert  string       // PEM files; both empty: plain HTTP
	TLSKey   string
	WorkerCA string // PEM file with the CA of the workers' certificates; empty: no certificates are required
}

// Server serves the HTTP interface of one orchestrator. Create it with New.
type Server struct {
	Options
	log     *slog.Logger
	metrics *metrics
	mux     *http.ServeMux
	api     huma.API
	handler http.Handler
	page    http.Handler

	// closing is cancelled when the server shuts down: streams and sockets end then, while short requests are
	// drained.
	closing   context.Context
	close     context.CancelFunc
	longLived gate // streams and sockets that are being served

	workerCAs *x509.CertPool // nil: workers need no certificate

	arrivals *arrivals.Line
	crowded  rate.Sometimes // limits the log lines about them

	stall     time.Duration // maximum duration of one write to a stream
	bodyLimit time.Duration // maximum time for the arrival of a body
	recheck   time.Duration // interval of the token checks of an open stream or socket

	endpoint *Endpoint
}

// New creates a Server with all its routes. It does not listen before Listen or Run.
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
		arrivals: arrivals.NewLine(arrivals.AtOnce), crowded: rate.Sometimes{Interval: 10 * time.Second}}
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

// Handler returns the whole server as a handler, for tests and other listeners. Its streams and sockets end at the
// end of Run, or with Close.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends streams and sockets and waits for them. Call it when the Handler is served without Run; Run does the
// same.
func (s *Server) Close() {
	s.close()
	<-s.longLived.shut()
}

// OpenAPI returns the description of the public API.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.api.OpenAPI() }
