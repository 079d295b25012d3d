package server

import (
	"net/http"
	"testing"
)

func TestReplicasAreListedAndDrained(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	listed := func() map[string]any {
		t.Helper()
		items := g.want(http.StatusOK, "GET", "/api/v1/replicas", nil).JSON["items"].([]any)
		if len(items) != 1 {
			t.Fatalf("listed are %v", items)
		}
		return items[0].(map[string]any)
	}
	r := listed()
	if r["state"] != "ready" || r["leader"] != true || r["uplinks"] != 0.0 || r["address"] != "" || len(r) != 8 {
		t.Errorf("it is listed as %v", r)
	}
	g.working("h")
	if got := listed()["uplinks"]; got != 1.0 {
		t.Errorf("it has %v uplinks, want 1", got)
	}
	g.want(http.StatusOK, "GET", "/readyz", nil, noToken)

	path := "/api/v1/replicas/" + r["id"].(string) + "/drain"
	g.refuse(http.StatusNotFound, "not_found", "POST", "/api/v1/replicas/"+noID+"/drain", nil)
	g.refuse(http.StatusNotFound, "not_found", "POST", "/api/v1/replicas/nonsense/drain", nil)
	for range 2 {
		if got := g.want(http.StatusAccepted, "POST", path, nil).JSON; got["state"] != "draining" || got["id"] != r["id"] {
			t.Errorf("answered %v", got)
		}
	}
	if got := g.refuse(http.StatusServiceUnavailable, "unavailable", "GET", "/readyz", nil, noToken); got.details()["cause"] != "draining" {
		t.Errorf("not ready because of %v", got.details())
	}
	if got := listed()["state"]; got != "draining" {
		t.Errorf("it is listed as %v", got)
	}
	g.task() // writes are accepted until the end
}
