package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"svc/api"
)

// streamOrder is one of three orders: with Readers, connect that many readers; with Stalled (or no field), begin a
// turn in which that many do not read; with Sent, end the turn, in which that many events were sent.
type streamOrder struct {
	URL     string
	Readers int
	Stalled int
	Sent    int
}

// streamAnswer is what the readers received in a turn.
type streamAnswer struct {
	P50, P99, Max time.Duration
	Lost          int // events that an active reader did not receive, or received out of order
}

// subscribers is the child process with the readers.
func subscribers(ctx context.Context, p pipe) error {
	var o streamOrder
	if err := p.ask(&o); err != nil {
		return err
	}
	readers := make([]*reader, o.Readers)
	url := o.URL
	err := parallel(32, o.Readers, func(i int) (err error) {
		readers[i], err = openReader(ctx, url)
		return err
	})
	if err != nil {
		return err
	}
	if err := p.tell(streamAnswer{}); err != nil {
		return err
	}
	for {
		if err := p.ask(&o); err != nil {
			return err
		}
		turn, err := beginTurn(ctx, url, readers, o.Stalled)
		if err != nil {
			return err
		}
		if err := p.tell(streamAnswer{}); err != nil {
			return err
		}
		if err := p.ask(&o); err != nil {
			return err
		}
		a, err := turn.end(ctx, o.Sent)
		if err != nil {
			return err
		}
		if err := p.tell(a); err != nil {
			return err
		}
	}
}

// reader is one client of the event stream. It does as little as possible, because both sides share the machine's
// cores.
type reader struct {
	conn net.Conn
	in   *bufio.Reader

	mu     sync.Mutex // guards the rest
	last   int64      // seq
	got    int
	lost   int
	delays []time.Duration
}

// openReader reads the stream from the current end of the journal.
func openReader(ctx context.Context, url string) (*reader, error) {
	conn, err := dialStream(ctx, url, "")
	if err != nil {
		return nil, err
	}
	r := &reader{conn: conn, in: bufio.NewReaderSize(conn, 4<<10)}
	status, err := r.in.ReadString('\n')
	if err == nil && !strings.Contains(status, " 200 ") {
		err = fmt.Errorf("status line %q", status)
	}
	if err != nil {
		return nil, fmt.Errorf("open a stream: %w", err)
	}
	for { // until the end of the HTTP header
		line, err := r.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if line == "\r\n" {
			break
		}
	}
	go r.read()
	return r, nil
}

func dialStream(ctx context.Context, url, header string) (net.Conn, error) {
	return dialStreamWith(ctx, &net.Dialer{}, url, header)
}

// stalling makes connections for which the system buffers little on both sides: segments of Ethernet size and a small
// receive buffer.
var stalling = &net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
	var err error
	controlErr := c.Control(func(fd uintptr) {
		err = errors.Join(syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10),
			syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 1400))
	})
	return errors.Join(controlErr, err)
}}

func dialStreamWith(ctx context.Context, dialer *net.Dialer, url, header string) (net.Conn, error) {
	address := strings.TrimPrefix(url, "http://")
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET %s/events/stream HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%s\r\n",
		api.Prefix, address, userToken, header)
	return conn, err
}

var (
	idField   = []byte("id: ")
	sentField = []byte(`"sent":`)
)

// read reads lines until the connection ends. HTTP's chunk headers are lines of their own, which match neither field.
func (r *reader) read() {
	for {
		line, err := r.in.ReadSlice('\n')
		if err != nil {
			return
		}
		if after, ok := bytes.CutPrefix(line, idField); ok {
			seq, _ := strconv.ParseInt(string(bytes.TrimSpace(after)), 10, 64)
			r.mu.Lock()
			if r.last != 0 && seq != r.last+1 {
				r.lost++
			}
			r.last = seq
			r.mu.Unlock()
		} else if at := bytes.Index(line, sentField); at >= 0 {
			digits := line[at+len(sentField):]
			sent, _ := strconv.ParseInt(string(digits[:bytes.IndexAny(digits, ",}")]), 10, 64)
			delay := time.Duration(time.Now().UnixNano() - sent)
			r.mu.Lock()
			r.got++
			r.delays = append(r.delays, delay)
			r.mu.Unlock()
		}
	}
}

// streamTurnState is one turn of the readers.
type streamTurnState struct {
	url     string
	readers []*reader
	stalled []net.Conn // they replace the first readers
}

// beginTurn replaces some readers with connections that request the journal from its beginning and never read. The
// journal is larger than the system's buffers for them, so that the server's writes to them block.
func beginTurn(ctx context.Context, url string, readers []*reader, stalled int) (*streamTurnState, error) {
	t := &streamTurnState{url: url, readers: readers, stalled: make([]net.Conn, stalled)}
	for i := range t.stalled {
		_ = readers[i].conn.Close()
		conn, err := dialStreamWith(ctx, stalling, url, api.HeaderLastEventID+": 0\r\n")
		if err != nil {
			return nil, err
		}
		t.stalled[i] = conn
	}
	for _, r := range readers {
		r.mu.Lock()
		r.got, r.lost, r.delays = 0, 0, r.delays[:0]
		r.mu.Unlock()
	}
	return t, nil
}

// end waits until every event has arrived, or for a few seconds, computes the answer, and replaces the stalled
// connections with readers again.
func (t *streamTurnState) end(ctx context.Context, sent int) (streamAnswer, error) {
	deadline := time.After(5 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting && t.missing(sent) > 0; {
		select {
		case <-tick.C:
		case <-deadline:
			waiting = false
		}
	}
	a := streamAnswer{Lost: t.missing(sent)}
	var delays []time.Duration
	for _, r := range t.readers[len(t.stalled):] {
		r.mu.Lock()
		delays = append(delays, r.delays...)
		a.Lost += r.lost
		r.mu.Unlock()
	}
	a.P50, a.P99, a.Max = percentile(delays, 0.5), percentile(delays, 0.99), percentile(delays, 1)
	for i, conn := range t.stalled {
		_ = conn.Close()
		fresh, err := openReader(ctx, t.url)
		if err != nil {
			return a, err
		}
		t.readers[i] = fresh
	}
	return a, nil
}

func (t *streamTurnState) missing(sent int) int {
	n := 0
	for _, r := range t.readers[len(t.stalled):] {
		r.mu.Lock()
		n += max(sent-r.got, 0)
		r.mu.Unlock()
	}
	return n
}
