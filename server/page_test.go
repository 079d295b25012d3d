package server

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
)

func TestThePageServesItsFilesAndItsIndexToPeople(t *testing.T) {
	t.Parallel()
	script := strings.Repeat("console.log('hello');", 100)
	g := newRig(t, func(o *Options) {
		o.SPA = fstest.MapFS{
			"index.html":          {Data: []byte("<!doctype html><title>the page</title>")},
			"favicon.svg":         {Data: []byte("<svg/>")},
			"assets/app-1a2b3.js": {Data: []byte(script)},
			"assets/mono-4.woff2": {Data: []byte("wOF2")},
		}
	})
	person := with("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	for _, path := range []string{"/", "/p/x/board", "/runs/" + noID, "/index.html"} {
		got := g.want(http.StatusOK, "GET", path, nil, noToken, person)
		if !strings.Contains(got.Body, "the page") || got.Header.Get("Cache-Control") != "no-cache" || got.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: got %v %s", path, got.Header, got.Body)
		}
		policy := got.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "script-src 'self';") || !strings.Contains(policy, "style-src 'self' 'unsafe-inline'") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %s", path, policy)
		}
	}
	got := g.want(http.StatusOK, "GET", "/assets/app-1a2b3.js", nil, noToken) // Go's client decompresses it
	if got.Body != script || !strings.Contains(got.Header.Get("Cache-Control"), "immutable") || !strings.Contains(got.Header.Get("Content-Type"), "javascript") {
		t.Errorf("got %v", got.Header)
	}
	packed := g.want(http.StatusOK, "GET", "/assets/app-1a2b3.js", nil, noToken, with("Accept-Encoding", "gzip"))
	if packed.Header.Get("Content-Encoding") != "gzip" || len(packed.Body) >= len(script) {
		t.Errorf("got %v with %d bytes", packed.Header, len(packed.Body))
	}
	if got := g.want(http.StatusOK, "GET", "/assets/mono-4.woff2", nil, noToken); got.Header.Get("Content-Type") != "font/woff2" {
		t.Errorf("a font: got %v", got.Header)
	}
	for _, path := range []string{"/assets/app-old.js", "/missing.png", "/some/part"} {
		g.refuse(http.StatusNotFound, "not_found", "GET", path, nil, noToken)
	}
	g.refuse(http.StatusNotFound, "not_found", "GET", "/assets/app-old.js", nil, noToken, person)
	g.refuse(http.StatusNotFound, "not_found", "GET", "/api/nothing", nil, person)
	g.refuse(http.StatusUnauthorized, "unauthorized", "GET", "/api/v1/nothing", nil, noToken, person)
}

func TestAPageWithoutIndexIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := newPage(fstest.MapFS{"a.js": {}}); err == nil {
		t.Error("got no error")
	}
}

func TestWithoutAPageTheRootSaysWhereTheAPIIs(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	if got := g.want(http.StatusOK, "GET", "/", nil, noToken); !strings.Contains(got.Body, "/api/v1/docs") {
		t.Errorf("got %s", got.Body)
	}
}

func TestTheReferenceNeedsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	got := g.want(http.StatusOK, "GET", "/api/v1/docs", nil, noToken)
	for _, text := range []string{"/work-items/{id}", "CreateProject", "Follow the journal", "text/event-stream"} {
		if !strings.Contains(got.Body, text) {
			t.Errorf("no %s", text)
		}
	}
	for _, text := range []string{"<script", "http://", "https://", "<link", "<img"} {
		if strings.Contains(got.Body, text) {
			t.Errorf("it has %s", text)
		}
	}
}
