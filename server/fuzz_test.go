package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"svc/api"
	"svc/wire"
)

// FuzzBodies posts arbitrary bodies to every operation with a body. The response is never an internal error.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"name":"x"}`, `{"name":null,"slug":"\ud800"}`, `{"keys":["Enter"]}`, `[[[[`, `{"a":{"a":{"a":1e999}}}`, "{\"name\":\"\x00\"}", `{"name":"a\u0000"}`,
		`{"project_id":"7d3c1f0a-5b7e-4c55-9a57-0b6a1c9e2f11","kind":"task","title":"x","parent_id":null}`,
		`{"task_id":"x","provider":"provider_b","args":[1],"env":{"SVC_X":"y"},"max_restarts":1e400}`,
		`{"kind":"progress","attempt":1,"seq":9223372036854775808,"source":"wrapper","payload":{"message":"m","percent":-1},"timestamp":"2030-01-02T03:04:05Z"}`,
		`{"host_name":"h","platform":"linux","instance_id":"7d3c1f0a-5b7e-4c55-9a57-0b6a1c9e2f11","capabilities":[null]}`,
		`{"max_runs":-0,"labels":{"":""}}`, `{"name":"x","name":"y"}`,
	} {
		f.Add(seed)
	}
	g := newRig(f)
	project, task := g.task()
	run := g.run()
	host := g.want(201, "POST", "/api/v1/hosts", `{"name":"h"}`).JSON["id"].(string)
	requests := [][2]string{
		{"POST", "/api/v1/projects"}, {"POST", "/api/v1/work-items"}, {"POST", "/api/v1/runs"}, {"POST", "/api/v1/hosts"},
		{"PATCH", "/api/v1/projects/" + project}, {"PATCH", "/api/v1/work-items/" + task}, {"PATCH", "/api/v1/hosts/" + host},
		{"POST", "/api/v1/runs/" + run + "/keys"}, {"POST", "/api/v1/hosts/" + host + "/enable"},
		{"POST", "/api/internal/worker/register"}, {"POST", "/api/internal/runs/" + run + "/signals"}, {"POST", "/api/internal/runs/" + run + "/comments/" + noID + "/handled"},
		{"POST", "/api/internal/workspaces/" + noID + "/report"}, {"POST", "/api/internal/workspaces/" + noID + "/landing"}, {"POST", "/api/internal/workspaces/" + noID + "/checkpoints/1/done"},
	}
	ids := strings.NewReplacer("/projects/{id}", "/projects/"+project, "/work-items/{id}", "/work-items/"+task, "/runs/{id}", "/runs/"+run, "/hosts/{id}", "/hosts/"+host, "{id}", noID)
	for path, item := range g.OpenAPI().Paths {
		for _, op := range operations(item) {
			if request := [2]string{op.Method, api.Prefix + ids.Replace(path)}; op.RequestBody != nil && !slices.Contains(requests, request) {
				requests = append(requests, request)
			}
		}
	}
	slices.SortFunc(requests, func(a, b [2]string) int { return strings.Compare(a[1]+a[0], b[1]+b[0]) })
	f.Fuzz(func(t *testing.T, body string) {
		for _, request := range requests {
			r := httptest.NewRequestWithContext(t.Context(), request[0], request[1], strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+userToken)
			if strings.HasPrefix(request[1], "/api/internal") {
				r.Header.Set("Authorization", "Bearer "+workerToken)
			}
			w := httptest.NewRecorder()
			g.Handler().ServeHTTP(w, r)
			if w.Code >= 500 && w.Code != http.StatusServiceUnavailable { // 503 is the response to too many requests
				t.Fatalf("%s %s %q: got %d %s", request[0], request[1], body, w.Code, w.Body)
			}
			if !utf8.Valid(w.Body.Bytes()) {
				t.Fatalf("%s %s %q: the answer is not UTF-8", request[0], request[1], body)
			}
		}
	})
}

