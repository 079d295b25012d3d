package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"svc"
	"svc/internal/waittest"
	"svc/wire"
)

// simulateWorker simulates a worker that accepts letters and refuses the rest, until its connection ends.
func (g *rig) simulateWorker(c *websocket.Conn, asked chan<- *wire.Keys) {
	for {
		_, b, err := c.Read(g.Context())
		if err != nil {
			return
		}
		f, err := wire.DecodeDown(b)
		if err != nil {
			g.Error(err)
			return
		}
		k, ok := f.(*wire.Keys)
		if !ok {
			continue
		}
		asked <- k
		result := wire.KeysResult{RequestID: k.RequestID, OK: k.Keys[0] == "yes"}
		if !result.OK {
			result.Error = "only letters, Enter or Ctrl+C"
		}
		if b, err = wire.Encode(result); err == nil {
			err = c.Write(g.Context(), websocket.MessageText, b)
		}
		if err != nil {
			return
		}
	}
}

func TestKeysAreJudgedByTheWorkerAndAnsweredInTheRequest(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, d, c := g.working("h")
	path := "/api/v1/runs/" + d.RunID + "/keys"
	g.refuse(http.StatusConflict, "run_not_running", "POST", path, `{"keys":["yes"]}`) // it is spawning
	if got := g.post(d.RunID, signalBody("started", `{}`, "")); got.JSON["outcome"] != "applied" {
		t.Fatalf("got %s", got.Body)
	}
	asked := make(chan *wire.Keys, 10)
	go g.simulateWorker(c, asked)
	g.want(http.StatusNoContent, "POST", path, `{"keys":["yes","Enter"]}`)
	if k := <-asked; k.RunID != d.RunID || k.Attempt != 1 || k.RequestID == "" || !slices.Equal(k.Keys, []string{"yes", "Enter"}) {
		t.Errorf("the worker was asked %+v", k)
	}
	for _, bad := range []string{"rm -rf /", "Escape!", "ä", "Ctrl+D", "a;b"} {
		got := g.refuse(http.StatusBadRequest, "invalid_keys", "POST", path, map[string]any{"keys": []string{bad}})
		if !strings.Contains(got.Body, "only letters") {
			t.Errorf("%s: got %s, want the worker's reason", bad, got.Body)
		}
		<-asked
	}
	for body, field := range map[string]string{`{}`: "keys", `{"keys":[]}`: "keys", `{"keys":"yes"}`: "keys", `{"keys":[1]}`: "keys[0]", `{"keys":["yes"],"enter":true}`: "enter", `{"keys":null}`: "keys"} {
		if got := g.refuse(http.StatusBadRequest, "validation_failed", "POST", path, body); got.fields()[field] == nil {
			t.Errorf("%s: got %s, want %s named", body, got.Body, field)
		}
	}
	if len(asked) != 0 {
		t.Errorf("the worker was asked %d times more", len(asked))
	}
	events := g.want(http.StatusOK, "GET", "/api/v1/events?limit=500", nil).Body
	if strings.Contains(events, "Enter") || strings.Contains(events, "rm -rf") {
		t.Errorf("keys are in the journal: %s", events)
	}
	_ = c.CloseNow()
	waittest.Eventually(t, "the host is gone", func() bool {
		r := g.call("POST", path, `{"keys":["yes"]}`)
		return r.Status == http.StatusServiceUnavailable && r.code() == string(svc.CodeHostNotConnected)
	})
	if got := g.post(d.RunID, signalBody("finished", `{"exit_code":0}`, "")); got.JSON["outcome"] != "applied" {
		t.Fatalf("got %s", got.Body)
	}
	g.refuse(http.StatusConflict, "run_not_running", "POST", path, `{"keys":["yes"]}`)
}

func TestAHostIsChangedInWhatWasSentAlone(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	made := g.want(http.StatusCreated, "POST", "/api/v1/hosts", `{"name":"h","labels":{"gpu":"yes"}}`)
	if made.JSON["max_runs"] != nil || made.JSON["status"] != "registered" || made.JSON["active_runs"] != 0.0 {
		t.Errorf("made %s", made.Body)
	}
	path := made.Header.Get("Location")
	for _, c := range []struct {
		patch, name, gpu string
		max              any
	}{
		{`{"max_runs":2}`, "h", "yes", 2.0}, {`{"labels":{"gpu":"no"}}`, "h", "no", 2.0}, {`{"max_runs":null}`, "h", "no", nil}, {`{"name":"i"}`, "i", "no", nil},
	} {
		got := g.want(http.StatusOK, "PATCH", path, c.patch).JSON
		if got["name"] != c.name || got["max_runs"] != c.max || got["labels"].(map[string]any)["gpu"] != c.gpu || got["status"] != "registered" {
			t.Errorf("%s: %v", c.patch, got)
		}
	}
	g.want(http.StatusNoContent, "DELETE", path, nil)
	g.refuse(http.StatusNotFound, "not_found", "GET", path, nil)
	g.refuse(http.StatusNotFound, "host_not_found", "POST", "/api/internal/worker/register",
		wire.Registration{HostName: "i", Platform: "linux", InstanceID: noID}, token(workerToken))
	if len(g.walk("/api/v1/hosts")) != 0 {
		t.Error("a registration made a host")
	}
}
