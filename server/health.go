package server

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"svc"
)

// readyTimeout is how long an answer may take; the store's own limit is shorter.
const readyTimeout = 5 * time.Second

type health struct {
	Status   string   `json:"status"`
	Warnings []string `json:"warnings,omitempty"` // what someone should look at; no details: anyone may ask
}

const catalogWarning = "the orchestrator's provider catalog has an error, which its log names; the last good one is in force"

func (s *Server) healthRoutes() {
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, r, http.StatusOK, health{Status: "ok"})
	})
	s.mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := s.ready(ctx); err != nil {
			writeError(w, r, notReady(err))
			return
		}
		ready := health{Status: "ready"}
		if s.CatalogProblem != nil && s.CatalogProblem() != "" {
			ready.Warnings = append(ready.Warnings, catalogWarning)
		}
		ready.Warnings = append(ready.Warnings, s.differences(ctx)...)
		writeJSON(w, r, http.StatusOK, ready)
	})
	s.mux.Handle("GET /metrics", promhttp.HandlerFor(s.gatherers(), promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
	}))
}

func (s *Server) gatherers() prometheus.Gatherers {
	all := prometheus.Gatherers{s.Registry}
	if s.Process != nil {
		all = append(all, s.Process)
	}
	return all
}

// differences is what the orchestrators should have in common and have not. Whoever asks whether this one is ready does not wait for it: the
// next one is told.
func (s *Server) differences(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	differences, err := s.Engine.Differences(ctx)
	if err != nil {
		return nil
	}
	return differences
}

// ready reports whether requests can be served: the database takes writes, and the
// server is not on its way out.
func (s *Server) ready(ctx context.Context) error {
	if s.Engine.Draining() {
		return svc.Unavailable(svc.CauseDraining)
	}
	if s.closing.Err() != nil {
		return shuttingDown
	}
	return s.Engine.Ready(ctx)
}

// notReady is the answer of whoever asks: anything else than a known cause
// stays inside.
func notReady(err error) error {
	cause := svc.CauseOf(err)
	if cause == "" {
		return svc.Errorf(svc.CodeUnavailable, "not ready").Because(err)
	}
	return svc.Errorf(svc.CodeUnavailable, "not ready: %s", cause.Words()).With("cause", string(cause)).Because(err)
}
