package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"svc"
	"svc/api"
)

// exchange is one request with the recorded data about its response. It is stored in the request's context.
type exchange struct {
	http.ResponseWriter
	id        string
	route     string // the matching route pattern; empty: none
	longLived bool   // a stream or socket, whose duration is not measured
	status    int    // 0 until the header is written
	bytes     int64
	broken    bool  // a write to the client has failed
	err       error // the internal error, for the log
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// noteError stores an internal error for the log line of the request. The first one is kept.
func noteError(ctx context.Context, err error) {
	if x := exchangeOf(ctx); x != nil && x.err == nil {
		x.err = err
	}
}

// WriteHeader records the status and ignores all but the first: huma sets another one when the client has
// disconnected.
func (x *exchange) WriteHeader(status int) {
	if x.status != 0 {
		return
	}
	if status >= 200 || status == http.StatusSwitchingProtocols {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the response and counts its bytes.
func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(b)
	x.bytes += int64(n)
	x.broken = x.broken || err != nil
	return n, err
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// exchange assigns the id of each request, sets the common headers, writes the log line, updates the metrics, and
// converts a panic to a 500.
func (s *Server) exchange(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		x := &exchange{ResponseWriter: w, id: requestID(r)}
		r = r.WithContext(withExchange(r.Context(), x))
		secure(w.Header(), r)
		w.Header().Set(api.HeaderRequestID, x.id)
		defer func() {
			p, begun := recover(), x.status != 0
			if p != nil && !isAbort(p) && !x.broken { // huma panics when a response cannot be written
				noteError(r.Context(), fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
				if !begun {
					writeError(x, r, x.err)
				}
			}
			s.finish(r, x, time.Since(begin))
			if p != nil && (isAbort(p) || begun) {
				panic(http.ErrAbortHandler) // the response is incomplete, and the client must detect that
			}
		}()
		next.ServeHTTP(x, r)
	})
}

func isAbort(p any) bool {
	err, ok := p.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

// finish writes the log line of a request. It contains only the path, because a query may contain a token.
func (s *Server) finish(r *http.Request, x *exchange, took time.Duration) {
	s.metrics.request(r.Method, x, took)
	level := slog.LevelInfo
	switch {
	case svc.RetryInOf(x.err) > 0: // thousands of workers may be told so at once
		level = slog.LevelDebug
		s.crowded.Do(func() {
			s.log.Warn("too many workers connect at once; those that are refused are told when they have their turn")
		})
	case x.err != nil || x.status >= 500:
		level = slog.LevelError
	case x.route == "GET /healthz", x.route == "GET /readyz":
		level = slog.LevelDebug
	}
	if !s.log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", x.status),
		slog.Int64("bytes", x.bytes), slog.Duration("took", took.Round(time.Microsecond)), slog.String("request_id", x.id),
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("error", x.err.Error()))
	}
	s.log.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}

const maxRequestID = 64

// requestID returns the caller's id when it is safe to log, else a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get(api.HeaderRequestID)
	if id != "" && len(id) <= maxRequestID && strings.IndexFunc(id, notInID) < 0 {
		return id
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	return hex.EncodeToString(b[:])
}

func notInID(c rune) bool {
	return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' && c != '.'
}

// apiPolicy is the Content-Security-Policy of all responses. The page replaces it by its own.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

// secure sets the headers of every response.
func secure(h http.Header, r *http.Request) {
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31536000") // a year, in which the browser does not use plain HTTP for this address
	}
	path := r.URL.Path
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", apiPolicy)
	if strings.HasPrefix(path, "/api/") || path == "/metrics" || path == "/healthz" || path == "/readyz" {
		h.Set("Cache-Control", "no-store")
	}
}
