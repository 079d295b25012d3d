package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"svc"
)

// TopicSnapshot is the topic of the message that replaces a past the journal no
// longer has: its data is the state as of its id.
const TopicSnapshot svc.Topic = "snapshot"

// Message is one message of the event stream.
type Message struct {
	Seq   int64
	Topic svc.Topic
	Data  json.RawMessage
}

// StreamOptions says what to follow.
type StreamOptions struct {
	Topics svc.Globs // none: everything
	After  *int64    // the last seq that was seen; nil: live from now on
	// Lost, when not nil, is told of a connection that broke and is being made
	// again, and with nil that it is back.
	Lost func(err error)
}

// The wait between two attempts to connect again.
const (
	reconnectFirst = 250 * time.Millisecond
	reconnectMost  = 10 * time.Second
)

// Stream follows the event stream and gives each message to handle, in order
// and once, also across reconnects. It ends when ctx does, when handle returns
// an error (which it then returns), or when the orchestrator refuses. Until the
// first connection stands, an unreachable orchestrator ends it too.
func (c *Client) Stream(ctx context.Context, o StreamOptions, handle func(Message) error) error {
	cursor, err := c.beginning(ctx, o.After)
	if err != nil {
		return err
	}
	connected, wait := false, reconnectFirst
	for {
		res, err := c.openStream(ctx, o.Topics, cursor)
		if err == nil {
			if connected && o.Lost != nil {
				o.Lost(nil)
			}
			connected, wait = true, reconnectFirst
			err = follow(res.Body, &cursor, handle)
			_ = res.Body.Close()
		}
		var stop *handlerError
		switch {
		case errors.As(err, &stop):
			return stop.err
		case ctx.Err() != nil:
			return ctx.Err()
		case !connected || refused(err):
			return err
		}
		if o.Lost != nil {
			o.Lost(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait/2 + rand.N(wait/2)): //nolint:gosec // jitter is no secret
		}
		wait = min(2*wait, reconnectMost)
	}
}

// beginning is the cursor to start at. Without one it is the journal's head, so
// that a connection that breaks before the first message loses nothing.
func (c *Client) beginning(ctx context.Context, after *int64) (int64, error) {
	if after != nil {
		return *after, nil
	}
	head, err := c.Events(ctx, nil, svc.Page{Limit: 1})
	if err != nil || len(head.Items) == 0 {
		return 0, err
	}
	return head.Items[0].Seq, nil
}

func (c *Client) openStream(ctx context.Context, topics svc.Globs, cursor int64) (*http.Response, error) {
	return c.send(ctx, call{
		method: http.MethodGet,
		path:   "/events/stream",
		query:  url.Values{"topic": topics},
		header: http.Header{HeaderLastEventID: {strconv.FormatInt(cursor, 10)}, "Accept": {"text/event-stream"}},
	})
}

// refused says whether trying again cannot help.
func refused(err error) bool {
	switch svc.CodeOf(err) {
	case svc.CodeUnavailable, svc.CodeInternal, "":
		return false
	default:
		return true
	}
}

// handlerError marks an error of the caller's own.
type handlerError struct{ err error }

func (e *handlerError) Error() string { return e.err.Error() }

// follow reads messages to the end of the body and moves the cursor past each
// one that was handled.
func follow(body io.Reader, cursor *int64, handle func(Message) error) error {
	lines := bufio.NewReaderSize(body, 64<<10)
	var m Message
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%w: the event stream ended: %w", ErrUnreachable, err)
		}
		name, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			if m.Seq, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return fmt.Errorf("read the event stream: id %q is not a number", value)
			}
		case "event":
			m.Topic = svc.Topic(value)
		case "data":
			m.Data = append(m.Data, value...)
		case "":
			if m.Topic == "" {
				continue
			}
			if err := handle(m); err != nil {
				return &handlerError{err}
			}
			*cursor, m = m.Seq, Message{}
		}
	}
}
