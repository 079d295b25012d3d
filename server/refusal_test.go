package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc/api"
)

// creates returns the collections that accept a POST, with a valid body.
func (g *rig) creates() map[string]map[string]any {
	project, task := g.task()
	return map[string]map[string]any{
		"/api/v1/projects":   {"name": "x"},
		"/api/v1/work-items": {"project_id": project, "kind": "task", "title": "x"},
		"/api/v1/runs":       {"task_id": task, "provider": "provider_b"},
		"/api/v1/hosts":      {"name": "x"},
	}
}

func TestABodyThatIsNoSingleObjectIsRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	bodies := []string{
		``, ` `, `{"name": `, `{name: 1}`, `not json`, `{"name":"x"}}`, `{"name":"x"} {"name":"y"}`, `[]`, `"x"`, `7`, `null`, `true`,
		"{\"name\":\"\xff\xfe\"}", `{"name":"\ud800"}`, `{"name":"\udc00x"}`, `{"name":"\ud800\u0041"}`, `{"name":"a\u0000b"}`,
		`{"name":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	}
	for path := range g.creates() {
		for _, b := range bodies {
			if b == bodies[16] && path != "/api/v1/projects" && path != "/api/v1/hosts" {
				continue
			}
			g.refuse(http.StatusBadRequest, "validation_failed", "POST", path, b)
		}
	}
	g.want(http.StatusCreated, "POST", "/api/v1/projects", `{"name":"\ud83d\ude80 \\ud800"}`)
	p := g.want(http.StatusCreated, "POST", "/api/v1/projects", " \r\n\t{\"name\":\"x\"}\n").JSON["id"].(string)
	g.refuse(http.StatusBadRequest, "validation_failed", "PATCH", "/api/v1/projects/"+p, `{`)
	g.refuse(http.StatusBadRequest, "validation_failed", "PATCH", "/api/v1/projects/"+p, ``)
}

func TestAnUnknownFieldIsNamed(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	readOnly := map[string][]string{
		"/api/v1/projects": {"status", "archived_at"}, "/api/v1/work-items": {"path", "position", "status_source", "confidence"},
		"/api/v1/runs": {"status", "attempt", "session_name", "pinned_host_id", "exit_code"}, "/api/v1/hosts": {"status", "instance_id", "last_seen_at"},
	}
	for path, body := range g.creates() {
		for _, field := range append(readOnly[path], "colour", "id", "created_at", "Name", "$schema") {
			body[field] = "x"
			got := g.refuse(http.StatusBadRequest, "validation_failed", "POST", path, body)
			if got.fields()[field] == nil {
				t.Errorf("%s: got %s, want %s named", path, got.Body, field)
			}
			delete(body, field)
		}
		g.call("POST", path, body)
	}
	project, task := g.task()
	host := g.want(http.StatusCreated, "POST", "/api/v1/hosts", map[string]any{"name": "h"}).JSON["id"]
	for path, fields := range map[string][]string{
		"/api/v1/projects/" + project:         {"id", "status", "created_at", "archived_at", "nam"},
		"/api/v1/work-items/" + task:          {"path", "id", "position", "project_id", "status_source"},
		fmt.Sprintf("/api/v1/hosts/%v", host): {"status", "last_seen_at", "instance_id", "instance_suspect", "active_runs"},
	} {
		for _, f := range fields {
			got := g.refuse(http.StatusBadRequest, "validation_failed", "PATCH", path, map[string]any{f: nil})
			if got.fields()[f] == nil {
				t.Errorf("%s: got %s, want %s named", path, got.Body, f)
			}
		}
	}
}

func TestAWrongValueIsNamed(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	project, task := g.task()
	journaled := len(g.topics())
	for _, c := range []struct{ path, body, field string }{
		{"projects", `{"name":7}`, "name"}, {"projects", `{"name":null}`, "name"}, {"projects", `{}`, "name"}, {"projects", `{"name":""}`, "name"},
		{"projects", `{"name":"x","slug":""}`, "slug"}, {"projects", `{"name":"x","slug":"A b"}`, "slug"}, {"projects", `{"name":"x","slug":null}`, "slug"},
		{"projects", `{"name":"x","description":[]}`, "description"}, {"projects", `{"name":"x","cwd":null}`, "cwd"},
		{"projects", `{"name":"` + strings.Repeat("é", 201) + `"}`, "name"},
		{"work-items", `{"project_id":"nope","kind":"task","title":"x"}`, "project_id"},
		{"work-items", `{"project_id":"P","kind":"story","title":"x"}`, "kind"}, {"work-items", `{"project_id":"P","kind":"task","title":""}`, "title"},
		{"work-items", `{"project_id":"P","kind":"task"}`, "title"}, {"work-items", `{"project_id":"P","kind":"task","title":"x","status":""}`, "status"},
		{"work-items", `{"project_id":"P","kind":"task","title":"x","auto_mark_done":"yes"}`, "auto_mark_done"},
		{"work-items", `{"project_id":"P","kind":"task","title":"x","parent_id":"nope"}`, "parent_id"},
		{"work-items", `{"project_id":"P","kind":"task","title":"x","parent_id":"` + noID + `"}`, "parent_id"},
		{"work-items", `{"project_id":"` + noID + `","kind":"task","title":"x"}`, "project_id"},
		{"runs", `{"task_id":"T"}`, "provider"}, {"runs", `{"provider":"provider_b"}`, "task_id"}, {"runs", `{"task_id":"nope","provider":"provider_b"}`, "task_id"},
		{"runs", `{"task_id":"` + noID + `","provider":"provider_b"}`, "task_id"}, {"runs", `{"task_id":"T","provider":"provider_b","host_id":"` + noID + `"}`, "host_id"},
		{"runs", `{"task_id":"T","provider":"provider_b","args":"one"}`, "args"}, {"runs", `{"task_id":"T","provider":"provider_b","args":["a",1]}`, "args[1]"},
		{"runs", `{"task_id":"T","provider":"provider_b","env":["A=B"]}`, "env"}, {"runs", `{"task_id":"T","provider":"provider_b","env":{"A":1}}`, "env.A"},
		{"runs", `{"task_id":"T","provider":"provider_b","max_restarts":-1}`, "max_restarts"}, {"runs", `{"task_id":"T","provider":"provider_b","max_restarts":1.5}`, "max_restarts"},
		{"runs", `{"task_id":"T","provider":"provider_b","max_restarts":1.0}`, "max_restarts"}, {"runs", `{"task_id":"T","provider":"provider_b","max_restarts":99999999999999999999}`, "max_restarts"},
		{"runs", `{"task_id":"T","provider":"provider_b","restart_policy":"sometimes"}`, "restart_policy"}, {"runs", `{"task_id":"T","provider":"provider_b","prompt":null}`, "prompt"},
		{"runs", `{"task_id":"T","provider":"provider_b","not_before":"soon"}`, "not_before"}, {"runs", `{"task_id":"T","provider":"provider_b","not_before":"2026-01-01"}`, "not_before"},
		{"projects", `{"name":"x","setup_timeout":"0s"}`, "setup_timeout"},
		{"hosts", `{"name":5}`, "name"}, {"hosts", `{"labels":{}}`, "name"}, {"hosts", `{"name":"h","max_runs":"many"}`, "max_runs"}, {"hosts", `{"name":"h","labels":[]}`, "labels"},
		{"hosts", `{"name":"h","labels":null}`, "labels"},
	} {
		body := strings.NewReplacer(`"P"`, `"`+project+`"`, `"T"`, `"`+task+`"`).Replace(c.body)
		got := g.refuse(http.StatusBadRequest, "validation_failed", "POST", "/api/v1/"+c.path, body)
		if got.fields()[c.field] == nil {
			t.Errorf("%s %s: got %s, want %s named", c.path, c.body, got.Body, c.field)
		}
	}
	for list, rows := range map[string]int{"projects": 1, "work-items": 1, "runs": 0, "hosts": 0, "events": journaled} {
		if got := len(g.walk("/api/v1/" + list)); got != rows {
			t.Errorf("after the refusals there are %d %s, want %d", got, list, rows)
		}
	}
}

func TestAWrongValueOfAPatchIsNamedAndChangesNothing(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	project, task := g.task()
	host := g.want(http.StatusCreated, "POST", "/api/v1/hosts", `{"name":"h"}`).JSON["id"].(string)
	long := func(n int) string { return strings.Repeat("é", n) }
	journaled := len(g.topics())
	for path, patches := range map[string]map[string]string{
		"/api/v1/work-items/" + task: {
			`{"status":null}`: "status", `{"status":"open"}`: "status", `{"title":null}`: "title", `{"title":""}`: "title", `{"title":"` + long(501) + `"}`: "title",
			`{"kind":"story"}`: "kind", `{"kind":null}`: "kind", `{"parent_id":5}`: "parent_id", `{"parent_id":"nope"}`: "parent_id", `{"parent_id":"` + noID + `"}`: "parent_id",
			`{"confidence":"likely"}`: "confidence", `{"status":"doing","confidence":"likely"}`: "confidence", `{"status":"done","confidence":"maybe"}`: "confidence",
			`{"before":null}`: "before", `{"auto_mark_done":1}`: "auto_mark_done", `{"description":7}`: "description", `{`: "body", `[]`: "body",
		},
		"/api/v1/projects/" + project: {
			`{"name":null}`: "name", `{"name":""}`: "name", `{"name":7}`: "name", `{"name":"` + long(201) + `"}`: "name", `{"slug":"A b"}`: "slug", `{"slug":null}`: "slug",
			`{"slug":"` + strings.Repeat("a", 65) + `"}`: "slug", `{"description":{}}`: "description", `{`: "body", `null`: "body",
		},
		"/api/v1/hosts/" + host: {
			`{"name":""}`: "name", `{"name":null}`: "name", `{"max_runs":"many"}`: "max_runs", `{"max_runs":-1}`: "max_runs", `{"labels":[]}`: "labels", `{"labels":{"a":1}}`: "labels.a", `{"x`: "body",
		},
	} {
		before := g.want(http.StatusOK, "GET", path, nil).Body
		for body, field := range patches {
			got := g.refuse(http.StatusBadRequest, "validation_failed", "PATCH", path, body)
			if got.fields()[field] == nil {
				t.Errorf("%s %.60s: got %s, want %s named", path, body, got.Body, field)
			}
		}
		if after := g.want(http.StatusOK, "GET", path, nil).Body; after != before {
			t.Errorf("%s became %s", before, after)
		}
		g.refuse(http.StatusUnsupportedMediaType, "unsupported_media_type", "PATCH", path, `{}`, with("Content-Type", "text/plain"))
		g.refuse(http.StatusRequestEntityTooLarge, "body_too_large", "PATCH", path, `{"name":"`+strings.Repeat("p", api.MaxBody)+`"}`)
	}
	if n := len(g.topics()); n != journaled {
		t.Errorf("refused patches journaled %d events", n-journaled)
	}
}

func TestABodyOverTheLimitIsRefusedAndOneAtTheLimitIsNot(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, task := g.task()
	fill := func(n int) string {
		head := `{"task_id":"` + task + `","provider":"provider_b","prompt":"`
		return head + strings.Repeat("p", n-len(head)-2) + `"}`
	}
	g.want(http.StatusAccepted, "POST", "/api/v1/runs", fill(api.MaxBody))
	g.refuse(http.StatusRequestEntityTooLarge, "body_too_large", "POST", "/api/v1/runs", fill(api.MaxBody+1))
	for path := range g.creates() {
		g.refuse(http.StatusRequestEntityTooLarge, "body_too_large", "POST", path, fill(api.MaxBody+1))
	}
	chunked := func(r *http.Request) { r.ContentLength = -1 }
	g.refuse(http.StatusRequestEntityTooLarge, "body_too_large", "POST", "/api/v1/runs", fill(api.MaxBody+1), chunked)
	g.refuse(http.StatusRequestEntityTooLarge, "body_too_large", "POST", "/api/v1/runs", fill(3*api.MaxBody))
	g.refuse(http.StatusRequestEntityTooLarge, "body_too_large", "PATCH", "/api/v1/work-items/"+task, fill(api.MaxBody+1))
	g.refuse(http.StatusRequestEntityTooLarge, "body_too_large", "POST", "/api/internal/runs/"+noID+"/signals", fill(api.MaxBody+1), token(workerToken))
}

func TestTheContentTypeMustBeJSON(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for path, body := range g.creates() {
		for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "application/xml", "application/json-patch+json", "", "application/jsonx", "json"} {
			g.refuse(http.StatusUnsupportedMediaType, "unsupported_media_type", "POST", path, body, with("Content-Type", media))
		}
	}
	for i, media := range []string{"application/json; charset=utf-8", "application/json;charset=UTF-8", "APPLICATION/JSON"} {
		g.want(http.StatusCreated, "POST", "/api/v1/projects", fmt.Sprintf(`{"name":"x%d"}`, i), with("Content-Type", media))
	}
	run := g.run()
	g.want(http.StatusAccepted, "POST", "/api/v1/runs/"+run+"/stop", nil, with("Content-Type", "text/plain"))
}

func TestARequestWithoutFieldsTakesNone(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	got := g.refuse(http.StatusBadRequest, "validation_failed", "POST", "/api/v1/runs/"+g.run()+"/stop", `{"why":"x"}`)
	if got.fields()["why"] == nil {
		t.Errorf("got %s", got.Body)
	}
	g.want(http.StatusAccepted, "POST", "/api/v1/runs/"+g.run()+"/stop", `{}`)
}

func TestUnknownPathsAndMethodsAnswerInTheEnvelope(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, path := range []string{
		"/api/v1/nothing", "/api/v1", "/api/v1/", "/api/v1/projects/", "/api/v1/projects/x/y/z", "/api/v2/projects", "/api/nothing", "/api", "/api/",
		"/api/v1/projects/../hosts", "//api/v1/projects", "/favicon.ico", "/some/page",
	} {
		g.refuse(http.StatusNotFound, "not_found", "GET", path, nil)
	}
	g.refuse(http.StatusNotFound, "not_found", "POST", "/api/v1/nothing", "{}")
	for request, allow := range map[string]string{
		"PUT /api/v1/projects": "GET, HEAD, POST", "DELETE /api/v1/runs": "GET, HEAD, POST", "PUT /api/v1/projects/x": "DELETE, GET, HEAD, PATCH",
		"PATCH /api/v1/work-items": "GET, HEAD, POST", "PUT /api/v1/hosts": "GET, HEAD, POST", "DELETE /api/v1/runs/x": "GET, HEAD, PATCH", "PUT /api/v1/runs/x/keys": "POST",
		"POST /api/v1/events": "GET, HEAD", "DELETE /api/v1/events/stream": "GET, HEAD", "GET /api/v1/runs/x/stop": "POST", "HEAD /api/v1/runs/x/stop": "POST",
		"GET /api/v1/hosts/x/enable": "POST", "POST /api/v1/providers": "GET, HEAD", "DELETE /api/v1/runs/x/pane": "GET, HEAD", "POST /healthz": "GET, HEAD", "OPTIONS /api/v1/projects": "GET, HEAD, POST",
	} {
		method, path, _ := strings.Cut(request, " ")
		got := g.want(http.StatusMethodNotAllowed, method, path, nil)
		if got.Header.Get("Allow") != allow || method != "HEAD" && got.code() != "method_not_allowed" {
			t.Errorf("%s: got Allow %q %s, want %q", request, got.Header.Get("Allow"), got.Body, allow)
		}
	}
}

func TestIDsThatNoRecordHasAreNotFound(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, noun := range []string{"projects", "work-items", "runs", "hosts"} {
		for _, id := range []string{noID, "not-a-uuid", "123", "%27%20OR%201=1", "a%2Fb", "%00", strings.Repeat("f", 300)} {
			path := "/api/v1/" + noun + "/" + id
			g.refuse(http.StatusNotFound, "not_found", "GET", path, nil)
			if noun != "runs" {
				g.refuse(http.StatusNotFound, "not_found", "PATCH", path, "{}")
				g.refuse(http.StatusNotFound, "not_found", "DELETE", path, nil)
			}
		}
	}
	for _, request := range []string{
		"GET /runs/X/pane", "GET /runs/X/logs", "POST /runs/X/stop", "POST /hosts/X/enable", "POST /hosts/X/disable", "POST /hosts/X/clear-suspect", "POST /hosts/X/token",
	} {
		method, path, _ := strings.Cut(request, " ")
		for _, id := range []string{noID, "nobody"} {
			g.refuse(http.StatusNotFound, "not_found", method, "/api/v1"+strings.ReplaceAll(path, "X", id), nil)
		}
	}
	g.refuse(http.StatusNotFound, "not_found", "POST", "/api/v1/runs/"+noID+"/keys", `{"keys":["Enter"]}`)
}

func TestBadQueryValuesAreNamed(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for query, field := range map[string]string{
		"/projects?limit=0": "limit", "/projects?limit=501": "limit", "/projects?limit=x": "limit", "/projects?limit=-1": "limit", "/projects?limit=1.5": "limit", "/projects?limit=": "limit",
		"/projects?limit=1&limit=2": "limit", "/projects?cursor=not-a-cursor!": "cursor", "/projects?status=active": "status", "/projects/x?limit=1": "limit", "/projects?%zz": "query",
		"/work-items?project_id=nope": "project_id", "/work-items?parent_id=nope": "parent_id", "/work-items?under=NULL": "under", "/work-items?status=open": "status", "/work-items?kind=task&kind=story": "kind",
		"/work-items?cursor=x": "cursor", "/work-items?status=": "status",
		"/runs?status=gone": "status", "/runs?task_id=x": "task_id", "/runs?host_id=x": "host_id", "/runs?cursor=x": "cursor", "/hosts?cursor=x": "cursor", "/events?cursor=x": "cursor", "/events?topic=RUN": "topic",
		"/events?topic=": "topic", "/events/stream?topic=a b": "topic", "/events/stream?last_event_id=-1": "last_event_id", "/events/stream?last_event_id=x": "last_event_id", "/events/stream?last_event_id=%2B1": "last_event_id",
		"/events/stream?last_event_id=99999999999999999999": "last_event_id", "/events/stream?since=1": "since", "/providers?limit=1": "limit",
	} {
		got := g.refuse(http.StatusBadRequest, "validation_failed", "GET", "/api/v1"+strings.ReplaceAll(query, " ", "%20"), nil)
		if got.fields()[field] == nil {
			t.Errorf("%s: got %s, want %s named", query, got.Body, field)
		}
	}
	_, task := g.task()
	got := g.refuse(http.StatusBadRequest, "validation_failed", "DELETE", "/api/v1/work-items/"+task+"?recursive=perhaps", nil)
	if got.fields()["recursive"] == nil {
		t.Errorf("got %s", got.Body)
	}
	got = g.refuse(http.StatusBadRequest, "validation_failed", "GET", "/api/v1/events/stream", nil, with("Last-Event-ID", "1a"))
	if got.fields()["Last-Event-ID"] == nil {
		t.Errorf("got %s", got.Body)
	}
}
