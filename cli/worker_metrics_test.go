package cli

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"svc/worker"
)

// A worker with [worker] metrics serves its metrics, and the manual lists all of them.
func TestAWorkerServesItsMetrics(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	stop, err := serveWorkerMetrics(t.Context(), "127.0.0.1:0", func() worker.Figures { return worker.Figures{Sessions: 3, Spool: 7, Connected: true} },
		slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`).FindString(log.String())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"\nsvc_worker_sessions 3\n", "\nsvc_worker_spool_signals 7\n", "\nsvc_worker_connected 1\n"} {
		if !strings.Contains(string(body), line) {
			t.Errorf("no line %q", line)
		}
	}
	manual, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	there, told := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (svc_\w+) gauge$`).FindAllStringSubmatch(string(body), -1) {
		there[m[1]] = true
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(svc_worker_\\w+)` \\| gauge \\|").FindAllStringSubmatch(string(manual), -1) {
		told[m[1]] = true
		if !there[m[1]] {
			t.Errorf("the manual has %s, which there is not", m[1])
		}
	}
	for name := range there {
		if !told[name] {
			t.Errorf("%s is not in the manual", name)
		}
	}
	if _, err := serveWorkerMetrics(t.Context(), strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/metrics"), nil, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("an address in use was taken")
	}
}
