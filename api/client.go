package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc"
)

// Client is a client of the public API. Its methods return types of package svc and errors of type *svc.Error; when
// the orchestrator cannot be reached the error is ErrUnreachable. A Client may be used from several goroutines.
type Client struct {
	BaseURL string       // such as http://127.0.0.1:7898, without the prefix
	Token   string       // the user token
	HTTP    *http.Client // nil: a client without an overall timeout, so that streams are not cut
}

// ErrUnreachable reports that no response was received: nothing listens at the address, the network is down, or the
// connection broke.
var ErrUnreachable = errors.New("the orchestrator cannot be reached")

// ServerError is a refusal with a cause on the orchestrator's side. The orchestrator's log has details under the
// request id.
type ServerError struct {
	RequestID string
	Err       *svc.Error
}

// Error returns the message of the refusal.
func (e *ServerError) Error() string { return e.Err.Error() }

// Unwrap returns the refusal.
func (e *ServerError) Unwrap() error { return e.Err }

// headerTimeout limits the wait for the headers of a response.
const headerTimeout = time.Minute

var defaultHTTP = &http.Client{Transport: newTransport()}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          16,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       time.Minute,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: headerTimeout,
	}
}

type idempotencyKey struct{}

// WithIdempotencyKey makes the next POST use this key instead of a new one, so that the caller can repeat the request
// safely.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

// call is one request to the API.
type call struct {
	method string
	path   string // below the prefix
	query  url.Values
	header http.Header
	body   any // nil: none
}

// do sends a call and decodes its response into out, unless out is nil. A call that changes nothing, or carries an
// idempotency key, is repeated when its connection breaks.
func (c *Client) do(ctx context.Context, r call, out any) error {
	res, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if out == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // read the rest, so that the connection can be reused
		return nil
	}
	if err := decode(res.Body, maxAnswer, out); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("read the answer of %s %s: %w", r.method, r.path, err)
	}
	return nil
}

// maxAnswer limits a response, and a message of the event stream, in bytes. The largest response is a snapshot, which
// contains all projects, open items and active runs. The limit protects this machine's memory from a server at that
// address that is not an orchestrator.
const maxAnswer = 256 << 20

// decode decodes a response of at most the given size in bytes.
func decode(body io.Reader, most int64, out any) error {
	left := &io.LimitedReader{R: body, N: most + 1}
	err := json.NewDecoder(left).Decode(out)
	if err != nil && left.N == 0 {
		return svc.Errorf(svc.CodeTooLarge, "it is larger than any response of an orchestrator (%d MiB); check the address", most>>20)
	}
	return err
}

// send returns the response of a call that succeeded. The caller must close its body.
func (c *Client) send(ctx context.Context, r call) (*http.Response, error) {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = svc.JSON(r.body); err != nil {
			return nil, fmt.Errorf("encode the body of %s %s: %w", r.method, r.path, err)
		}
	}
	header := c.header(ctx, r, body)
	retry := r.method == http.MethodGet || r.method == http.MethodPost
	for try := 0; ; try++ {
		res, err := c.once(ctx, r, header, body)
		switch {
		case err == nil && res.StatusCode < 300:
			return res, nil
		case err == nil:
			return nil, refusal(res)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !retry || try == 2 || neverSent(err):
			return nil, fmt.Errorf("%w at %s: %w", ErrUnreachable, c.BaseURL, cause(err))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(try+1) * 100 * time.Millisecond):
		}
	}
}

func (c *Client) header(ctx context.Context, r call, body []byte) http.Header {
	h := r.header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Authorization", "Bearer "+c.Token)
	if body != nil {
		h.Set("Content-Type", "application/json")
	}
	if r.method == http.MethodPost {
		key, _ := ctx.Value(idempotencyKey{}).(string)
		if key == "" {
			key = rand.Text()
		}
		h.Set(HeaderIdempotencyKey, key)
	}
	return h
}

func (c *Client) once(ctx context.Context, r call, header http.Header, body []byte) (*http.Response, error) {
	target := c.url(r.path)
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, reader)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header = header
	client := c.HTTP
	if client == nil {
		client = defaultHTTP
	}
	return client.Do(req)
}

func (c *Client) url(path string) string {
	return strings.TrimRight(c.BaseURL, "/") + Prefix + path
}

// neverSent reports whether a request failed before anything was sent: nothing listens at the address, so an
// immediate retry does not help.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// cause removes the URL from an error of net/http, because the caller's message already has it.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// refusal converts the envelope back into the error that the orchestrator sent.
func refusal(res *http.Response) error {
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(res.Body, MaxBody))
	if err, ours := svc.ParseError(body); ours {
		if id := res.Header.Get(HeaderRequestID); id != "" && res.StatusCode >= http.StatusInternalServerError {
			return &ServerError{RequestID: id, Err: err}
		}
		return err
	}
	code := svc.CodeInternal
	switch res.StatusCode {
	case http.StatusBadRequest:
		if res.Request.URL.Scheme == "http" && bytes.Contains(body, []byte("HTTPS")) { // the message of Go's server and of nginx
			return svc.Errorf(svc.CodeUnavailable, "%s speaks TLS: its address begins with https://, not http://", res.Request.URL.Host)
		}
	case http.StatusUnauthorized:
		code = svc.CodeUnauthorized
	case http.StatusNotFound:
		code = svc.CodeNotFound
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		code = svc.CodeUnavailable
	}
	return svc.Errorf(code, "%s answered %s, not as the API does; is the address right?", res.Request.URL.Host, res.Status)
}

// at returns a path with escaped ids.
func at(format string, ids ...string) string {
	escaped := make([]any, len(ids))
	for i, id := range ids {
		escaped[i] = url.PathEscape(id)
	}
	return fmt.Sprintf(format, escaped...)
}
