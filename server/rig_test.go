package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc"
	"svc/api"
	"svc/engine"
	"svc/hub"
	"svc/internal/textbuffer"
	"svc/store"
	"svc/store/storetest"
)

const (
	userToken   = "0123456789abcdef0123456789abcdef"
	workerToken = "fedcba9876543210fedcba9876543210"
	noID        = "7d3c1f0a-5b7e-4c55-9a57-0b6a1c9e2f11" // an id that belongs to no record
)

// rig is a complete orchestrator behind a real listener, with its own database.
type rig struct {
	testing.TB
	*Server
	URL  string
	logs *textbuffer.Buffer
}

// newRig starts a rig. Each change may modify the options.
func newRig(t testing.TB, changes ...func(*Options)) *rig {
	t.Helper()
	dir := t.TempDir()
	logs := &textbuffer.Buffer{}
	log := slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	db, err := store.Open(t.Context(), storetest.Fresh(t, dir), store.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	live := hub.New(filepath.Join(dir, "relay"), log)
	eng, err := engine.New(t.Context(), engine.Config{
		Store: db, Hub: live, Log: log,
		DispatchTimeout: 5 * time.Minute, AckTimeout: 15 * time.Second, OfflineAfter: 90 * time.Second,
		OutputInterval: 5 * time.Second, EventsDays: 30, RelayDays: 30,
		SigningKey: []byte("a key for tests that is long enough"), OwnerTokenHash: svc.SecretHash(userToken),
	})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Engine: eng, Logger: log, Version: "test",
		Live:        &Live{Runs: eng.Live(), Log: log},
		WorkerToken: workerToken,
		Catalog:     func() []ProviderInfo { return []ProviderInfo{{ID: "provider_a", Name: "Provider A", Bin: "agent-a"}} },
	}
	for _, change := range changes {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- eng.Serve(ctx) }()
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		h.Close()
		stop()
		if err := <-ended; err != nil && ctx.Err() == nil {
			t.Errorf("engine: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return &rig{TB: t, Server: s, URL: h.URL, logs: logs}
}

// http returns a client that validates every response against the API description.
func (g *rig) http() *http.Client { return &http.Client{Transport: validatingTransport{g}} }

// client returns the Go client with the user token.
func (g *rig) client() *api.Client {
	return &api.Client{BaseURL: g.URL, Token: userToken, HTTP: g.http()}
}

// reply is a response that was read completely.
type reply struct {
	Status int
	Header http.Header
	Body   string
	JSON   map[string]any // nil when the body is not a JSON object
}

// code returns the code in the error envelope.
func (r reply) code() string {
	e, _ := r.JSON["error"].(map[string]any)
	code, _ := e["code"].(string)
	return code
}

// details returns the details in the error envelope.
func (r reply) details() map[string]any {
	e, _ := r.JSON["error"].(map[string]any)
	d, _ := e["details"].(map[string]any)
	return d
}

// fields returns the fields that the details name.
func (r reply) fields() map[string]any {
	f, _ := r.details()["fields"].(map[string]any)
	return f
}

// edit modifies a request before it is sent.
type edit func(*http.Request)

func with(name, value string) edit { return func(r *http.Request) { r.Header.Set(name, value) } }
func token(t string) edit          { return with("Authorization", "Bearer "+t) }
func noToken(r *http.Request)      { r.Header.Del("Authorization") }

// call sends a request. body is a string that is sent unchanged, nil, or a value that is encoded as JSON.
func (g *rig) call(method, path string, body any, edits ...edit) reply {
	g.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		enc, err := json.Marshal(b)
		if err != nil {
			g.Fatal(err)
		}
		reader = bytes.NewReader(enc)
	}
	req, err := http.NewRequestWithContext(g.Context(), method, g.URL+path, reader)
	if err != nil {
		g.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+userToken)
	if reader != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, e := range edits {
		e(req)
	}
	res, err := g.http().Do(req)
	if err != nil {
		g.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		g.Fatal(err)
	}
	r := reply{Status: res.StatusCode, Header: res.Header, Body: string(b)}
	_ = json.Unmarshal(b, &r.JSON)
	return r
}

// want is call, and fails the test when the status is another one.
func (g *rig) want(status int, method, path string, body any, edits ...edit) reply {
	g.Helper()
	r := g.call(method, path, body, edits...)
	if r.Status != status {
		g.Fatalf("%s %s: got %d %s, want %d", method, path, r.Status, r.Body, status)
	}
	return r
}

// refuse is call, and fails the test unless the response is an error with this status and code.
func (g *rig) refuse(status int, code, method, path string, body any, edits ...edit) reply {
	g.Helper()
	r := g.want(status, method, path, body, edits...)
	if r.code() != code || r.Header.Get("Content-Type") != "application/json" {
		g.Fatalf("%s %s: got %s %s, want code %s", method, path, r.Header.Get("Content-Type"), r.Body, code)
	}
	return r
}

// task creates a project with a task and returns both ids.
func (g *rig) task() (project, task string) {
	g.Helper()
	p := g.want(http.StatusCreated, "POST", "/api/v1/projects", map[string]any{"name": "P"})
	project = p.JSON["id"].(string)
	w := g.want(http.StatusCreated, "POST", "/api/v1/work-items", map[string]any{"project_id": project, "kind": "task", "title": "T"})
	return project, w.JSON["id"].(string)
}

// run creates a run of a new task.
func (g *rig) run() string {
	g.Helper()
	_, task := g.task()
	r := g.want(http.StatusAccepted, "POST", "/api/v1/runs", map[string]any{"task_id": task, "provider": "provider_b"})
	return r.JSON["id"].(string)
}
