package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc"
	"svc/engine"
)

// figuresTimeout is how long a scrape waits for the database.
const figuresTimeout = 5 * time.Second

// figures are metrics with the engine's current values, which are read at each scrape. The values of their labels are
// states of svc only, so their number is limited.
type figures struct {
	engine *engine.Engine

	uplinks, queue, relayed, lag, oldest *prometheus.Desc
	runs, hosts                          *prometheus.Desc
}

func newFigures(e *engine.Engine) *figures {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &figures{
		engine:  e,
		uplinks: desc("svc_uplinks", "Open connections of workers."),
		queue:   desc("svc_writer_queue_units", "Changes that wait for the database."),
		relayed: desc("svc_relay_bytes_total", "Bytes of logs that workers relayed."),
		lag:     desc("svc_feed_lag_events", "Events that are committed and not yet ready for the streams."),
		oldest:  desc("svc_pending_oldest_seconds", "Longest time that a run has waited for a host, without runs that a need, a time or a back-off holds back."),
		runs:    desc("svc_runs", "Active runs.", "status"),
		hosts:   desc("svc_hosts", "Hosts.", "status"),
	}
}

// Describe sends the descriptions of the metrics.
func (f *figures) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{f.uplinks, f.queue, f.relayed, f.lag, f.oldest, f.runs, f.hosts} {
		to <- d
	}
}

// Collect reads and sends the values. Those that come from the database are left out while it does not respond.
func (f *figures) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), figuresTimeout)
	defer cancel()
	now, err := f.engine.Figures(ctx)
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if !f.engine.Standby {
		gauge(f.uplinks, float64(now.Uplinks))
	}
	gauge(f.queue, float64(now.WriterQueue))
	to <- prometheus.MustNewConstMetric(f.relayed, prometheus.CounterValue, float64(now.RelayedBytes))
	if err != nil {
		return
	}
	gauge(f.lag, float64(now.FeedLag))
	if now.Runs == nil {
		return // only the leader reports these
	}
	gauge(f.oldest, now.OldestWaiting.Seconds())
	for _, s := range []svc.RunStatus{svc.RunPending, svc.RunSpawning, svc.RunRunning} {
		gauge(f.runs, float64(now.Runs[s]), string(s))
	}
	for _, s := range []svc.HostStatus{svc.HostRegistered, svc.HostOnline, svc.HostOffline, svc.HostDisabled} {
		gauge(f.hosts, float64(now.Hosts[s]), string(s))
	}
}
