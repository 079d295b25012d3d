package cli

import (
	"os"
	"regexp"
	"testing"
	"time"

	"svc/cluster"
	"svc/store"
)

// One of several orchestrators has metrics of its own, and the manual lists all of them.
func TestAMemberTellsOfItself(t *testing.T) {
	t.Parallel()
	var counts store.Counts
	counts.Fenced.Add(5)
	counts.Retried.Add(6)
	told, err := memberMetrics(func() cluster.Figures {
		return cluster.Figures{Leads: true, Term: 7, Reachable: true, Uplinks: 3, Ahead: -time.Second, Silent: 2 * time.Second, Forwarded: 8, Failed: 4}
	}, &counts).Gather()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"svc_replica_leads": 1, "svc_replica_term": 7, "svc_replica_leader_reachable": 1, "svc_replica_uplinks": 3, "svc_replica_clock_ahead_seconds": -1,
		"svc_replica_database_silent_seconds": 2, "svc_replica_forwarded_total": 8, "svc_replica_forward_failures_total": 4,
		"svc_replica_fenced_writes_total": 5, "svc_replica_retried_groups_total": 6,
	}
	manual, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(svc_replica_\\w+)` \\| (?:gauge|counter) \\|").FindAllStringSubmatch(string(manual), -1) {
		documented[m[1]] = true
	}
	for _, f := range told {
		m := f.GetMetric()[0]
		if got := m.GetGauge().GetValue() + m.GetCounter().GetValue(); got != want[f.GetName()] {
			t.Errorf("%s is %v", f.GetName(), got)
		}
		if !documented[f.GetName()] {
			t.Errorf("%s is not in the manual", f.GetName())
		}
	}
	if len(told) != len(want) || len(documented) != len(want) {
		t.Errorf("%d are told, %d are in the manual, want %d", len(told), len(documented), len(want))
	}
}
