package server

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"svc"
)

// pagePolicy is the Content-Security-Policy of the page. The terminal and the menus set inline styles, so they need
// 'unsafe-inline'; scripts may be loaded from this server only.
const pagePolicy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self' data:; connect-src 'self'; worker-src 'self'; object-src 'none'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// asset is one file of the page, held in memory.
type asset struct {
	media   string
	body    []byte
	gzipped func() []byte // made at the first request, because compressing all files would slow each start; nil: compression saves nothing
	cache   string
}

// page serves the single-page app: its files, and index.html for every path to which a person navigates.
type page map[string]asset

const index = "index.html"

// newPage reads the files. With nil it returns a handler that serves a placeholder.
func newPage(files fs.FS) (http.Handler, error) {
	if files == nil {
		return http.HandlerFunc(placeholder), nil
	}
	p := page{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		p[name] = newAsset(name, body)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	if _, ok := p[index]; !ok {
		return nil, fmt.Errorf("read the page: it has no %s", index)
	}
	return p, nil
}

func newAsset(name string, body []byte) asset {
	a := asset{media: mime.TypeByExtension(path.Ext(name)), body: body, cache: "no-cache", gzipped: func() []byte { return nil }}
	if path.Ext(name) == ".woff2" { // Go has this type only when the system has it
		a.media = "font/woff2"
	}
	if a.media == "" {
		a.media = "application/octet-stream"
	}
	if strings.HasPrefix(name, "assets/") { // the build adds a hash to these names
		a.cache = "public, max-age=31536000, immutable"
	}
	if strings.HasPrefix(a.media, "text/") || strings.Contains(a.media, "javascript") || strings.Contains(a.media, "json") || strings.Contains(a.media, "svg") {
		a.gzipped = sync.OnceValue(func() []byte { return gzipped(body) })
	}
	return a
}

// gzipped returns the compressed body, or nil when compression does not make it smaller.
func gzipped(body []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil
	}
	if _, err := z.Write(body); err != nil {
		return nil
	}
	if err := z.Close(); err != nil || b.Len() >= len(body) {
		return nil
	}
	return b.Bytes()
}

// ServeHTTP serves a file, or index.html for a navigation. A missing file is always a 404: a page that gets HTML in
// place of a script fails in confusing ways.
func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	a, ok := p[name]
	if !ok {
		if !navigates(r) || path.Ext(name) != "" {
			writeError(w, r, svc.Errorf(svc.CodeNotFound, "nothing is at %.200s", r.URL.Path))
			return
		}
		a = p[index]
	}
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Content-Type", a.media)
	h.Set("Cache-Control", a.cache)
	body := a.body
	if small := a.gzipped(); small != nil {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			h.Set("Content-Encoding", "gzip")
			body = small
		}
	}
	_, _ = w.Write(body)
}

// navigates reports whether the request is a navigation, and not a request of the page for one of its files.
func navigates(r *http.Request) bool {
	return r.URL.Path == "/" || strings.Contains(r.Header.Get("Accept"), "text/html")
}

// placeholder is served at / in a build without the page.
func placeholder(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" {
		writeError(w, r, svc.Errorf(svc.CodeNotFound, "nothing is at %.200s", r.URL.Path))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte("<!doctype html><html lang=\"en\"><title>svc</title><p>This build has no page. " +
		"The API is at <a href=\"/api/v1/docs\">/api/v1</a>.</p></html>\n"))
}
