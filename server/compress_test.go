package server

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

func TestALongListIsCompressedForThoseWhoAsk(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	project, _ := g.task()
	for i := range 20 {
		title := fmt.Sprintf("A task with a title of ordinary length, number %d", i)
		g.want(http.StatusCreated, "POST", "/api/v1/work-items", map[string]any{"project_id": project, "kind": "task", "title": title})
	}
	// Read the raw response: the rig's own client decodes bodies as JSON.
	get := func(path, encodings string) reply {
		r, err := http.NewRequestWithContext(t.Context(), "GET", g.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+userToken)
		r.Header.Set("Accept-Encoding", encodings)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("got %d %v", res.StatusCode, err)
		}
		return reply{Header: res.Header, Body: string(body)}
	}
	const path = "/api/v1/work-items"
	plain, packed := get(path, "identity"), get(path, "br, gzip")
	if plain.Header.Get("Content-Encoding") != "" || packed.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("got encodings %q and %q", plain.Header.Get("Content-Encoding"), packed.Header.Get("Content-Encoding"))
	}
	for _, got := range []http.Header{plain.Header, packed.Header} {
		if got.Get("Vary") != "Accept-Encoding" {
			t.Errorf("got Vary %q", got.Get("Vary"))
		}
	}
	z, err := gzip.NewReader(strings.NewReader(packed.Body))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if string(body) != plain.Body || len(packed.Body) > len(plain.Body)/3 {
		t.Errorf("%d bytes became %d, and %d again", len(plain.Body), len(packed.Body), len(body))
	}
	if got := get(path+"?status=cancelled", "gzip"); got.Header.Get("Content-Encoding") != "" {
		t.Error("an empty list is compressed")
	}
}

func TestAnAnswerThatMayHoldSecretsIsNeverCompressed(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, task := g.task()
	long := strings.Repeat("a long prompt ", 500)
	run := g.want(http.StatusAccepted, "POST", "/api/v1/runs", map[string]any{
		"task_id": task, "provider": "provider_a", "prompt": long, "env": map[string]string{"KEY": "secret"},
	}, with("Accept-Encoding", "gzip"))
	one := g.want(http.StatusOK, "GET", run.Header.Get("Location"), nil, with("Accept-Encoding", "gzip"))
	for _, got := range []http.Header{run.Header, one.Header} {
		if got.Get("Content-Encoding") != "" {
			t.Errorf("got %v", got)
		}
	}
}

func TestOnlyWholeAnswersWithoutATagAreCompressed(t *testing.T) {
	t.Parallel()
	op := &huma.Operation{Method: http.MethodGet, Path: "/runs"}
	long := strings.Repeat("x", minCompressed)
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		zipped  bool
	}{
		"a long answer":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, long) }, true},
		"one in pieces":       {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, long); fmt.Fprint(w, long) }, true},
		"a short one":         {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x") }, false},
		"one with a tag":      {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", `"1"`); fmt.Fprint(w, long) }, false},
		"a refusal":           {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict); fmt.Fprint(w, long) }, false},
		"one without content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, false},
	} {
		r := httptest.NewRequest("GET", "/api/v1/runs", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		compress(op, w, r, c.handler)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != c.zipped {
			t.Errorf("%s: compressed is %t", name, got)
		}
	}
}

func TestAcceptEncodingIsReadWithItsWeights(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, "gzip": true, "GZIP;q=0.5": true, "br, gzip": true, "gzip;q=0": false, "*": true, "*;q=0": false, "gzip;q=0, *": false,
		"identity": false, "gzip; q=nonsense": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", header)
		if got := acceptsGzip(r); got != want {
			t.Errorf("%q: got %t", header, got)
		}
	}
}
