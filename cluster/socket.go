package cluster

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
)

// lastWord is the reason in the close frame of a socket if the leader went away without a close frame.
const lastWord = "the orchestrator that served this socket went away; open it again"

// closeFrame returns a close frame of a WebSocket as a server sends it: without a mask.
func closeFrame(code websocket.StatusCode, reason string) []byte {
	frame := []byte{0x80 | opClose, byte(2 + len(reason))} // the length fits into one byte, because reason is short
	frame = binary.BigEndian.AppendUint16(frame, uint16(code))
	return append(frame, reason...)
}

const (
	opcodeBits = 0x0f
	opClose    = 0x8
	lengthBits = 0x7f
	maskedBit  = 0x80
)

// frames parses the stream that a server sends on a WebSocket, to find where a frame ends.
type frames struct {
	head   []byte // of the next frame: the bytes received so far
	left   uint64 // bytes of the current frame that were not received yet
	closed bool   // the server has sent a close frame
}

func (f *frames) pass(p []byte) {
	for len(p) > 0 {
		if f.left > 0 {
			n := min(f.left, uint64(len(p)))
			p, f.left = p[n:], f.left-n
			continue
		}
		f.head, p = append(f.head, p[0]), p[1:]
		if size, whole := f.size(); whole {
			f.closed = f.closed || f.head[0]&opcodeBits == opClose
			f.left, f.head = size, f.head[:0]
		}
	}
}

// size returns how many bytes follow the head. whole is false if the head is incomplete.
func (f *frames) size() (n uint64, whole bool) {
	h := f.head
	if len(h) < 2 {
		return 0, false
	}
	n, end := uint64(h[1]&lengthBits), 2
	switch n {
	case 126:
		end += 2
	case 127:
		end += 8
	}
	if len(h) < end {
		return 0, false
	}
	switch n {
	case 126:
		n = uint64(binary.BigEndian.Uint16(h[2:]))
	case 127:
		n = binary.BigEndian.Uint64(h[2:])
	}
	if h[1]&maskedBit != 0 {
		n += 4
	}
	return n, true
}

// closing returns the close frame to send after a server has gone away. It returns nil if the server has sent one itself,
// or if its stream ended within a frame.
func (f *frames) closing() []byte {
	if f.left > 0 || len(f.head) > 0 || f.closed {
		return nil
	}
	return closeFrame(websocket.StatusServiceRestart, lastWord)
}

// spoken reads a WebSocket to its end, and adds a close frame if the server sent none.
type spoken struct {
	io.Reader
	frames frames
	rest   []byte // of that close frame
	err    error  // returned after rest
}

func (s *spoken) Read(p []byte) (int, error) {
	if s.err == nil {
		n, err := s.Reader.Read(p)
		s.frames.pass(p[:n])
		if s.err = err; err != nil {
			s.rest = s.frames.closing()
		}
		if n > 0 || err == nil {
			return n, nil
		}
	}
	if len(s.rest) == 0 {
		return 0, s.err
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// counted is a response writer that counts a connection from its upgrade until it is closed. The handler of the request
// may return long before.
type counted struct {
	http.ResponseWriter
	open *atomic.Int64
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Hijack takes over the connection and counts it.
func (c *counted) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	open := c.open // a copy, because c would keep the whole request and its buffers in memory
	open.Add(1)
	return &countedConn{conn, sync.OnceFunc(func() { open.Add(-1) })}, buffered, nil
}

type countedConn struct {
	net.Conn
	left func()
}

// Close closes the connection, which no longer counts.
func (c *countedConn) Close() error {
	defer c.left()
	return c.Conn.Close()
}