// FuzzQueries reads every resource with an arbitrary query. The response is a success or a refusal, and never an
// internal error.
func FuzzQueries(f *testing.F) {
	for _, seed := range []string{
		"", "limit=0", "limit=99999999999999999999", "cursor=x", "cursor=%00", "topic=*&topic=run.**", "since=-1", "status=running&status=x", "tail=-1", "tail=1&follow=maybe", "from=1:2", "from=-1:x",
		"attempt=0", "attempt=9223372036854775807", "format=raw&timestamps=1", "path=../../x&a=1&b=2", "q=%ff", "order=queue&host_id=x", "a=%", ";", "checkpoint=-1&against=9",
	} {
		f.Add(seed)
	}
	g := newRig(f)
	project, task := g.task()
	run := g.run()
	host := g.want(201, "POST", "/api/v1/hosts", `{"name":"h"}`).JSON["id"].(string)
	ids := strings.NewReplacer("/projects/{id}", "/projects/"+project, "/work-items/{id}", "/work-items/"+task, "/runs/{id}", "/runs/"+run, "/hosts/{id}", "/hosts/"+host, "{id}", noID)
	var paths []string
	for path, item := range g.OpenAPI().Paths {
		if item.Get != nil {
			paths = append(paths, api.Prefix+ids.Replace(path))
		}
	}
	slices.Sort(paths)
	f.Fuzz(func(t *testing.T, query string) {
		gone, leave := context.WithCancel(t.Context())
		leave() // do not wait for anything
		for _, path := range paths {
			r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
			if strings.HasSuffix(path, "/stream") || strings.Contains(path, "/logs") {
				r = r.WithContext(gone)
			}
			r.URL.RawQuery = query
			r.Header.Set("Authorization", "Bearer "+userToken)
			w := httptest.NewRecorder()
			g.Handler().ServeHTTP(w, r)
			if w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
				t.Fatalf("GET %s?%s: got %d %s", path, query, w.Code, w.Body)
			}
		}
	})
}

