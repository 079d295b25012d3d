package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"svc"
	"svc/internal/waittest"
	"svc/wire"
)

// post sends a signal as a worker does.
func (g *rig) post(run, body string, edits ...edit) reply {
	g.Helper()
	return g.call("POST", "/api/internal/runs/"+run+"/signals", body, append([]edit{token(workerToken)}, edits...)...)
}

// signalBody returns a signal of attempt 1; more is inserted before its fields.
func signalBody(kind, payload, more string) string {
	return `{` + more + `"kind":"` + kind + `","attempt":1,"source":"provider-hook","payload":` + payload + `,"timestamp":"2030-01-02T03:04:05Z"}`
}

func TestSignalsAreAnsweredWithTheirOutcome(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, d := g.dispatched("h")
	for _, c := range []struct{ body, outcome string }{
		{signalBody("started", `{}`, ""), "applied"},
		{signalBody("started", `{"pid":4}`, ""), "duplicate"},
		{signalBody("progress", `{"message":"half","percent":50}`, `"seq":9007199254740993,`), "applied"},
		{signalBody("progress", `{"message":"old","percent":1}`, `"seq":9007199254740992,`), "stale_seq"},
		{signalBody("progress", `{"message":"same","percent":2}`, `"seq":9007199254740993,`), "stale_seq"},
		{strings.Replace(signalBody("failed", `{"error":"x"}`, ""), `"attempt":1`, `"attempt":0`, 1), "dead_attempt"},
		{signalBody("completed", `{"result":"partial_success","reason":"tests fail"}`, ""), "applied"},
		{signalBody("finished", `{"exit_code":3}`, ""), "applied"},
		{signalBody("finished", `{"exit_code":0}`, ""), "duplicate"},
		{signalBody("failed", `{"error":"x"}`, ""), "superseded"},
	} {
		got := g.post(d.RunID, c.body)
		if got.Status != http.StatusOK || got.JSON["outcome"] != c.outcome || len(got.JSON) != 1 {
			t.Errorf("%s: got %d %s, want %s", c.body, got.Status, got.Body, c.outcome)
		}
	}
	run := g.want(http.StatusOK, "GET", "/api/v1/runs/"+d.RunID, nil)
	for field, want := range map[string]any{"status": "failed", "exit_code": 3.0, "result": "partial_success", "result_reason": "tests fail",
		"progress_message": "half", "progress_percent": 50.0} {
		if got := run.JSON[field]; got != want {
			t.Errorf("%s is %v, want %v", field, got, want)
		}
	}
	if !strings.Contains(run.Body, `"last_progress_seq":9007199254740993`) {
		t.Errorf("the seq lost digits: %s", run.Body)
	}
	topics := strings.Join(g.topics(), " ")
	if want := "run.spawning run.started run.signal_received run.signal_received run.finished"; !strings.HasSuffix(topics, want) {
		t.Errorf("journaled %s, want %s at the end", topics, want)
	}
}

func TestARefusedSignalLeavesNothing(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, d := g.dispatched("h")
	good := signalBody("started", `{}`, "")
	before := len(g.topics())
	for name, c := range map[string]struct {
		body   string
		edits  []edit
		status int
		code   string
		detail string
	}{
		"no attempt":            {strings.Replace(good, `"attempt":1,`, ``, 1), nil, 400, "missing_attempt", `"current_attempt":1`},
		"a greater attempt":     {strings.Replace(good, `"attempt":1`, `"attempt":7`, 1), nil, 409, "invalid_attempt", `"current_attempt":1,"signal_attempt":7`},
		"a fraction of one":     {strings.Replace(good, `"attempt":1`, `"attempt":1.5`, 1), nil, 400, "validation_failed", `"attempt":`},
		"by hand":               {strings.Replace(good, `provider-hook`, `manual`, 1), nil, 400, "validation_failed", `"source":`},
		"by nobody we know":     {strings.Replace(good, `provider-hook`, `cron`, 1), nil, 400, "validation_failed", `"source":`},
		"an unknown kind":       {signalBody("Started", `{}`, ""), nil, 400, "validation_failed", `"kind":`},
		"an unknown field":      {signalBody("started", `{}`, `"colour":1,`), nil, 400, "validation_failed", `"colour":`},
		"a malformed payload":   {signalBody("finished", `{"exit_code":"0"}`, ""), nil, 400, "validation_failed", `"payload.exit_code":`},
		"progress without seq":  {signalBody("progress", `{"message":"m"}`, ""), nil, 400, "validation_failed", `"seq":`},
		"a seq that is too big": {signalBody("progress", `{"message":"m"}`, `"seq":9223372036854775808,`), nil, 400, "validation_failed", `"seq":`},
		"a bad timestamp":       {strings.Replace(good, `2030-01-02T03:04:05Z`, `yesterday`, 1), nil, 400, "validation_failed", ``},
		"broken JSON":           {good[:len(good)-1], nil, 400, "validation_failed", ``},
		"no object":             {`[]`, nil, 400, "validation_failed", ``},
		"another content type":  {good, []edit{with("Content-Type", "text/plain")}, 415, "unsupported_media_type", ``},
		"the user's token":      {good, []edit{token(userToken)}, 401, "unauthorized", ``},
	} {
		got := g.post(d.RunID, c.body, c.edits...)
		if got.Status != c.status || got.code() != c.code || !strings.Contains(got.Body, c.detail) {
			t.Errorf("%s: got %d %s, want %d %s with %s", name, got.Status, got.Body, c.status, c.code, c.detail)
		}
	}
	for _, body := range []string{good, strings.Replace(good, `"attempt":1,`, ``, 1)} {
		if got := g.post(noID, body); got.Status != http.StatusNotFound || got.code() != "not_found" {
			t.Errorf("a run that does not exist: got %d %s", got.Status, got.Body)
		}
	}
	if after := len(g.topics()); after != before {
		t.Errorf("refused signals journaled %d events", after-before)
	}
	for _, at := range []string{"2030-01-02T03:04:05Z", "2030-01-02T03:04:05.1Z", "2030-01-02T03:04:05.123456789Z"} {
		body := strings.Replace(good, "2030-01-02T03:04:05Z", at, 1)
		if got := g.post(d.RunID, body); got.Status != http.StatusOK || got.JSON["outcome"] == "" {
			t.Errorf("at %s: got %s", at, got.Body)
		}
	}
	if got := g.want(http.StatusOK, "GET", "/api/v1/runs/"+d.RunID, nil).JSON["status"]; got != "running" {
		t.Errorf("after the right one the run is %v", got)
	}
}

