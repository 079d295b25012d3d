package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"svc"
	"svc/api"
)

const (
	bodyTimeout = 30 * time.Second // for the whole body; set in New
	drainAtMost = 8 << 20          // bytes of an oversized body that are read, so that the client reads the response
	maxDepth    = 64               // levels of nested objects and arrays
)

// readBody reads the body of a request as one JSON object, before any schema validation. It returns nil for an empty
// body.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(s.bodyLimit)) // best effort: test recorders do not support it
	if r.ContentLength > api.MaxBody {
		return nil, tooLarge(r)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, api.MaxBody+1))
	switch {
	case err != nil:
		return nil, s.readError(err)
	case len(body) > api.MaxBody:
		return nil, tooLarge(r)
	}
	// Clear the deadline only after the body was read: when we stop earlier, net/http reads the rest of the body, and
	// that read must be limited too.
	_ = rc.SetReadDeadline(time.Time{})
	if len(body) == 0 {
		return nil, nil
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, svc.Errorf(svc.CodeUnsupportedMedia, "the body must be application/json, not %.100q", r.Header.Get("Content-Type"))
	}
	return body, checkJSON(body)
}

// tooLarge reads a part of the remaining body: otherwise a client that is still sending would get a closed connection
// instead of the response.
func tooLarge(r *http.Request) error {
	if r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, r.Body, drainAtMost)
	}
	return svc.Errorf(svc.CodeTooLarge, "the body is larger than %d bytes", api.MaxBody)
}

func (s *Server) readError(err error) error {
	if errors.Is(err, errOtherBody) {
		return errOtherBody
	}
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		return svc.Invalid("body", "did not arrive within %s", s.bodyLimit)
	}
	return svc.Invalid("body", "could not be read to its end")
}

// checkJSON checks that the body is exactly one JSON object in valid Unicode.
func checkJSON(body []byte) error {
	if !utf8.Valid(body) {
		return svc.Invalid("body", "is not valid UTF-8")
	}
	if err := checkText(body); err != nil {
		return err
	}
	var whole json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		return svc.Invalid("body", "is not one JSON object: %v", err)
	}
	if trimmed := bytes.TrimLeft(whole, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return svc.Invalid("body", "must be a JSON object")
	}
	return nil
}

// checkText limits the nesting depth, and refuses escapes of half a surrogate pair, which encoding/json would
// silently replace.
func checkText(body []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			n, ok := escape(body[i:])
			if !ok {
				return svc.Invalid("body", `has half a surrogate pair in a \u escape`)
			}
			i += n - 1
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return svc.Invalid("body", "is nested deeper than %d levels", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// escape returns the length of the escape at the beginning of b, and whether it is complete. Invalid escapes are left
// to the JSON parser.
func escape(b []byte) (n int, ok bool) {
	first, isUnit := unit(b)
	switch {
	case !isUnit:
		return min(2, len(b)), true
	case first < 0xd800 || first > 0xdfff:
		return 6, true
	case first >= 0xdc00:
		return 6, false
	}
	second, isUnit := unit(b[6:])
	return 12, isUnit && second >= 0xdc00 && second <= 0xdfff
}

// unit returns the value of a \uXXXX escape.
func unit(b []byte) (v int, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		d := strings.IndexByte("0123456789abcdef", lower(c))
		if d < 0 {
			return 0, false
		}
		v = v<<4 | d
	}
	return v, true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'F' {
		return c + 'a' - 'A'
	}
	return c
}
