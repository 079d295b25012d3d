package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The limits that keep slow or hostile clients from holding a connection.
// Streams and sockets lift those of reading and writing for themselves.
const (
	headerTimeout  = 10 * time.Second
	readTimeout    = time.Minute
	writeTimeout   = time.Minute
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10

	// drainTimeout is how long a shutdown waits for requests in flight.
	drainTimeout = 5 * time.Second

	// How long new requests are answered while a replica is drained: until streams and sockets have left, so that
	// balancers and workers can turn elsewhere.
	handOverLeast = time.Second
	handOverMost  = 2 * time.Second
)

// Dead peers of a stream are found by TCP alone: there are no heartbeats.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}

// Listen binds the address, unless a listener was given or it is bound already,
// and tells where the server listens. Nothing is served before Run.
func (s *Server) Listen(ctx context.Context) (net.Addr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.bound != nil:
	case s.Listener != nil:
		s.bound = s.Listener
	default:
		l, err := (&net.ListenConfig{KeepAliveConfig: keepAlive}).Listen(ctx, "tcp", s.Addr)
		if err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
		s.bound = l
	}
	return s.bound.Addr(), nil
}

// Run serves until ctx ends, then drains: no new connections, requests in
// flight are answered, streams and sockets are ended. It returns when all that
// is done, nil after an orderly end.
func (s *Server) Run(ctx context.Context) error {
	if _, err := s.Listen(ctx); err != nil {
		return err
	}
	server := &http.Server{
		Handler:                      s.handler,
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true,
		TLSConfig:                    s.tlsConfig(),
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.conns.watch(server)
	served := make(chan error, 1)
	go func() { served <- s.accept(server) }()
	select {
	case err := <-served: // it never serves without an error
		s.close()
		_ = server.Close()
		<-s.lasting.shut()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	err := s.drain(server)
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve: %w", serveErr))
	}
	return err
}

func (s *Server) accept(server *http.Server) error {
	if s.TLSCert != "" {
		return server.ServeTLS(s.bound, s.TLSCert, s.TLSKey)
	}
	return server.Serve(s.bound)
}

// drain ends what is being served. Sockets are not the http.Server's any more,
// so they are waited for by themselves.
func (s *Server) drain(server *http.Server) error {
	s.close()
	left := s.lasting.shut()
	if s.Engine.Draining() {
		handOver(left)
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	err := server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("drain requests: %w", err), server.Close())
	}
	select {
	case <-left:
	case <-ctx.Done():
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
