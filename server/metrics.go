package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"svc/engine"
)

// metrics are the metrics of the server itself.
type metrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	streams   prometheus.Gauge
	commits   prometheus.Histogram
	acks      prometheus.Histogram
}

func newMetrics(r *prometheus.Registry, e *engine.Engine, n Notifier) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_http_requests_total", Help: "Answered requests.",
		}, []string{"route", "method", "code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "svc_http_request_duration_seconds", Help: "How long requests took, streams and sockets aside.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "svc_event_streams", Help: "Clients that follow the event stream.",
		}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "svc_writer_commit_duration_seconds", Help: "How long the database took to commit a group of changes.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		acks: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "svc_dispatch_duration_seconds", Help: "From the push of a run to its host to the host's acknowledgement.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
	}
	e.Observe(engine.Observer{
		Committed:    func(d time.Duration) { m.commits.Observe(d.Seconds()) },
		Acknowledged: func(d time.Duration) { m.acks.Observe(d.Seconds()) },
	})
	own := []prometheus.Collector{m.requests, m.durations, m.streams, m.commits, newFigures(e)}
	if !e.Standby { // only the leader reports what concerns all orchestrators
		own = append(own, m.acks, newOutboxFigures(n))
	}
	for _, c := range own {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	process := []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}
	for _, c := range process { // the caller's registry may already have these
		var already prometheus.AlreadyRegisteredError
		if err := r.Register(c); err != nil && !errors.As(err, &already) {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

// request counts an answered request. The values of its labels are routes of the server and known methods only, so
// that a client cannot create new ones.
func (m *metrics) request(method string, x *exchange, took time.Duration) {
	route := x.route
	if route == "" {
		route = "none"
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete, http.MethodOptions:
	default:
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(x.status)).Inc()
	if !x.longLived {
		m.durations.WithLabelValues(route, method).Observe(took.Seconds())
	}
}