// uplinkOf opens an uplink without any frame.
func (g *rig) uplinkOf() *websocket.Conn {
	g.Helper()
	c, _, err := websocket.Dial(g.Context(), "ws"+strings.TrimPrefix(g.URL, "http")+"/api/internal/worker/uplink", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + workerToken}},
	})
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func TestAFrameUpToTheLimitIsTakenAndALargerOneEndsTheUplink(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	c := g.uplinkOf()
	h := g.want(http.StatusCreated, "POST", "/api/v1/hosts", map[string]any{"name": "h"})
	beat, err := wire.Encode(wire.Heartbeat{HostID: h.JSON["id"].(string), InstanceID: svc.NewID(), Timestamp: 1})
	if err == nil {
		err = c.Write(t.Context(), websocket.MessageText, beat)
	}
	if err == nil {
		_, _, err = c.Read(t.Context()) // the response
	}
	if err != nil {
		t.Fatal(err)
	}
	frame := func(size int) []byte {
		head := fmt.Sprintf(`{"type":"log_chunk","run_id":%q,"timestamp":"2030-01-02T03:04:05Z","text":"`, noID)
		return []byte(head + strings.Repeat("x", size-len(head)-2) + `"}`)
	}
	for _, size := range []int{3 << 20, wire.MaxFrame} {
		if err := c.Write(t.Context(), websocket.MessageText, frame(size)); err != nil {
			t.Fatal(err)
		}
		if _, b, err := c.Read(t.Context()); err != nil || !strings.Contains(string(b), `"code":"not_found"`) {
			t.Fatalf("a frame of %d bytes: got %s, %v; want an answer about its run", size, b, err)
		}
	}
	_ = c.Write(t.Context(), websocket.MessageText, frame(wire.MaxFrame+1))
	if _, b, err := c.Read(t.Context()); err == nil {
		t.Errorf("a frame that is too large was answered with %s", b)
	}
}

func TestAnUplinkTakesTheSameSignalsAsThePost(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, d := g.dispatched("h")
	if got := g.post(d.RunID, signalBody("started", `{}`, "")); got.JSON["outcome"] != "applied" {
		t.Fatalf("got %s", got.Body)
	}
	c := g.uplinkOf() // a spool is replayed before the first heartbeat
	send := func(kind svc.SignalKind, change func(*svc.Signal)) {
		s := svc.Signal{Kind: kind, Attempt: 1, Source: svc.FromWrapper, Timestamp: 1}
		change(&s)
		b, err := wire.Encode(wire.SignalFrame{RunID: d.RunID, Signal: wire.FromSignal(s)})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Write(context.Background(), websocket.MessageText, b); err != nil {
			t.Fatal(err)
		}
	}
	send(svc.SignalStarted, func(*svc.Signal) {}) // it was already posted
	for _, seq := range []int64{2, 1, 3} {
		send(svc.SignalProgress, func(s *svc.Signal) { s.Seq, s.Message = seq, fmt.Sprint(seq) })
	}
	send(svc.SignalCompleted, func(s *svc.Signal) { s.Result = svc.ResultSuccess })
	send(svc.SignalFinished, func(*svc.Signal) {})
	waittest.Eventually(t, "the run has ended", func() bool {
		return g.want(http.StatusOK, "GET", "/api/v1/runs/"+d.RunID, nil).JSON["status"] == "exited"
	})
	topics := strings.Join(g.topics(), " ")
	if want := "run.started run.signal_received run.signal_received run.signal_received run.finished"; !strings.HasSuffix(topics, "run.spawning "+want) {
		t.Errorf("journaled %s, want %s at the end", topics, want)
	}
	for _, body := range []string{signalBody("completed", `{"result":"user_rejected"}`, ""), signalBody("finished", `{"exit_code":1}`, "")} {
		if got := g.post(d.RunID, body); got.JSON["outcome"] != "duplicate" {
			t.Errorf("posted after its frame: got %s", got.Body)
		}
	}
}
