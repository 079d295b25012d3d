package server

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
)

const (
	// uplinkReads is enough for a heartbeat, uplinkWrites for a dispatch of common size. Larger frames bypass the
	// buffers.
	uplinkReads  = 1 << 10
	uplinkWrites = 2 << 10
)

// smallBuffers makes Hijack return a connection with smaller buffers. The buffers of the HTTP server would be kept as
// long as the connection, and an orchestrator has thousands of idle connections.
type smallBuffers struct{ http.ResponseWriter }

// Hijack takes over the connection, together with the bytes that the client has sent after its request.
func (w smallBuffers) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	sent, err := buffers.Peek(buffers.Reader.Buffered())
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	reader := bufio.NewReaderSize(conn, max(uplinkReads, len(sent)))
	if len(sent) > 0 {
		reader.Reset(io.MultiReader(bytes.NewReader(bytes.Clone(sent)), conn))
		if _, err := reader.Peek(len(sent)); err != nil { // so that these bytes count as buffered
			_ = conn.Close()
			return nil, nil, err
		}
	}
	return conn, bufio.NewReadWriter(reader, bufio.NewWriterSize(conn, uplinkWrites)), nil
}
