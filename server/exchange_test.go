package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"svc"
	"svc/internal/waittest"
)

func TestEveryAnswerCarriesTheSecurityHeaders(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, path := range []string{"/api/v1/projects", "/api/v1/nothing", "/healthz", "/", "/metrics", "/nothing", "/api/v1/docs", "/api/v1/openapi.json"} {
		h := g.call("GET", path, nil).Header
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("X-Request-Id") == "" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: got %v", path, h)
		}
		if strings.HasPrefix(path, "/api") && h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: Cache-Control %q", path, h.Get("Cache-Control"))
		}
	}
}

func TestARequestIDIsKeptWhenItIsHarmless(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for id, kept := range map[string]bool{
		"abc-123_X.y": true, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false, "a b": false, "a\tb": false, "é": false, `a"b`: false,
	} {
		got := g.call("GET", "/healthz", nil, with("X-Request-Id", id)).Header.Get("X-Request-Id")
		if (got == id) != kept || got == "" {
			t.Errorf("%q: got %q, kept should be %v", id, got, kept)
		}
	}
}

func TestTheLogHasThePathAndNeverTheQuery(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.call("GET", "/api/v1/runs/"+noID+"/pane/ws?token="+userToken, nil, with("X-Request-Id", "mine"))
	waittest.Eventually(t, "the request is in the log", func() bool { return strings.Contains(g.logs.String(), "request_id=mine") })
	log := g.logs.String()
	if !strings.Contains(log, "path=/api/v1/runs/"+noID+"/pane/ws ") || !strings.Contains(log, "status=404") {
		t.Errorf("got %s", log)
	}
	if strings.Contains(log, "token=") || strings.Contains(log, userToken) {
		t.Errorf("a token is in the log: %s", log)
	}
}

// broken adds routes that fail.
func (g *rig) broken() {
	op := func(path string) huma.Operation {
		return huma.Operation{OperationID: path, Method: http.MethodGet, Path: "/" + path}
	}
	register(g.Server, op("panics"), func(context.Context, *struct{}) (*struct{}, error) { panic("a secret of ours") })
	register(g.Server, op("fails"), func(context.Context, *struct{}) (*struct{}, error) {
		return nil, errors.New("a secret of ours")
	})
	register(g.Server, op("down"), func(context.Context, *struct{}) (*struct{}, error) {
		return nil, svc.Errorf(svc.CodeUnavailable, "later").Because(errors.New("a secret of ours"))
	})
	register(g.Server, op("slow"), func(context.Context, *struct{}) (*struct{}, error) { return nil, context.DeadlineExceeded })
	register(g.Server, deprecated(op("old"), lifecycle{
		Deprecated: time.Unix(1700000000, 0), Sunset: time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC), Link: "https://docs.example/old",
	}), func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	g.mux.HandleFunc("GET /half", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half an answer"))
		_ = http.NewResponseController(w).Flush()
		panic("in the middle")
	})
}

func TestWhatGoesWrongInsideStaysInside(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.broken()
	for path, want := range map[string]struct {
		status int
		code   string
	}{"panics": {500, "internal"}, "fails": {500, "internal"}, "down": {503, "unavailable"}, "slow": {503, "unavailable"}} {
		got := g.refuse(want.status, want.code, "GET", "/api/v1/"+path, nil, with("X-Request-Id", "id-of-"+path))
		if strings.Contains(got.Body, "secret") {
			t.Errorf("%s: got %s", path, got.Body)
		}
		waittest.Eventually(t, "the cause is in the log", func() bool {
			for line := range strings.SplitSeq(g.logs.String(), "\n") {
				if strings.Contains(line, "request_id=id-of-"+path) && strings.Contains(line, "level=ERROR") && (path == "slow" || strings.Contains(line, "a secret of ours")) {
					return true
				}
			}
			return false
		})
	}
	if res, err := http.Get(g.URL + "/half"); err == nil {
		var b [100]byte
		var readErr error
		for readErr == nil {
			_, readErr = res.Body.Read(b[:])
		}
		_ = res.Body.Close()
		if readErr.Error() == "EOF" {
			t.Error("an answer that was cut short looks whole")
		}
	}
}

