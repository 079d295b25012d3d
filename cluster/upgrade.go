package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// handOverLimit is the timeout for each of the two connections of an uplink to accept the few bytes that are sent before
// the uplink is relayed.
const handOverLimit = 5 * time.Second

// errRelayed is the error for a response that opened an uplink. No other response must be sent.
var errRelayed = errors.New("the uplink is relayed")

// mostUplinks returns how many uplinks this process forwards. Each has two connections. They take at most three quarters
// of the files that the process may open: the rest is for its database, its clients, and workers that are to be refused.
func mostUplinks() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt64
	}
	return int64(min(limit.Cur, math.MaxInt32)) / 4 * 3 / 2
}

// outOfFiles reports whether an error means that this process or machine cannot open another connection. It tells nothing
// about the peer.
func outOfFiles(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}

// opensUplink reports whether a request opens an uplink.
func (f *forwarder) opensUplink(r *http.Request) bool {
	return r.URL.Path == f.m.UplinkPath && r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// connects reports whether a request is of a worker that connects: a registration, or the opening of an uplink. Such
// requests stand in line here, so that a leader, above all a new one, is not sent thousands at a time.
func (f *forwarder) connects(r *http.Request) bool {
	return r.URL.Path == f.m.RegisterPath || f.opensUplink(r)
}

// ownConns sends each request on a connection of its own, with which no other request is sent. It is for the requests of
// workers that connect, of which thousands wait at the same time. Unlike http.Transport, it needs no goroutines, and
// returns the connection itself with a response that opens an uplink.
type ownConns struct{ dialer *net.Dialer }

// RoundTrip sends a request. The body of a response that switches protocols is a *leaderSide.
func (u ownConns) RoundTrip(r *http.Request) (*http.Response, error) {
	conn, err := u.dialer.DialContext(r.Context(), "tcp", r.URL.Host)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(r.Context(), func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	reader := bufio.NewReader(conn)
	var resp *http.Response
	if err = r.Write(conn); err == nil {
		resp, err = http.ReadResponse(reader, r)
	}
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &ownBody{Reader: resp.Body, conn: conn, stop: stop}
		return resp, nil
	}
	if !stop() && err == nil {
		err = r.Context().Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	resp.Body = &leaderSide{Reader: reader, conn: conn, ahead: reader}
	return resp, nil
}

// ownBody is the body of a response that opens no uplink. It ends with the context of its request.
type ownBody struct {
	io.Reader
	conn net.Conn
	stop func() bool
}

// Close closes the connection to the leader.
func (b *ownBody) Close() error {
	b.stop()
	return b.conn.Close()
}

// leaderSide is the connection to the leader of an uplink that the leader has accepted.
type leaderSide struct {
	io.Reader
	conn   net.Conn // nil: take was called
	ahead  *bufio.Reader
	leader *term
}

// take returns the connection, and the bytes that were read from it after the response. The caller owns both.
func (s *leaderSide) take() (net.Conn, []byte, error) {
	conn := s.conn
	s.conn = nil
	ahead, err := s.ahead.Peek(s.ahead.Buffered())
	return conn, ahead, err
}

// Close closes the connection unless take was called.
func (s *leaderSide) Close() error {
	if s.conn == nil {
		return nil
	}
	return s.conn.Close()
}

// relay takes over the worker's connection from the HTTP server and relays it to the leader. If it took the connection
// over, it returns errRelayed, also when the uplink could not be opened. Nothing of the request stays in memory.
func (f *forwarder) relay(w http.ResponseWriter, resp *http.Response, side *leaderSide) error {
	if !strings.EqualFold(resp.Header.Get("Upgrade"), "websocket") {
		return fmt.Errorf("the leader switched to protocol %q", resp.Header.Get("Upgrade"))
	}
	leave, ok := side.leader.relay.enter()
	if !ok {
		return errNoLeader
	}
	defer leave()
	worker, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("take over the worker's connection: %w", err)
	}
	leader, toWorker, aheadErr := side.take()
	toLeader, bufferErr := buffered.Reader.Peek(buffered.Reader.Buffered())
	head, answer := *resp, bytes.Buffer{}
	head.Body = nil
	err = errors.Join(aheadErr, bufferErr, head.Write(&answer))
	answer.Write(toWorker)
	link := &uplink{worker: worker, leader: leader}
	link.frames.pass(toWorker)
	err = errors.Join(err, send(worker, answer.Bytes()), send(leader, toLeader))
	if err != nil {
		link.close()
		return errRelayed // the worker's connection is closed, so that it connects again
	}
	side.leader.relay.add(link)
	return errRelayed
}

// send writes b to a connection that is not relayed, within handOverLimit.
func send(conn net.Conn, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if err := conn.SetWriteDeadline(time.Now().Add(handOverLimit)); err != nil {
		return err
	}
	if _, err := conn.Write(b); err != nil {
		return err
	}
	return conn.SetWriteDeadline(time.Time{})
}
