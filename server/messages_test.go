package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"svc"
	"svc/internal/waittest"
	"svc/wire"
)

func TestAMessageIsQueuedForALiveSession(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	host, d, c := g.working("h")
	path := "/api/v1/runs/" + d.RunID + "/messages"
	for body, field := range map[string]string{`{}`: "text", `{"text":""}`: "text", `{"text":"a\u001b[201~"}`: "text", `{"text":"a","when":"later"}`: "when", `{"text":"a","to":"b"}`: "to",
		`{"text":"` + strings.Repeat("x", svc.MaxMessage+1) + `"}`: "text"} {
		if got := g.refuse(http.StatusBadRequest, "validation_failed", "POST", path, body); got.fields()[field] == nil {
			t.Errorf("%.100s: got %.300s, want %s named", body, got.Body, field)
		}
	}
	report, err := wire.Encode(wire.Providers{Providers: map[string]svc.ProviderReport{d.Provider: {Available: true, Message: "paste"}}})
	if err == nil {
		err = c.Write(t.Context(), websocket.MessageText, report)
	}
	if err != nil {
		t.Fatal(err)
	}
	waittest.Eventually(t, "what the host takes", func() bool {
		return strings.Contains(g.call("GET", "/api/v1/hosts/"+host, nil).Body, `"message":"paste"`)
	})
	g.refuse(http.StatusConflict, "no_turns", "POST", path, `{"text":"a","when":"turn_end"}`)
	made := g.want(http.StatusAccepted, "POST", path, `{"text":"one\n\ttwo"}`) // its session has not started
	if m := made.JSON; m["state"] != "queued" || m["reason"] != "" || m["when"] != "now" || m["attempt"] != 1.0 || m["run_id"] != d.RunID || m["text"] != "one\n\ttwo" || m["by"] == "" {
		t.Errorf("sent %s", made.Body)
	}
	listed := g.want(http.StatusOK, "GET", path, nil).JSON["items"].([]any)
	if len(listed) != 1 || listed[0].(map[string]any)["id"] != made.JSON["id"] {
		t.Errorf("there are %v", listed)
	}
	g.refuse(http.StatusNotFound, "not_found", "GET", "/api/v1/runs/"+noID+"/messages", nil)
	g.refuse(http.StatusNotFound, "not_found", "POST", "/api/v1/runs/"+noID+"/messages", `{"text":"a"}`)
	if got := g.post(d.RunID, signalBody("started", `{}`, "")); got.JSON["outcome"] != "applied" {
		t.Fatalf("got %s", got.Body)
	}
	if got := g.post(d.RunID, signalBody("finished", `{"exit_code":0}`, "")); got.JSON["outcome"] != "applied" {
		t.Fatalf("got %s", got.Body)
	}
	g.refuse(http.StatusConflict, "run_not_active", "POST", path, `{"text":"a"}`)
}
