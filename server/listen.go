package server

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// The limits that keep slow or hostile clients from holding a connection. Streams and sockets remove the limits on
// reading and writing for themselves.
const (
	headerTimeout  = 10 * time.Second
	readTimeout    = time.Minute
	writeTimeout   = time.Minute
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10

	// drainTimeout is how long a shutdown waits for requests in flight.
	drainTimeout = 5 * time.Second

	// While a replica is drained, new requests are still answered for some time: at least handOverLeast, and at most
	// handOverMost or until streams and sockets have ended. So load balancers and workers can switch to another
	// replica.
	handOverLeast = time.Second
	handOverMost  = 2 * time.Second
)

// keepAlive detects dead peers of streams, because streams have no heartbeats by default.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}

// Endpoint is a listener with its limits and its handler.
type Endpoint struct {
	Listener net.Listener // nil: Addr is used
	Addr     string       // host:port
	TLSCert  string       // PEM files; both empty: plain HTTP
	TLSKey   string
	Workers  *x509.CertPool // the CA pool for the workers' client certificates; nil: none are requested
	Handler  http.Handler
	Log      *slog.Logger
	// MostAnonymous is how many connections one address may have on which no token was accepted yet; 0: mostAnonymous.
	MostAnonymous int

	mu    sync.Mutex // guards the fields below
	bound net.Listener
	conns *connTracker
}

// Listen binds the address, unless a listener is set or it is already bound, and returns the bound address. Nothing
// is served before Run.
func (p *Endpoint) Listen(ctx context.Context) (net.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.bound != nil:
	case p.Listener != nil:
		p.bound = p.Listener
	default:
		l, err := (&net.ListenConfig{KeepAliveConfig: keepAlive}).Listen(ctx, "tcp", p.Addr)
		if err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
		p.bound = l
	}
	if p.conns == nil {
		p.conns = newConnTracker(cmp.Or(p.MostAnonymous, mostAnonymous))
	}
	return p.bound.Addr(), nil
}

// Run serves until ctx ends and then calls drain. It returns after drain; nil after an orderly end.
func (p *Endpoint) Run(ctx context.Context, drain func(*http.Server) error) error {
	if _, err := p.Listen(ctx); err != nil {
		return err
	}
	server := &http.Server{
		Handler:                      p.Handler,
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true,
		TLSConfig:                    p.tlsConfig(),
		ErrorLog:                     slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
	}
	p.conns.watch(server)
	served := make(chan error, 1)
	go func() { served <- p.accept(server) }()
	select {
	case err := <-served: // it only returns with an error
		return errors.Join(fmt.Errorf("serve: %w", err), drain(server))
	case <-ctx.Done():
	}
	err := drain(server)
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve: %w", serveErr))
	}
	return err
}

func (p *Endpoint) accept(server *http.Server) error {
	if p.TLSCert != "" {
		return server.ServeTLS(p.bound, p.TLSCert, p.TLSKey)
	}
	return server.Serve(p.bound)
}

// Drain waits for the requests in flight, up to drainTimeout, and closes all connections.
func Drain(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("drain requests: %w", err), server.Close())
	}
	return nil
}

// Listen binds the server's address and returns the bound address. Nothing is served before Run.
func (s *Server) Listen(ctx context.Context) (net.Addr, error) { return s.endpoint.Listen(ctx) }

// Run serves until ctx ends and then drains: it accepts no new connections, finishes the requests in flight, and ends
// streams and sockets. It returns after that; nil after an orderly end.
func (s *Server) Run(ctx context.Context) error { return s.endpoint.Run(ctx, s.drain) }

// drain ends what is being served. http.Server no longer tracks the sockets, so drain waits for them separately.
func (s *Server) drain(server *http.Server) error {
	s.close()
	left := s.longLived.shut()
	if s.Engine.Draining() {
		handOver(left)
	}
	limit := time.NewTimer(drainTimeout)
	defer limit.Stop()
	err := Drain(server)
	select {
	case <-left:
	case <-limit.C:
		err = errors.Join(err, errors.New("drain: a stream or socket did not end in time"))
	}
	return err
}

// handOver waits while requests are still answered.
func handOver(left <-chan struct{}) {
	least, most := time.NewTimer(handOverLeast), time.NewTimer(handOverMost)
	defer least.Stop()
	defer most.Stop()
	<-least.C
	select {
	case <-left:
	case <-most.C:
	}
}
