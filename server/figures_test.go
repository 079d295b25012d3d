package server

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc"
)

var (
	documented = regexp.MustCompile("(?m)^\\| `(svc_[a-z_]+)(?:\\{([a-z,]+)\\})?` \\| (gauge|counter|histogram) \\|")
	exposed    = regexp.MustCompile(`(?m)^# TYPE (svc_[a-z_]+) ([a-z]+)$`)
	named      = regexp.MustCompile(`svc_[a-z_]+`)
)

// The manual describes every metric of the orchestrator with its type, and no others. The dashboard and the alerts
// use only existing metrics.
func TestEveryMetricIsInTheManual(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	want, all := map[string]string{}, map[string]bool{}
	for _, m := range documented.FindAllStringSubmatch(string(manual), -1) {
		all[m[1]] = true
		if !strings.HasPrefix(m[1], "svc_worker_") && !strings.HasPrefix(m[1], "svc_replica_") { // those are defined in cli
			want[m[1]] = m[3]
		}
	}
	g := newRig(t, func(o *Options) { o.Notifier = fakeSinks{} })
	g.want(http.StatusOK, "GET", "/api/v1/projects", nil) // a request that is counted
	got := map[string]string{}
	for _, m := range exposed.FindAllStringSubmatch(g.want(http.StatusOK, "GET", "/metrics", nil).Body, -1) {
		got[m[1]] = m[2]
	}
	for name, kind := range got {
		if want[name] != kind {
			t.Errorf("the manual has %s as %q, it is a %s", name, want[name], kind)
		}
	}
	for name := range want {
		if got[name] == "" {
			t.Errorf("the manual has %s, which there is not", name)
		}
	}
	for _, file := range []string{"grafana.json", "alerts.yml"} {
		text, err := os.ReadFile("../docs/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllString(string(text), -1) {
			if !all[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s uses %s, which there is not", file, name)
			}
		}
		if file == "grafana.json" && !json.Valid(text) {
			t.Error("the dashboard is no JSON")
		}
	}
}

// fakeSinks are two sinks, one of which fails.
type fakeSinks struct{ noSinks }

func (fakeSinks) States(context.Context) ([]svc.SinkState, error) {
	since := svc.TimeOf(time.Now().Add(-time.Hour))
	return []svc.SinkState{{Name: "phone", Waiting: 3, OldestAt: &since, FailedTries: 7}, {Name: "team"}}, nil
}

func TestTheOutboxIsInTheMetrics(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(o *Options) { o.Notifier = fakeSinks{} })
	body := g.want(http.StatusOK, "GET", "/metrics", nil).Body
	for _, line := range []string{
		`svc_notifications_waiting{sink="phone"} 3`, `svc_notifications_waiting{sink="team"} 0`, `svc_notifications_oldest_seconds{sink="team"} 0`,
		`svc_notification_failures_total{sink="phone"} 7`, `svc_notification_failures_total{sink="team"} 0`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	oldest := regexp.MustCompile(`svc_notifications_oldest_seconds\{sink="phone"\} ([\d.]+)`).FindStringSubmatch(body)
	if oldest == nil {
		t.Fatal("there is no age of the oldest")
	}
	if age, err := strconv.ParseFloat(oldest[1], 64); err != nil || age < 3600 || age > 3700 {
		t.Errorf("the oldest is %s s old, want an hour", oldest[1])
	}
}

// The metrics follow the state, and no label contains a value that a caller has chosen.
func TestFiguresFollowWhatHappens(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	run := g.run()
	g.want(http.StatusCreated, "POST", "/api/v1/hosts", map[string]any{"name": "unbounded"})
	g.want(http.StatusOK, "GET", "/api/v1/runs/"+run, nil)
	body := g.want(http.StatusOK, "GET", "/metrics", nil).Body
	for _, line := range []string{
		`svc_runs{status="pending"} 1`, `svc_runs{status="running"} 0`, `svc_hosts{status="registered"} 1`, "svc_uplinks 0",
		"svc_writer_queue_units 0", "svc_relay_bytes_total 0", "svc_feed_lag_events", "svc_pending_oldest_seconds", "svc_dispatch_duration_seconds_count 0",
	} {
		if !strings.Contains(body, line) {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(body, "svc_writer_commit_duration_seconds_count 0\n") {
		t.Error("no commit was counted")
	}
	labels := regexp.MustCompile(`[{,]([a-z_]+)="`)
	for line := range strings.SplitSeq(body, "\n") {
		if !strings.HasPrefix(line, "svc_") {
			continue
		}
		for _, m := range labels.FindAllStringSubmatch(line, -1) {
			if !slices.Contains([]string{"route", "method", "code", "status", "le"}, m[1]) {
				t.Errorf("a label %s: %s", m[1], line)
			}
		}
		for _, chosen := range []string{run, "unbounded", "provider_b"} {
			if strings.Contains(line, chosen) {
				t.Errorf("what a caller chose became a label: %s", line)
			}
		}
	}
}
