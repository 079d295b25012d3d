package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"svc"
)

// LogOptions selects the part of a run's log to read.
type LogOptions struct {
	Follow  bool   // keep reading until the session ends
	Tail    *int   // the last lines only; nil: all
	Attempt *int   // one attempt only; nil: all, in order
	Format  string // raw or text; empty: raw
	From    string // start at this position (see HeaderLogFrom) instead of using Tail; empty: at the beginning
	Skip    int64  // skip this many bytes of the response
	// Lost, when not nil, is called while a log is followed: with the error each time the log breaks off and is
	// requested again, and with nil when it continues.
	Lost func(err error)
}

// HeaderLogFrom is the header in which the response to a request for a log states where it begins: an attempt and a
// byte offset in its raw log, such as 2:4096. A request from the same position returns the same bytes.
const HeaderLogFrom = "Svc-Log-From"

// HeaderLogIncomplete is the header in which the response to a request for a log lists the attempts whose log is
// incomplete: a part is lost, or is on a host that is away. Absent: the log is complete.
const HeaderLogIncomplete = "Svc-Log-Incomplete"

// Logs streams the log of a run. The caller must close the reader. Where a part of the log is missing, it ends with
// an error of code log_gone. A followed log that breaks off continues at the same byte when the orchestrator can be
// reached again.
func (c *Client) Logs(ctx context.Context, id string, o LogOptions) (io.ReadCloser, error) {
	body, from, err := c.openLog(ctx, id, o)
	if err != nil || !o.Follow || from == "" {
		return body, err
	}
	return &followedLog{ctx: ctx, c: c, id: id, o: o, body: body, from: from, read: o.Skip}, nil
}

func (c *Client) openLog(ctx context.Context, id string, o LogOptions) (body io.ReadCloser, from string, err error) {
	q := url.Values{}
	if o.Follow {
		q.Set("follow", "true")
	}
	if o.Tail != nil {
		q.Set("tail", strconv.Itoa(*o.Tail))
	}
	if o.Attempt != nil {
		q.Set("attempt", strconv.Itoa(*o.Attempt))
	}
	put(q, "format", o.Format)
	put(q, "from", o.From)
	if o.Skip > 0 {
		q.Set("skip", strconv.FormatInt(o.Skip, 10))
	}
	res, err := c.send(ctx, call{method: http.MethodGet, path: at("/runs/%s/logs", id), query: q})
	if err != nil {
		return nil, "", err
	}
	return logBody(res), res.Header.Get(HeaderLogFrom), nil
}

// logBody returns the body of a response with a log. At its end the body returns an error when the log is incomplete.
func logBody(res *http.Response) io.ReadCloser {
	if short := res.Header.Get(HeaderLogIncomplete); short != "" {
		return incompleteLog{res.Body, svc.Errorf(svc.CodeLogGone, "a part of the log is missing, of attempt %s: it is gone, or its host is away", short)}
	}
	return res.Body
}

// Recording streams the recording of an attempt as asciicast v2; attempt 0 is the last one. The caller must close the
// reader. Where a part of the log is missing, it ends with an error of code log_gone.
func (c *Client) Recording(ctx context.Context, id string, attempt int) (io.ReadCloser, error) {
	q := url.Values{}
	if attempt != 0 {
		q.Set("attempt", strconv.Itoa(attempt))
	}
	res, err := c.send(ctx, call{method: http.MethodGet, path: at("/runs/%s/recording", id), query: q})
	if err != nil {
		return nil, err
	}
	return logBody(res), nil
}

// incompleteLog is an incomplete log. It returns err in place of io.EOF.
type incompleteLog struct {
	io.ReadCloser
	err error
}

// Read reads the available bytes and then returns err.
func (s incompleteLog) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		err = s.err
	}
	return n, err
}

// maxSocketMessage limits one message of a socket in bytes: a screen with attributes, or a burst of output.
const maxSocketMessage = 16 << 20

// Attach opens the interactive socket of a run. The caller must close the socket.
func (c *Client) Attach(ctx context.Context, id string) (*websocket.Conn, error) {
	return c.socket(ctx, at("/runs/%s/attach/ws", id))
}

// AttachListing is Attach with a list of the other people who see the terminal. An orchestrator of an earlier version
// does not send the list.
func (c *Client) AttachListing(ctx context.Context, id string) (*websocket.Conn, error) {
	return c.socket(ctx, at("/runs/%s/attach/ws", id)+"?watchers=true")
}

// WatchPane opens the read-only socket of a run. The caller must close the socket.
func (c *Client) WatchPane(ctx context.Context, id string) (*websocket.Conn, error) {
	return c.socket(ctx, at("/runs/%s/pane/ws", id))
}

func (c *Client) socket(ctx context.Context, path string) (*websocket.Conn, error) {
	target := "ws" + strings.TrimPrefix(c.url(path), "http") // https becomes wss
	//nolint:bodyclose // refusal closes it; the answer to an upgrade that succeeds has no body to close
	conn, res, err := websocket.Dial(ctx, target, &websocket.DialOptions{
		HTTPClient: c.HTTP,
		HTTPHeader: http.Header{"Authorization": {"Bearer " + c.Token}},
	})
	switch {
	case err == nil:
		conn.SetReadLimit(maxSocketMessage)
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case res != nil && res.StatusCode != http.StatusSwitchingProtocols && res.Body != nil:
		return nil, refusal(res)
	default:
		return nil, fmt.Errorf("%w at %s: %w", ErrUnreachable, c.BaseURL, err)
	}
}
