package cli

import (
	"github.com/prometheus/client_golang/prometheus"

	"svc/cluster"
	"svc/store"
)

// memberMetrics returns the metrics of one of several orchestrators. They cover all of its terms, and none has
// labels.
func memberMetrics(figures func() cluster.Figures, counts *store.Counts) *prometheus.Registry {
	r := prometheus.NewRegistry()
	gauge := func(name, help string, value func(cluster.Figures) float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(figures()) }))
	}
	counter := func(name, help string, value func() int64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
	}
	is := func(yes bool) float64 {
		if yes {
			return 1
		}
		return 0
	}
	gauge("svc_replica_leads", "Whether this orchestrator leads: 1 or 0.", func(f cluster.Figures) float64 { return is(f.Leads) })
	gauge("svc_replica_term", "Number of the leader's term as this orchestrator knows it; 0: nobody leads.", func(f cluster.Figures) float64 { return float64(f.Term) })
	gauge("svc_replica_leader_reachable", "Whether this orchestrator leads or reaches the one that does: 1 or 0.", func(f cluster.Figures) float64 { return is(f.Reachable) })
	gauge("svc_replica_uplinks", "Connections of workers that came to this orchestrator.", func(f cluster.Figures) float64 { return float64(f.Uplinks) })
	gauge("svc_replica_clock_ahead_seconds", "How far this orchestrator's clock is ahead of the database's.", func(f cluster.Figures) float64 { return f.Ahead.Seconds() })
	gauge("svc_replica_database_silent_seconds", "How long ago the database last answered this orchestrator.", func(f cluster.Figures) float64 { return f.Silent.Seconds() })
	counter("svc_replica_forwarded_total", "Requests that were forwarded to the leader.", func() int64 { return figures().Forwarded })
	counter("svc_replica_forward_failures_total", "Forwarded requests that no leader answered.", func() int64 { return figures().Failed })
	counter("svc_replica_fenced_writes_total", "Changes that were refused because another orchestrator leads, or may.", counts.Fenced.Load)
	counter("svc_replica_retried_groups_total", "Groups of changes that were tried again: deadlocks, locks that were not released, rows that another changed.", counts.Retried.Load)
	return r
}
