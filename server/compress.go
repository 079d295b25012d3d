package server

import (
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// compressible are the operations whose responses may be compressed: lists, which are long and contain no secrets. On
// the wire the length of a compressed response reveals which parts of it repeat (BREACH), and agents write into most
// records. So a response with a secret (a token, the environment of a run, a project's setup) is never compressed.
// Streams are not compressed either, because the compressor would delay their events.
var compressible = map[string]bool{
	"/work-items": true, "/runs": true, "/hosts": true, "/events": true, "/inbox": true, "/providers": true,
	"/workspaces": true, "/workspaces/{id}/changes": true, "/workspaces/{id}/comments": true,
}

// minCompressed is the minimum size in bytes of a compressed response: a smaller one fits into one packet anyway.
const minCompressed = 1400

// compress calls next and compresses the response if the operation allows it, the client accepts it and the response
// is large enough. When next panics, the compressed data is left unfinished, so that the client detects the error.
func compress(op *huma.Operation, w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	if op.Method != http.MethodGet || !compressible[op.Path] {
		next(w, r)
		return
	}
	w.Header().Add("Vary", "Accept-Encoding")
	if !acceptsGzip(r) {
		next(w, r)
		return
	}
	c := &compressor{ResponseWriter: w}
	next(c, r)
	c.finish()
}

// acceptsGzip reports whether the client accepts gzip.
func acceptsGzip(r *http.Request) bool {
	any := false
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, params, _ := strings.Cut(coding, ";")
		q, found := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "q=")
		weight, err := strconv.ParseFloat(q, 64)
		wanted := !found || err == nil && weight > 0
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip":
			return wanted
		case "*":
			any = wanted
		}
	}
	return any
}

var gzipWriters = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // impossible: the level is a valid constant
	}
	return z
}}

// compressor delays the header of a response until the first Write shows its size. Handlers write a small response
// with one Write.
type compressor struct {
	http.ResponseWriter
	status int // 0: not set
	begun  bool
	zipped *gzip.Writer // nil: the response is not compressed
}

// WriteHeader stores the status.
func (c *compressor) WriteHeader(status int) {
	if !c.begun && c.status == 0 {
		c.status = status
	}
}

// Write writes a part of the response, compressed or not.
func (c *compressor) Write(b []byte) (int, error) {
	if !c.begun {
		c.begin(len(b))
	}
	if c.zipped != nil {
		return c.zipped.Write(b)
	}
	return c.ResponseWriter.Write(b)
}

// begin writes the header. A response with an ETag is not compressed, because the tag identifies these very bytes.
func (c *compressor) begin(size int) {
	c.begun = true
	h := c.Header()
	ok := c.status == 0 || c.status == http.StatusOK
	if ok && size >= minCompressed && h.Get("Content-Encoding") == "" && h.Get("ETag") == "" {
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		c.zipped = gzipWriters.Get().(*gzip.Writer)
		c.zipped.Reset(c.ResponseWriter)
	}
	if c.status != 0 {
		c.ResponseWriter.WriteHeader(c.status)
	}
}

// finish ends the response.
func (c *compressor) finish() {
	if !c.begun {
		c.begin(0)
	}
	if c.zipped == nil {
		return
	}
	_ = c.zipped.Close() // an error means that the client has disconnected, which its own write has recorded
	gzipWriters.Put(c.zipped)
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }
