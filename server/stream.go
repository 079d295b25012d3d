package server

import (
	"net/http"
	"time"

	"svc"
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
	globs, err := svc.ParseGlobs(r.URL.Query()["topic"])
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
	sub, err := s.Engine.Subscribe(ctx, after, globs)
	if err != nil {
		writeError(w, r, err)
		return
	}
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()

	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy must not hold messages back
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	if rc.Flush() != nil {
		return
	}
	for {
		b, err := sub.Next(ctx)
		if err != nil { // the client went, the server ends, or the client was too slow: in each case it resumes
			return
		}
		if s.send(w, rc, b) != nil {
			return
		}
	}
}

// send writes and flushes. A snapshot may be large and the line slow, so the
// limit holds for each piece and not for the whole.
func (s *Server) send(w http.ResponseWriter, rc *http.ResponseController, b []byte) error {
	for len(b) > 0 {
		_ = rc.SetWriteDeadline(time.Now().Add(s.stall)) // best effort: a recorder in a test has none
		n, err := w.Write(b[:min(len(b), piece)])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return rc.Flush()
}

// unlimited takes the time limits of short requests off a connection.
func unlimited(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{}) // best effort: a recorder in a test has none
	_ = rc.SetWriteDeadline(time.Time{})
}
