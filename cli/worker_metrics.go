package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"svc/worker"
)

// workerMetrics returns the metrics of a worker. None has labels.
func workerMetrics(figures func() worker.Figures) *prometheus.Registry {
	r := prometheus.NewRegistry()
	gauge := func(name, help string, value func(worker.Figures) float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(figures()) }))
	}
	gauge("svc_worker_sessions", "Sessions of runs that the worker holds.", func(f worker.Figures) float64 { return float64(f.Sessions) })
	gauge("svc_worker_spool_signals", "Signals on disk that the orchestrator has not confirmed.", func(f worker.Figures) float64 { return float64(f.Spool) })
	gauge("svc_worker_connected", "Whether the worker is connected to the orchestrator: 1 or 0.", func(f worker.Figures) float64 {
		if f.Connected {
			return 1
		}
		return 0
	})
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// serveWorkerMetrics serves the metrics at an address of this machine until stop is called.
func serveWorkerMetrics(ctx context.Context, address string, figures func() worker.Figures, log *slog.Logger) (stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve metrics ([worker] metrics): %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(workerMetrics(figures), promhttp.HandlerOpts{}))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(listener) // until it is closed
	}()
	log.Info("metrics", "address", "http://"+listener.Addr().String()+"/metrics")
	return func() {
		_ = s.Close()
		<-ended
	}, nil
}
