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
	socketWrite = 30 * time.Second // a client that takes no frame for so long is gone
	socketPing  = 25 * time.Second // below the idle limit of the usual proxies
	socketPong  = 20 * time.Second
	socketClose = time.Second // for the client's answer to our close
)

// socket is one browser socket. Serve it, then close it.
type socket struct {
	conn *websocket.Conn

	// Cancelling a read kills the connection, and it could not be closed with a
	// reason any more. So reads have a context of their own, which ends last.
	reading context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// socketEnds is what a socket carries.
type socketEnds struct {
	next func(context.Context) ([]byte, error) // the next frame for the client; its error ends the socket
	take func([]byte) error                    // a frame of the client; its error ends the socket
	cut  <-chan struct{}                       // when closed, the socket ends at once; nil: never
	why  func() error                          // the reason for cut
}

// upgradable refuses in our envelope what the upgrade would refuse in its own
// words.
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

// accept upgrades the request. It is nil when that went wrong; the client has
// its answer then.
func accept(w http.ResponseWriter, r *http.Request) *socket {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the origin was judged before, by our own rule
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil
	}
	s := &socket{conn: conn}
	s.reading, s.stop = context.WithCancel(context.WithoutCancel(r.Context()))
	return s
}

// serve carries frames both ways until one side ends it, and returns why. The
// connection is still to be closed.
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

// guard finds out that a client is dead, or must be cut off even while it is
// being written to.
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

// close tells the client why and waits a moment for its answer. It returns
// when nothing of the socket is left.
func (s *socket) close(why error) {
	code, reason := closeCode(why)
	patience := time.AfterFunc(socketClose, s.stop)
	_ = s.conn.Close(code, reason) // the client may be long gone
	patience.Stop()
	s.stop()
	s.work.Wait()
}

// closeCode is what a client is told about the end of its socket.
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