// FuzzHeaders sends arbitrary values in the headers for authentication, without a valid token. No request is
// accepted, and none causes an internal error.
func FuzzHeaders(f *testing.F) {
	g := newRig(f)
	run := g.run()
	host := g.want(201, "POST", "/api/v1/hosts", `{"name":"h"}`).JSON["id"].(string)
	hex := strings.ReplaceAll(host, "-", "")
	for _, token := range []string{
		"", "Bearer", "Bearer ", "bearer x", "Basic eDp4", "Bearer svch_", "Bearer svch_" + hex + "_", "Bearer svch_" + hex + "_99999999999999999999_x",
		"Bearer svcr_", "Bearer svcr_1_" + hex + "_0", "Bearer svcr_-1__", "Bearer svcr_" + strings.Repeat("0", 40),
	} {
		f.Add(token, host, "c=d", "http://a.example", "7")
	}
	f.Add("", host, g.Server.cookieName()+"="+strings.Repeat("0", 64), "", "1-")
	f.Add("", host, g.Server.cookieName()+"=; "+g.Server.cookieName()+"=\"x\"", "null", "*")
	requests := [][2]string{
		{"POST", "/api/internal/worker/register"}, {"GET", "/api/internal/worker/uplink"}, {"POST", "/api/internal/runs/" + run + "/signals"},
		{"GET", "/api/v1/me"}, {"GET", "/api/v1/events/stream"}, {"GET", "/api/v1/runs/" + run + "/attach/ws"}, {"DELETE", "/api/v1/session"},
	}
	f.Fuzz(func(t *testing.T, token, named, cookie, origin, other string) {
		for _, request := range requests {
			r := httptest.NewRequestWithContext(t.Context(), request[0], request[1], strings.NewReader("{}"))
			for name, value := range map[string]string{
				"Authorization": token, wire.HeaderHostID: named, wire.HeaderInstanceID: named, wire.HeaderBootID: named, "Cookie": cookie, wire.HeaderWorkerKey: other, wire.HeaderChallenge: other,
				wire.HeaderSignature: other, wire.HeaderBodyHash: other, wire.HeaderContainment: other, wire.HeaderScopes: other, wire.HeaderCapabilities: other, "Svc-Request": other, "Range": other, "Upgrade": "websocket", "Connection": "Upgrade",
				"Origin": origin, "Content-Type": "application/json", "Last-Event-ID": other, "If-Match": other, "Idempotency-Key": other, "X-Request-Id": other,
			} {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			g.Handler().ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized && w.Code != http.StatusForbidden {
				t.Fatalf("%s %s with %q: got %d %s", request[0], request[1], token, w.Code, w.Body)
			}
		}
	})
}

// FuzzConditions sends arbitrary values in conditional and similar headers, with a valid token. The response is a
// success or a refusal, and never an internal error.
func FuzzConditions(f *testing.F) {
	for _, seed := range []string{"", "*", `"1"`, `W/"1"`, `"1", "2"`, `"`, "7", "-1", "99999999999999999999", "bytes=0-1", "bytes=-5", "bytes=5-,0-1", "bytes=9-1", "application/json; charset=x", "\xff"} {
		f.Add(seed)
	}
	g := newRig(f)
	project, _ := g.task()
	run := g.run()
	requests := [][3]string{
		{"PATCH", "/api/v1/projects/" + project, `{"description":"x"}`}, {"POST", "/api/v1/work-items", `{"project_id":"` + project + `","kind":"task","title":"x"}`},
		{"GET", "/api/v1/projects/" + project, ""}, {"GET", "/api/v1/runs/" + run + "/logs", ""}, {"GET", "/api/v1/events/stream", ""}, {"DELETE", "/api/v1/session", ""},
		{"GET", "/api/v1/runs/" + run + "/attach/ws", ""},
	}
	f.Fuzz(func(t *testing.T, value string) {
		gone, leave := context.WithCancel(t.Context())
		leave() // streams end at once
		for _, request := range requests {
			ctx := t.Context()
			if strings.HasSuffix(request[1], "stream") {
				ctx = gone
			}
			r := httptest.NewRequestWithContext(ctx, request[0], request[1], strings.NewReader(request[2]))
			for _, name := range []string{"If-Match", "If-None-Match", "Idempotency-Key", "Last-Event-ID", "Range", "If-Range", "X-Request-Id", "Accept", "Svc-Request"} {
				r.Header.Set(name, value)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+userToken)
			w := httptest.NewRecorder()
			g.Handler().ServeHTTP(w, r)
			if w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
				t.Fatalf("%s %s with %q: got %d %s", request[0], request[1], value, w.Code, w.Body)
			}
			if id := w.Header().Get("X-Request-Id"); strings.ContainsAny(id, "\r\n") || len(id) > 256 {
				t.Fatalf("%q comes back as %q", value, id)
			}
		}
	})
}

// FuzzCheckJSON compares the hand-written scanner with the JSON parser: accepted text is an object that the parser
// accepts too, and no string changes.
func FuzzCheckJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":"\ud83d\ude80"}`, `{"a":"\\ud800"}`, `{"a":"\"\ud800"}`, `{"a":"\u12"}`, `"\`, `{"\ud800\udc00":[{}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if checkJSON([]byte(body)) != nil {
			return
		}
		var v map[string]any
		if err := decodeBody([]byte(body), &v); err != nil {
			t.Fatalf("%q passed, but: %v", body, err)
		}
		for _, s := range texts(v) {
			if strings.ContainsRune(s, utf8.RuneError) && !strings.ContainsRune(body, utf8.RuneError) && !strings.Contains(strings.ToLower(body), `\ufffd`) {
				t.Fatalf("%q passed, but %q lost characters", body, s)
			}
		}
	})
}

func texts(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, e := range v {
			out = append(out, texts(e)...)
		}
	case map[string]any:
		for k, e := range v {
			out = append(append(out, k), texts(e)...)
		}
	}
	return out
}
