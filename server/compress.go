package server

import (
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// compressible are the operations whose answers are compressed: lists, which are long and have no secrets in them. The length of
// a compressed answer tells who sees it on the wire what repeats in it (BREACH), and agents write into most records, so an answer
// with a secret (a token, the environment of a run, a project's setup) is never compressed; nor are streams, whose events would
// wait in the compressor.
var compressible = map[string]bool{
	"/work-items": true, "/runs": true, "/hosts": true, "/events": true, "/inbox": true, "/providers": true,
	"/workspaces": true, "/workspaces/{id}/changes": true, "/workspaces/{id}/comments": true,
}

// minCompressed is the size in bytes from which an answer is worth compressing: a smaller one fits into one packet anyway.
const minCompressed = 1400

// compress runs a handler and compresses its answer where that is allowed, asked for and worth it. A handler that panics leaves
// the answer without its end, so that the client notices.
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

// acceptsGzip reports whether the client takes gzip.
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
		panic(err) // the level is a constant
	}
	return z
}}

// compressor holds the header of an answer back until its first bytes tell whether it is compressed. A handler writes the whole
// of a small answer at once.
type compressor struct {
	http.ResponseWriter
	status int // 0: not written, or already passed on
	begun  bool
	zipped *gzip.Writer // nil: it is passed on as it is
}

// WriteHeader keeps the status.
func (c *compressor) WriteHeader(status int) {
	if !c.begun && c.status == 0 {
		c.status = status
	}
}

// Write passes an answer on, compressed or not.
func (c *compressor) Write(b []byte) (int, error) {
	if !c.begun {
		c.begin(len(b))
	}
	if c.zipped != nil {
		return c.zipped.Write(b)
	}
	return c.ResponseWriter.Write(b)
}

// begin writes the header. An answer with a tag of its own stays as it is: the tag names these very bytes.
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

// finish ends the answer.
func (c *compressor) finish() {
	if !c.begun {
		c.begin(0)
	}
	if c.zipped == nil {
		return
	}
	_ = c.zipped.Close() // the client has gone, which its own write has noted
	gzipWriters.Put(c.zipped)
}

// Unwrap lets http.ResponseController reach the connection.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }
