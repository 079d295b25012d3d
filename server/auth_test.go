package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"svc/api"
	"svc/wire"
)

// publicRequests returns every operation of the description, with an id that belongs to no record.
func publicRequests(s *Server) [][2]string {
	var out [][2]string
	for path, item := range s.OpenAPI().Paths {
		path = api.Prefix + strings.ReplaceAll(path, "{id}", noID)
		for _, op := range operations(item) {
			if neededRole(op) != "" {
				out = append(out, [2]string{op.Method, path})
			}
		}
	}
	return append(out, [2]string{"GET", "/metrics"}, [2]string{"GET", "/api/v1/nothing"}, [2]string{"PUT", "/api/v1/projects"})
}

func TestEveryPublicPathWantsTheUserToken(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	requests := publicRequests(g.Server)
	if len(requests) < 30 {
		t.Fatalf("only %d requests", len(requests))
	}
	for _, r := range requests {
		for name, e := range map[string]edit{
			"none": noToken, "wrong": token(strings.Repeat("0", 32)), "worker": token(workerToken),
			"shorter": token(userToken[:31]), "longer": token(userToken + "0"), "empty": with("Authorization", "Bearer "),
			"basic": with("Authorization", "Basic "+userToken), "bare": with("Authorization", userToken),
		} {
			var body any
			if r[0] == "POST" || r[0] == "PATCH" {
				body = "{}"
			}
			got := g.refuse(http.StatusUnauthorized, "unauthorized", r[0], r[1], body, e)
			if got.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s (%s): no WWW-Authenticate", r[0], r[1], name)
			}
		}
	}
}

func TestTheTokenInTheQueryIsForSocketsAlone(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	q := "?token=" + userToken
	g.refuse(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/projects"+q, nil, noToken)
	g.refuse(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/events/stream"+q, nil, noToken)
	g.refuse(http.StatusUnauthorized, "unauthorized", "GET", "/api/internal/worker/uplink?token="+workerToken, nil, noToken)
	for _, socket := range []string{"pane", "attach"} {
		path := "/api/v1/runs/" + noID + "/" + socket + "/ws"
		g.refuse(http.StatusUnauthorized, "unauthorized", "GET", path+"?token="+workerToken, nil, noToken)
		g.refuse(http.StatusNotFound, "not_found", "GET", path+q, nil, noToken)
	}
	if strings.Contains(g.logs.String(), userToken) || strings.Contains(g.logs.String(), workerToken) {
		t.Error("a token is in the log")
	}
}

// A token that was removed from the URL cannot be logged by later code.
func TestTheTokenOfASocketEndsAtTheDoor(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/runs/"+noID+"/pane/ws?a=b&token="+userToken, nil)
	inside, err := g.authenticate(httptest.NewRecorder(), r)
	if err != nil {
		t.Fatal(err)
	}
	if inside.URL.RawQuery != "a=b" || strings.Contains(inside.RequestURI, "token") {
		t.Errorf("inside it is %s, %s", inside.URL, inside.RequestURI)
	}
}

func TestAForeignPageMayNotOpenSockets(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(o *Options) { o.AllowedOrigins = []string{"https://board.example"} })
	for _, socket := range []string{"pane", "attach"} {
		path := "/api/v1/runs/" + noID + "/" + socket + "/ws"
		g.refuse(http.StatusForbidden, "forbidden_origin", "GET", path, nil, with("Origin", "https://evil.example"))
		g.refuse(http.StatusForbidden, "forbidden_origin", "GET", path, nil, with("Origin", "null"))
		g.refuse(http.StatusNotFound, "not_found", "GET", path, nil, with("Origin", g.URL))
		g.refuse(http.StatusNotFound, "not_found", "GET", path, nil, with("Origin", "https://board.example"))
	}
}

func TestASocketIsOpenedByTheTokenInTheQueryOrTheHeader(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	path := "/api/v1/runs/" + g.run()
	upgrade := func(r *http.Request) {
		for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
			r.Header.Set(name, value)
		}
	}
	g.refuse(http.StatusConflict, "run_not_running", "GET", path+"/attach/ws?token="+userToken, nil, noToken, upgrade) // the token was accepted
	g.refuse(http.StatusConflict, "run_not_running", "GET", path+"/attach/ws", nil, upgrade)
	g.refuse(http.StatusUnauthorized, "unauthorized", "GET", path+"/attach/ws?token="+userToken[1:], nil, noToken, upgrade)
	for query, header := range map[string]http.Header{"?token=" + userToken: nil, "": {"Authorization": {"Bearer " + userToken}}} {
		c, _, err := websocket.Dial(t.Context(), g.URL+path+"/pane/ws"+query, &websocket.DialOptions{HTTPHeader: header})
		if err != nil {
			t.Fatalf("%q: %v", query, err)
		}
		_ = c.CloseNow()
	}
}

func TestWhoMayAndWhoMayNotAreToldApartEachTime(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for range 5 { // earlier attempts have no effect
		g.want(http.StatusOK, "GET", "/api/v1/projects", nil)
		g.refuse(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/projects", nil, noToken)
	}
}

func TestTheWorkersDoorsWantTheWorkersToken(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	run := g.run()
	for _, path := range []string{"/worker/register", "/runs/" + run + "/signals", "/runs/" + noID + "/signals", "/nothing"} {
		for _, e := range []edit{noToken, token(userToken), token("x")} {
			g.refuse(http.StatusUnauthorized, "unauthorized", "POST", "/api/internal"+path, "{}", e)
		}
	}
	for _, e := range []edit{noToken, token(userToken)} {
		g.refuse(http.StatusUnauthorized, "unauthorized", "GET", "/api/internal/worker/uplink", nil, e)
	}
	g.refuse(http.StatusNotFound, "not_found", "POST", "/api/internal/nothing", "{}", token(workerToken))
}

func TestAHostsOwnTokenIsGoodForThatHostAlone(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	mine := g.want(http.StatusCreated, "POST", "/api/v1/hosts", map[string]any{"name": "mine"}).JSON["id"].(string)
	g.want(http.StatusCreated, "POST", "/api/v1/hosts", map[string]any{"name": "other"})
	own := token(g.want(http.StatusOK, "POST", "/api/v1/hosts/mine/token", nil).JSON["token"].(string))
	body := func(host string) any {
		return wire.Registration{HostName: host, Platform: "linux", InstanceID: noID}
	}
	got := g.want(http.StatusOK, "POST", "/api/internal/worker/register", body("mine"), own)
	if got.JSON["host_id"] != mine {
		t.Errorf("got %s, want host %s", got.Body, mine)
	}
	if r := g.call("POST", "/api/internal/worker/register", body("other"), own); r.Status < 400 {
		t.Errorf("the token of one host registered another: %s", r.Body)
	}
	g.refuse(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/projects", nil, own)
}

func TestHealthWantsNoToken(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, path := range []string{"/healthz", "/readyz", "/", "/api/v1/openapi.json", "/api/v1/docs"} {
		g.want(http.StatusOK, "GET", path, nil, noToken)
	}
	g.want(http.StatusOK, "HEAD", "/healthz", nil, noToken)
	g.Close()
	r := g.refuse(http.StatusServiceUnavailable, "unavailable", "GET", "/readyz", nil, noToken)
	if !strings.Contains(r.Body, `"cause":"shutting_down"`) || r.Header.Get("Retry-After") == "" {
		t.Errorf("not ready: %s %v", r.Body, r.Header)
	}
}

func TestMetricsArePrometheusText(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.want(http.StatusOK, "GET", "/api/v1/projects", nil)
	g.want(http.StatusNotFound, "GET", "/api/v1/"+noID, nil)
	got := g.want(http.StatusOK, "GET", "/metrics", nil)
	for _, line := range []string{
		"# TYPE svc_http_requests_total counter",
		`svc_http_requests_total{code="200",method="GET",route="GET /api/v1/projects"} 1`,
		`svc_http_requests_total{code="404",method="GET",route="none"} 1`,
		"svc_event_streams 0", "go_goroutines",
	} {
		if !strings.Contains(got.Body, line) {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(got.Body, noID) {
		t.Error("an id became a label")
	}
}

func TestTheUplinkOpensWithTheWorkersToken(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	c, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(g.URL, "http")+"/api/internal/worker/uplink", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + workerToken}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"no such frame"}`)); err != nil {
		t.Fatal(err)
	}
	if _, b, err := c.Read(t.Context()); err != nil || !strings.Contains(string(b), "unknown_frame") {
		t.Errorf("got %s, %v; want an error frame", b, err)
	}
	g.refuse(http.StatusBadRequest, "validation_failed", "GET", "/api/internal/worker/uplink", nil, token(workerToken))
}
