package server

import (
	"net/http"
	"time"
)

// writeLimit is the maximum duration of one write to a stream. A slower client is disconnected; it can resume with
// its cursor.
const writeLimit = 10 * time.Second

// piece is the maximum size of one write of a large message, in bytes.
const piece = 64 << 10

// stream sends the journal to one client. The engine returns encoded bytes, which all clients with the same filter
// share; stream only forwards them.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	after, err := cursor(r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	filter, err := eventQueryOf(r.URL.Query()).filter()
	if err != nil {
		writeError(w, r, err)
		return
	}
	every, err := heartbeatOf(r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	h := w.Header()
	if r.Method == http.MethodHead {
		h.Set("Content-Type", "text/event-stream")
		return
	}
	ctx := r.Context()
	sub, err := s.Engine.Subscribe(ctx, after, filter)
	if err != nil {
		writeError(w, r, err)
		return
	}
	sub.Heartbeat = every
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()

	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy must not buffer messages
	w.WriteHeader(http.StatusOK)
	out := newPaced(w, s.stall)
	if out.Flush() != nil {
		return
	}
	for {
		b, err := sub.Next(ctx)
		if err != nil { // the client disconnected or was too slow, or the server is shutting down; the client can resume in each case
			return
		}
		if _, err := out.Write(b); err != nil || out.Flush() != nil {
			return
		}
	}
}

// paced is a response whose client must keep reading. A response may be large and the connection slow, so the time
// limit applies to each piece and not to the whole. Between two writes there is no limit, so a stream may be idle for
// any time.
type paced struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

func newPaced(w http.ResponseWriter, stall time.Duration) *paced {
	return &paced{ResponseWriter: w, control: http.NewResponseController(w), stall: stall}
}

// Write writes b in pieces.
func (p *paced) Write(b []byte) (written int, err error) {
	defer p.limit(time.Time{})
	for len(b) > 0 && err == nil {
		p.limit(time.Now().Add(p.stall))
		var n int
		n, err = p.ResponseWriter.Write(b[:min(len(b), piece)])
		written, b = written+n, b[n:]
	}
	return written, err
}

// Flush sends the buffered data.
func (p *paced) Flush() error {
	p.limit(time.Now().Add(p.stall))
	defer p.limit(time.Time{})
	return p.control.Flush()
}

func (p *paced) limit(t time.Time) { _ = p.control.SetWriteDeadline(t) } // best effort: test recorders do not support it

// unlimited removes the time limits of short requests from a connection.
func unlimited(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{}) // best effort: test recorders do not support it
	_ = rc.SetWriteDeadline(time.Time{})
}
