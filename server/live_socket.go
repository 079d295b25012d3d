package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"svc"
	"svc/engine"
)

const (
	socketWrite = 30 * time.Second // a client that accepts no frame for this time is disconnected
	socketPing  = 25 * time.Second // shorter than the idle limit of common proxies
	socketPong  = 20 * time.Second
	socketClose = time.Second // for the client's response to our close
)

// socket is one browser socket. Call serve, then close.
type socket struct {
	conn *websocket.Conn

	// Cancelling a read closes the connection, so that it could no longer be closed with a reason. So reads have
	// their own context, which is cancelled last.
	reading context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// socketEnds are the source and the destination of a socket's frames.
type socketEnds struct {
	next func(context.Context) ([]byte, error) // returns the next frame for the client; its error ends the socket
	take func([]byte) error                    // handles a frame of the client; its error ends the socket
	cut  <-chan struct{}                       // when closed, the socket ends at once; nil: never
	why  func() error                          // returns the reason for cut
}

// upgradable returns an error in our envelope for requests that the upgrade would refuse with its own text.
func upgradable(r *http.Request) error {
	if !hasToken(r.Header, "Connection", "upgrade") || !hasToken(r.Header, "Upgrade", "websocket") ||
		r.Header.Get("Sec-WebSocket-Version") != "13" || r.Header.Get("Sec-WebSocket-Key") == "" {
		return svc.Errorf(svc.CodeValidation, "this path is a WebSocket; open it as one")
	}
	return nil
}

func hasToken(h http.Header, name, token string) bool {
	for _, line := range h.Values(name) {
		for t := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// accept upgrades the request. It returns nil when that fails; the response was sent then.
func accept(w http.ResponseWriter, r *http.Request) *socket {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the origin was already checked by our own rule
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil
	}
	s := &socket{conn: conn}
	s.reading, s.stop = context.WithCancel(context.WithoutCancel(r.Context()))
	return s
}

// serve transfers frames in both directions until one side ends it, and returns the reason. The connection must still
// be closed.
func (s *socket) serve(ctx context.Context, ends socketEnds) error {
	ctx, end := context.WithCancelCause(ctx)
	s.work.Go(func() { end(s.read(ends.take)) })
	s.work.Go(func() { end(s.guard(ctx, ends)) })
	err := s.write(ctx, ends.next)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	end(err)
	return err
}

func (s *socket) write(ctx context.Context, next func(context.Context) ([]byte, error)) error {
	for {
		b, err := next(ctx)
		if err != nil {
			return err
		}
		if err := s.send(ctx, b); err != nil {
			return err
		}
	}
}

func (s *socket) send(ctx context.Context, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, socketWrite)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, b)
}

func (s *socket) read(take func([]byte) error) error {
	for {
		_, b, err := s.conn.Read(s.reading)
		if err == nil {
			err = take(b)
		}
		if err != nil {
			return err
		}
	}
}

// guard detects that a client is dead, or must be disconnected even during a write.
func (s *socket) guard(ctx context.Context, ends socketEnds) error {
	tick := time.NewTicker(socketPing)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := s.ping(ctx); err != nil {
				return err
			}
		case <-ends.cut:
			return ends.why()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *socket) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, socketPong)
	defer cancel()
	return s.conn.Ping(ctx)
}

// close sends the reason to the client and waits briefly for its response. When it returns, all goroutines of the
// socket have ended.
func (s *socket) close(why error) {
	code, reason := closeCode(why)
	patience := time.AfterFunc(socketClose, s.stop)
	_ = s.conn.Close(code, reason) // an error means that the client has already disconnected
	patience.Stop()
	s.stop()
	s.work.Wait()
}

// closeCode returns the status and the reason that the client receives at the end of its socket.
func closeCode(why error) (websocket.StatusCode, string) {
	switch {
	case errors.Is(why, engine.ErrRunEnded):
		return websocket.StatusNormalClosure, engine.ErrRunEnded.Error()
	case errors.Is(why, engine.ErrShutdown), errors.Is(why, context.Canceled):
		return websocket.StatusGoingAway, engine.ErrShutdown.Error()
	case errors.Is(why, errTokenEnded):
		return websocket.StatusPolicyViolation, errTokenEnded.Error()
	case errors.Is(why, engine.ErrSlow):
		return websocket.StatusTryAgainLater, engine.ErrSlow.Error()
	case errors.Is(why, engine.ErrMalformed):
		return websocket.StatusPolicyViolation, engine.ErrMalformed.Error()
	case errors.Is(why, engine.ErrRelayLost):
		return websocket.StatusInternalError, engine.ErrRelayLost.Error()
	default:
		return websocket.StatusInternalError, "the connection is over"
	}
}
