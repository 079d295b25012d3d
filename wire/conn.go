package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/coder/websocket"
)

// Conn carries frames in both directions. Read and Write may be called from
// different goroutines, each from one at a time.
type Conn interface {
	// Read returns the next frame. It is good until the next Read: decoding copies what it keeps.
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, frame []byte) error
	// Close ends the connection and says why. It may be called more than once.
	Close(reason string) error
}

// WebSocket makes a Conn of an open socket.
func WebSocket(c *websocket.Conn) Conn {
	c.SetReadLimit(MaxFrame)
	return &socket{c: c}
}

type socket struct {
	c  *websocket.Conn
	in bytes.Buffer // the frame that was read last

	above int                         // bytes that are read of any frame
	pass  func(context.Context) error // asked before the rest is; nil: nobody
}

// Gate has a function asked before more than so many bytes of a frame are read:
// memory for large frames is not given to everyone at once. It is called before
// the first Read.
func (s *socket) Gate(above int, pass func(context.Context) error) { s.above, s.pass = above, pass }

// keptBuffer bounds what a quiet connection holds on to after a large frame.
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

// Ping asks the other end whether it lives. Someone must read meanwhile, here
// and there.
func (s *socket) Ping(ctx context.Context) error { return s.c.Ping(ctx) }

func (s *socket) Close(reason string) error {
	if len(reason) > 120 { // a close frame has room for 125 bytes
		reason = reason[:120]
	}
	return s.c.Close(websocket.StatusNormalClosure, reason)
}

// ErrClosed is what the ends of a closed Pipe answer.
var ErrClosed = errors.New("connection is closed")

// Pipe is a connected pair in memory, for tests of either side without a
// network.
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
