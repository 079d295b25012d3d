package server

import (
	"net/http"
	"time"
)

// writeLimit is how long one write to a stream may take. A client that reads
// slower is cut off; it resumes by its cursor.
const writeLimit = 10 * time.Second

// piece is how much of a large message is written at once, in bytes.
const piece = 64 << 10

// stream follows the journal for one client. The bytes come encoded from the
// engine, the same for every client with the same filter; here they are only
// passed on.
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
	h.Set("X-Accel-Buffering", "no") // a proxy must not hold messages back
	w.WriteHeader(http.StatusOK)
	out := newPaced(w, s.stall)
	if out.Flush() != nil {
		return
	}
	for {
		b, err := sub.Next(ctx)
		if err != nil { // the client went, the server ends, or the client was too slow: in each case it resumes
			return
		}
		if _, err := out.Write(b); err != nil || out.Flush() != nil {
			return
		}
	}
}

// paced is an answer whose reader must keep reading. An answer may be large and
// the line slow, so the limit holds for each piece and not for the whole; and
// between two writes there is none, however long a stream is quiet.
type paced struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

func newPaced(w http.ResponseWriter, stall time.Duration) *paced {
	return &paced{ResponseWriter: w, control: http.NewResponseController(w), stall: stall}
}

// Write writes piece by piece.
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

// Flush sends what was written.
func (p *paced) Flush() error {
	p.limit(time.Now().Add(p.stall))
	defer p.limit(time.Time{})
	return p.control.Flush()
}

func (p *paced) limit(t time.Time) { _ = p.control.SetWriteDeadline(t) } // best effort: a recorder in a test has none

// unlimited takes the time limits of short requests off a connection.
func unlimited(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{}) // best effort: a recorder in a test has none
	_ = rc.SetWriteDeadline(time.Time{})
}
