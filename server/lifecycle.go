package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// lifecycle describes the deprecation of an operation. It is stored in the operation's metadata under lifecycleKey.
type lifecycle struct {
	Deprecated time.Time // when it was deprecated; zero: it is not
	Sunset     time.Time // when it will stop working; zero: not decided
	Link       string    // URL that describes the replacement; empty: none
}

const lifecycleKey = "lifecycle"

// deprecated marks an operation as deprecated.
func deprecated(op huma.Operation, l lifecycle) huma.Operation {
	if op.Metadata == nil {
		op.Metadata = map[string]any{}
	}
	op.Metadata[lifecycleKey] = l
	op.Deprecated = true
	return op
}

// announce sets the headers of RFC 9745 and RFC 8594.
func announce(op *huma.Operation, h http.Header) {
	l, ok := op.Metadata[lifecycleKey].(lifecycle)
	if !ok {
		return
	}
	if !l.Deprecated.IsZero() {
		h.Set("Deprecation", "@"+strconv.FormatInt(l.Deprecated.Unix(), 10))
	}
	if !l.Sunset.IsZero() {
		h.Set("Sunset", l.Sunset.UTC().Format(http.TimeFormat))
	}
	if l.Link != "" {
		h.Add("Link", "<"+l.Link+`>; rel="deprecation"`)
	}
}
