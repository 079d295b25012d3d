package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/coder/websocket"
)

// Conn transfers frames in both directions. Read and Write may be called concurrently, but each by only one goroutine
// at a time.
type Conn interface {
	// Read returns the next frame. It is valid until the next Read: decoding copies what it keeps.
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, frame []byte) error
	// Close closes the connection and sends the reason. It may be called more than once.
	Close(reason string) error
}

// WebSocket returns a Conn on an open socket.
func WebSocket(c *websocket.Conn) Conn {
	c.SetReadLimit(MaxFrame)
	return &socket{c: c}
}

type socket struct {
	c  *websocket.Conn
	in bytes.Buffer // the last frame

	above int                         // bytes of a frame that are read before pass is called
	pass  func(context.Context) error // called before the rest of a frame is read; may be nil
}

// Gate sets a function that is called before more than that many bytes of a frame are read. It limits how many
// connections allocate memory for large frames at the same time. Call it before the first Read.
func (s *socket) Gate(above int, pass func(context.Context) error) { s.above, s.pass = above, pass }

// keptBuffer is the largest read buffer that a connection keeps after a large frame, in bytes.
const keptBuffer = 64 << 10

func (s *socket) Read(ctx context.Context) ([]byte, error) {
	if s.in.Cap() > keptBuffer {
		s.in = bytes.Buffer{}
	}
	s.in.Reset()
	_, r, err := s.c.Reader(ctx)
	if err != nil {
		return nil, err
	}
	if s.pass != nil {
		_, err = io.CopyN(&s.in, r, int64(s.above))
		if errors.Is(err, io.EOF) {
			return s.in.Bytes(), nil
		}
		if err == nil {
			err = s.pass(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	_, err = s.in.ReadFrom(r)
	return s.in.Bytes(), err
}

func (s *socket) Write(ctx context.Context, b []byte) error {
	return s.c.Write(ctx, websocket.MessageText, b)
}

// Ping checks whether the other end responds. Both ends must be reading at that time.
func (s *socket) Ping(ctx context.Context) error { return s.c.Ping(ctx) }

func (s *socket) Close(reason string) error {
	if len(reason) > 120 { // a close frame has room for 125 bytes
		reason = reason[:120]
	}
	return s.c.Close(websocket.StatusNormalClosure, reason)
}

// ErrClosed is the error of writes to a closed Pipe.
var ErrClosed = errors.New("connection is closed")

// Pipe returns two connected Conns in memory, for tests without a network.
func Pipe() (Conn, Conn) {
	ab, ba := make(chan []byte), make(chan []byte)
	done := make(chan struct{})
	once := &sync.Once{}
	return &pipeEnd{in: ba, out: ab, done: done, once: once}, &pipeEnd{in: ab, out: ba, done: done, once: once}
}

type pipeEnd struct {
	in   <-chan []byte
	out  chan<- []byte
	done chan struct{}
	once *sync.Once
}

func (p *pipeEnd) Read(ctx context.Context) ([]byte, error) {
	select {
	case b := <-p.in:
		return b, nil
	case <-p.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipeEnd) Write(ctx context.Context, b []byte) error {
	select {
	case p.out <- append([]byte(nil), b...):
		return nil
	case <-p.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipeEnd) Close(string) error {
	p.once.Do(func() { close(p.done) })
	return nil
}
