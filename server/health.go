package server

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"svc"
)

// readyTimeout is the maximum duration of a readiness check; the store's own limit is shorter.
const readyTimeout = 5 * time.Second

type health struct {
	Status   string   `json:"status"`
	Warnings []string `json:"warnings,omitempty"` // problems that an operator should check, without details, because no token is required
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

// differences describes what differs between the orchestrators of the database and should not: versions, settings and
// clocks. It waits only briefly, so that it does not delay the readiness check; the next check can return them.
func (s *Server) differences(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	differences, err := s.Engine.Differences(ctx)
	if err != nil {
		return nil
	}
	return differences
}

// ready returns nil when requests can be served: the database accepts writes, and the server is neither draining nor
// shutting down.
func (s *Server) ready(ctx context.Context) error {
	if s.Engine.Draining() {
		return svc.Unavailable(svc.CauseDraining)
	}
	if s.closing.Err() != nil {
		return shuttingDown
	}
	return s.Engine.Ready(ctx)
}

// notReady returns the error for the caller. It hides every cause that is not a known one.
func notReady(err error) error {
	cause := svc.CauseOf(err)
	if cause == "" {
		return svc.Errorf(svc.CodeUnavailable, "not ready").Because(err)
	}
	return svc.Errorf(svc.CodeUnavailable, "not ready: %s", cause.Words()).With("cause", string(cause)).Because(err)
}