// Thousands of workers can be refused at the same moment: they keep no connections, and the log does not have a line for
// each.
func TestARefusalWithATurnCostsLittle(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	register(g.Server, huma.Operation{OperationID: "crowded", Method: http.MethodGet, Path: "/crowded"}, func(context.Context, *struct{}) (*struct{}, error) {
		return nil, svc.Errorf(svc.CodeUnavailable, "later").RetryIn(1500 * time.Millisecond)
	})
	for range 3 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+"/api/v1/crowded", nil)
		req.Header.Set("Authorization", "Bearer "+userToken)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusServiceUnavailable || !res.Close || res.Header.Get("Retry-After") != "2" {
			t.Errorf("got status %d, header %v; is the connection closed: %v", res.StatusCode, res.Header, res.Close)
		}
	}
	waittest.Eventually(t, "the log has all", func() bool { return strings.Count(g.logs.String(), "path=/api/v1/crowded") == 3 })
	log := g.logs.String()
	if strings.Contains(log, "level=ERROR") || strings.Count(log, "level=WARN") != 1 {
		t.Errorf("want a line for operators and the rest for those who debug, got %s", log)
	}
}

func TestAnOperationThatGoesAwaySaysSo(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.broken()
	h := g.want(http.StatusNoContent, "GET", "/api/v1/old", nil).Header
	if h.Get("Deprecation") != "@1700000000" || h.Get("Sunset") != "Thu, 02 Jan 2031 03:04:05 GMT" || h.Get("Link") != `<https://docs.example/old>; rel="deprecation"` {
		t.Errorf("got %v", h)
	}
	if h := g.want(http.StatusOK, "GET", "/api/v1/projects", nil).Header; h.Get("Deprecation") != "" || h.Get("Sunset") != "" {
		t.Errorf("got %v", h)
	}
}

func TestEveryCodeHasItsStatusAndAnUnknownOneIsInternal(t *testing.T) {
	t.Parallel()
	codes := 0
	for want, list := range map[int]string{
		400: "validation_failed invalid_task_kind unknown_provider invalid_keys prompt_too_long missing_attempt need_in_own_line need_cycle",
		401: "unauthorized", 403: "forbidden forbidden_origin", 404: "not_found no_snapshot log_gone no_recording host_not_found not_relayed", 405: "method_not_allowed",
		409: "conflict project_archived has_children active_runs run_not_active run_not_running lease_held invalid_attempt idempotency_key_reused run_not_pending needed workspace_not_safe workspace_busy change_moved no_turns needs_input no_conversation",
		412: "precondition_failed", 413: "body_too_large", 415: "unsupported_media_type", 500: "internal",
		503: "unavailable host_not_connected capability_missing outcome_unknown sink_failed replica_unreachable",
	} {
		for code := range strings.FieldsSeq(list) {
			codes++
			if got := answerOf(t.Context(), svc.Errorf(svc.Code(code), "x")).status; got != want {
				t.Errorf("%s: got %d, want %d", code, got, want)
			}
		}
	}
	if codes != len(statuses) {
		t.Errorf("%d codes have a status, %d are looked at", len(statuses), codes)
	}
	if got := answerOf(t.Context(), svc.Errorf("made_up", "x")).status; got != http.StatusInternalServerError {
		t.Errorf("got %d", got)
	}
	w := httptest.NewRecorder()
	writeError(w, httptest.NewRequest("GET", "/", nil), svc.Errorf(svc.CodeConflict, "x").With("bad", make(chan int)))
	if w.Code != http.StatusConflict || !json.Valid(w.Body.Bytes()) {
		t.Errorf("details that do not encode: got %d %s", w.Code, w.Body)
	}
}

// brokenWriter is a client to which writes fail while its context is not cancelled.
type brokenWriter struct{ http.ResponseWriter }

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("write: broken pipe") }

func TestAClientThatTakesNoAnswerIsNoErrorOfOurs(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/projects", nil)
	token(userToken)(r)
	with("X-Request-Id", "gone")(r)
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("got panic %v, want the connection to be cut", p)
			}
		}()
		g.Handler().ServeHTTP(brokenWriter{httptest.NewRecorder()}, r)
	}()
	for line := range strings.SplitSeq(g.logs.String(), "\n") {
		if strings.Contains(line, "request_id=gone") && strings.Contains(line, "level=INFO") {
			return
		}
	}
	t.Errorf("no plain line in the log: %s", g.logs)
}

func TestTokensAreNeverPrinted(t *testing.T) {
	t.Parallel()
	o := struct{ T WorkerToken }{workerToken}
	for _, text := range []string{fmt.Sprint(o), fmt.Sprint(o.T), fmt.Sprintf("%v %+v %#v %s", o, &o, o, o)} {
		if strings.Contains(text, userToken) || strings.Contains(text, workerToken) {
			t.Errorf("got %s", text)
		}
	}
}
