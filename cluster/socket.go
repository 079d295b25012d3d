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

// lastWord is told to whoever has a socket when the leader goes away without a word of its own.
const lastWord = "the orchestrator that served this socket went away; open it again"

// closeFrame is the end of a WebSocket, as a server sends it.
func closeFrame(code websocket.StatusCode, reason string) []byte {
	frame := []byte{0x80 | opClose, byte(2 + len(reason))} // short: one byte of length is enough
	frame = binary.BigEndian.AppendUint16(frame, uint16(code))
	return append(frame, reason...)
}

const (
	opcodeBits = 0x0f
	opClose    = 0x8
	lengthBits = 0x7f
	maskedBit  = 0x80
)

// frames follows what a server sends on a WebSocket, to know where a frame ends.
type frames struct {
	head   []byte // of the next frame, as far as it has come
	left   uint64 // bytes of the present frame that are still to come
	closed bool   // the last frame was the end
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

// size is what follows the head, once that is whole.
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

// closing is the frame that ends the socket for a server that has gone away; nothing where it has ended it itself, or within a frame.
func (f *frames) closing() []byte {
	if f.left > 0 || len(f.head) > 0 || f.closed {
		return nil
	}
	return closeFrame(websocket.StatusServiceRestart, lastWord)
}

// spoken reads a WebSocket to its end, and ends it with a word when the server did not.
type spoken struct {
	io.Reader
	frames frames
	rest   []byte // of that word
	err    error  // what follows it
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

// counted counts a connection from its upgrade until it is closed: whoever answers may be done with the request long before.
type counted struct {
	http.ResponseWriter
	open *atomic.Int64
}

// Unwrap leads to what else the writer can do.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Hijack hands the connection over.
func (c *counted) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	open := c.open // alone: the writer has the whole request, and its buffers
	open.Add(1)
	return &countedConn{conn, sync.OnceFunc(func() { open.Add(-1) })}, buffered, nil
}

type countedConn struct {
	net.Conn
	left func()
}

// Close ends the connection.
func (c *countedConn) Close() error {
	defer c.left()
	return c.Conn.Close()
}
