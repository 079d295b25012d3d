package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// outboxFigures are metrics of the notifications that are waiting to be sent, by sink, read at each scrape. The
// values of the label are the names in the config file only.
type outboxFigures struct {
	notifier Notifier

	waiting, oldest, failures *prometheus.Desc
}

func newOutboxFigures(n Notifier) *outboxFigures {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, []string{"sink"}, nil) }
	return &outboxFigures{
		notifier: n,
		waiting:  desc("svc_notifications_waiting", "Notifications that are to be sent."),
		oldest:   desc("svc_notifications_oldest_seconds", "Age of the oldest waiting notification; 0: none is waiting."),
		failures: desc("svc_notification_failures_total", "Failed tries of this orchestrator to send to the sink."),
	}
}

// Describe sends the descriptions of the metrics.
func (f *outboxFigures) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{f.waiting, f.oldest, f.failures} {
		to <- d
	}
}

// Collect reads and sends the values. They are left out while the database does not respond.
func (f *outboxFigures) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), figuresTimeout)
	defer cancel()
	states, err := f.notifier.States(ctx)
	if err != nil {
		return
	}
	for _, s := range states {
		age := time.Duration(0)
		if s.OldestAt != nil {
			age = max(time.Since(s.OldestAt.Std()), 0)
		}
		to <- prometheus.MustNewConstMetric(f.waiting, prometheus.GaugeValue, float64(s.Waiting), s.Name)
		to <- prometheus.MustNewConstMetric(f.oldest, prometheus.GaugeValue, age.Seconds(), s.Name)
		to <- prometheus.MustNewConstMetric(f.failures, prometheus.CounterValue, float64(s.FailedTries), s.Name)
	}
}
