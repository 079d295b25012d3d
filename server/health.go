package server

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"svc"
)

// readyTimeout is how long the database may take to prove itself.
const readyTimeout = 5 * time.Second

type health struct {
	Status string `json:"status"`
}

func (s *Server) healthRoutes() {
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, r, http.StatusOK, health{"ok"})
	})
	s.mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := s.ready(ctx); err != nil {
			writeError(w, r, svc.Errorf(svc.CodeUnavailable, "not ready").Because(err))
			return
		}
		writeJSON(w, r, http.StatusOK, health{"ready"})
	})
	s.mux.Handle("GET /metrics", promhttp.HandlerFor(s.Registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
	}))
}

// ready says whether requests can be served: the database answers, and the
// server is not on its way out.
func (s *Server) ready(ctx context.Context) error {
	if err := s.closing.Err(); err != nil {
		return err
	}
	return s.Engine.Ready(ctx)
}
