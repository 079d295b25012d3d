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
	"strconv"
	"time"

	"svc"
)

// TopicSnapshot is the topic of the message that is sent when the journal no longer has the events after the cursor.
// Its data is the state as of its id.
const TopicSnapshot svc.Topic = "snapshot"

// Message is one message of the event stream.
type Message struct {
	Seq   int64
	Topic svc.Topic
	Data  json.RawMessage
}

// StreamOptions selects what to follow.
type StreamOptions struct {
	svc.EventFilter        // zero: all events
	After           *int64 // the last seq that was handled; nil: only events from now on
	// Lost, when not nil, is called with the error when a connection broke and is being opened again, and with nil
	// when it is open again.
	Lost func(err error)
}

// The limits of the back-off between two attempts to connect again.
const (
	reconnectFirst = 250 * time.Millisecond
	reconnectMost  = 10 * time.Second
)

// The orchestrator sends a heartbeat at this interval. After the time of three heartbeats without any data the client
// closes the connection: a frozen orchestrator and a broken network path are not reported in any other way.
const (
	streamHeartbeat = 5 * time.Second
	streamSilence   = 3 * streamHeartbeat
)

// Stream follows the event stream and passes each message to handle, in order and exactly once, also across
// reconnects. It ends when ctx ends, when handle returns an error (which Stream then returns), or when the
// orchestrator refuses. An orchestrator that cannot be reached ends it only before the first connection is open.
func (c *Client) Stream(ctx context.Context, o StreamOptions, handle func(Message) error) error {
	cursor, err := c.beginning(ctx, o.After)
	if err != nil {
		return err
	}
	connected, wait := false, reconnectFirst
	for {
		res, err := c.openStream(ctx, o.EventFilter, cursor)
		if err == nil {
			if connected && o.Lost != nil {
				o.Lost(nil)
			}
			connected, wait = true, reconnectFirst
			err = follow(&silenceLimited{ReadCloser: res.Body}, maxAnswer, &cursor, handle)
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

// beginning returns the cursor to start at. When after is nil it is the head of the journal, so that nothing is lost
// when a connection breaks before the first message.
func (c *Client) beginning(ctx context.Context, after *int64) (int64, error) {
	if after != nil {
		return *after, nil
	}
	return c.Head(ctx)
}

// Head returns the seq of the newest event; 0 when there is none. A read that begins after this call sees all changes
// up to it.
func (c *Client) Head(ctx context.Context) (int64, error) {
	head, err := c.Events(ctx, svc.EventFilter{}, svc.Page{Limit: 1})
	if err != nil || len(head.Items) == 0 {
		return 0, err
	}
	return head.Items[0].Seq, nil
}

func (c *Client) openStream(ctx context.Context, f svc.EventFilter, cursor int64) (*http.Response, error) {
	q := eventQuery(f)
	q.Set("heartbeat", streamHeartbeat.String())
	return c.send(ctx, call{
		method: http.MethodGet,
		path:   "/events/stream",
		query:  q,
		header: http.Header{HeaderLastEventID: {strconv.FormatInt(cursor, 10)}, "Accept": {"text/event-stream"}},
	})
}

// silenceLimited is a body whose reads fail when no data is received for streamSilence.
type silenceLimited struct{ io.ReadCloser }

func (w *silenceLimited) Read(b []byte) (int, error) {
	silence := time.AfterFunc(streamSilence, func() { _ = w.Close() })
	defer silence.Stop()
	return w.ReadCloser.Read(b)
}

// refused reports whether a retry cannot help.
func refused(err error) bool {
	switch svc.CodeOf(err) {
	case svc.CodeUnavailable, svc.CodeInternal, "":
		return false
	default:
		return true
	}
}

// handlerError marks an error that was returned by the caller's handler.
type handlerError struct{ err error }

func (e *handlerError) Error() string { return e.err.Error() }

// errMessageTooLong ends the stream without a reconnect: the next connection would receive the same message.
var errMessageTooLong = svc.Errorf(svc.CodeTooLarge, "read the event stream: a message is larger than any message of an orchestrator (%d MiB); check the address", maxAnswer>>20)

// follow reads messages to the end of the body and advances the cursor after each message that was handled. most
// limits the data of one message in bytes; the largest is a snapshot.
func follow(body io.Reader, most int, cursor *int64, handle func(Message) error) error {
	lines := bufio.NewReaderSize(body, 64<<10)
	var m Message
	for {
		line, err := readLine(lines, most-len(m.Data))
		switch {
		case errors.Is(err, errMessageTooLong):
			return err
		case err != nil:
			return fmt.Errorf("%w: the event stream ended: %w", ErrUnreachable, err)
		}
		if line[0] == ':' {
			continue // a comment: a heartbeat of the orchestrator
		}
		name, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			if m.Seq, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return fmt.Errorf("read the event stream: id %.40q is not a number", value)
			}
		case "event":
			m.Topic = svc.Topic(value)
		case "data":
			if len(value) > most-len(m.Data) {
				return errMessageTooLong
			}
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

// readLine reads a line with its end. A line that is longer than the reader's buffer must be a data line, of at most
// most bytes without the field name. The result is valid until the next call.
func readLine(lines *bufio.Reader, most int) ([]byte, error) {
	line, err := lines.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	if !bytes.HasPrefix(line, []byte("data:")) {
		return nil, errMessageTooLong
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		if line, err = lines.ReadSlice('\n'); len(long)+len(line) > most+len("data: \r\n") {
			return nil, errMessageTooLong
		}
		long = append(long, line...)
	}
	return long, err
}
