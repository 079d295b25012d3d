package server

import (
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzBodies posts anything to everything that takes a body: whatever it is,
// it is never an internal error.
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
		{"POST", "/api/internal/worker/register"}, {"POST", "/api/internal/runs/" + run + "/signals"},
	}
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
			if w.Code >= 500 {
				t.Fatalf("%s %s %q: got %d %s", request[0], request[1], body, w.Code, w.Body)
			}
			if !utf8.Valid(w.Body.Bytes()) {
				t.Fatalf("%s %s %q: the answer is not UTF-8", request[0], request[1], body)
			}
		}
	})
}

// FuzzCheckJSON holds the hand-written walk against the parser: what passes is
// an object that the parser takes, and no text changes on its way through.
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
